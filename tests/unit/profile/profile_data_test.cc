#include "profile/profile_data.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

TEST_CASE("equal counts are added up and all are sorted by module, offset, source and thread") {
  std::vector<IpCount> counts = {
      MakeCount(1, 0, 0, 5, 1, 10), MakeCount(0, 1, 1, 5, 2, 10),  MakeCount(0, 0, 0, 9, 4, 10),
      MakeCount(0, 1, 1, 5, 8, 10), MakeCount(0, 1, 0, 5, 16, 10), MakeCount(0, 0, 1, 5, 32, 10),
  };
  Normalize(&counts);
  const std::vector<IpCount> expected = {
      MakeCount(0, 0, 1, 5, 32, 10), MakeCount(0, 1, 0, 5, 16, 10), MakeCount(0, 1, 1, 5, 10, 10),
      MakeCount(0, 0, 0, 9, 4, 10),  MakeCount(1, 0, 0, 5, 1, 10),
  };
  CHECK(Describe(counts) == Describe(expected));
}

TEST_CASE("nothing, and what is already in order, stays as it is") {
  std::vector<IpCount> none;
  Normalize(&none);
  CHECK(none.empty());
  std::vector<IpCount> counts = {MakeCount(0, 0, 0, 1, 1, 1), MakeCount(0, 0, 0, 2, 1, 1)};
  const std::string before = Describe(counts);
  Normalize(&counts);
  CHECK(Describe(counts) == before);
}

TEST_CASE("sums do not depend on the order of the counts") {
  std::mt19937 random(1);
  std::vector<IpCount> counts;
  for (uint64_t i = 0; i < 500; ++i) {
    counts.push_back(MakeCount(static_cast<uint32_t>(i % 3), static_cast<uint32_t>(i % 2),
                               static_cast<uint32_t>(i % 5), i % 7, 1, 100));
  }
  std::vector<IpCount> shuffled = counts;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  Normalize(&counts);
  Normalize(&shuffled);
  CHECK(Describe(counts) == Describe(shuffled));
  CHECK(counts.size() == 3 * 2 * 5 * 7);
}

TEST_CASE("samples that were counted separately have seeds of their own") {
  std::set<uint64_t> seeds;
  for (uint32_t index = 0; index < 16; ++index) {
    for (const IpPosition position : {IpPosition::kAt, IpPosition::kAfter}) {
      for (const int what : {0, 1, 2, 3}) {
        IpCount count = MakeCount(what == 0 ? index : 0, what == 1 ? index : 0,
                                  what == 2 ? index : 0, what == 3 ? index : 0, 1, 1);
        count.position = position;
        seeds.insert(SeedOf(count));
      }
    }
  }
  CHECK(seeds.size() == 2 * (1 + 4 * 15));
}

TEST_CASE("sorting can be cancelled, and is the same with a check that is never set") {
  CancelFlag flag;
  CancelCheck check(&flag);
  std::vector<IpCount> counts;
  for (uint64_t i = 0; i < 10'000; ++i) counts.push_back(MakeCount(0, 0, 0, i * 7919 % 5000, 1, 1));
  std::vector<IpCount> checked = counts;
  Normalize(&counts);
  Normalize(&checked, &check);
  CHECK(Describe(counts) == Describe(checked));
  flag.Set(true);
  CHECK_THROWS_AS(Normalize(&checked, &check), WorkCancelled);
  std::vector<BranchCount> branches(10'000);
  for (size_t i = 0; i < branches.size(); ++i) branches[i].to = i;
  CHECK_THROWS_AS(Normalize(&branches, &check), WorkCancelled);
  CHECK_THROWS_AS(CopyNormalized(branches, 0, &check), WorkCancelled);
  CHECK_THROWS_AS(CopyNormalized(branches, branches.size(), &check), WorkCancelled);
  flag.Set(false);
  CHECK(CopyNormalized(branches, branches.size(), &check).size() == branches.size());
}

TEST_CASE("a normalized copy is the same as a copy that is normalized") {
  std::mt19937 random(3);
  for (const size_t size : {0, 1, 2, 3000}) {
    for (const uint64_t keys : {1, 40, 2000}) {
      std::vector<BranchCount> branches(size);
      for (BranchCount& branch : branches) {
        branch.to = random() % keys;
        branch.source = random() % 2;
        branch.number = 1 + random() % 3;
        branch.weights = static_cast<double>(branch.number);
      }
      std::vector<BranchCount> head(branches.begin(),
                                    branches.begin() + static_cast<long>(size / 3));
      Normalize(&head);
      for (const size_t normalized : {size_t{0}, head.size()}) {
        CAPTURE(size, keys, normalized);
        std::vector<BranchCount> all = normalized == 0 ? std::vector<BranchCount>() : head;
        all.insert(all.end(), branches.begin(), branches.end());
        const std::vector<BranchCount> copy = CopyNormalized(all, normalized, nullptr);
        Normalize(&all);
        CHECK(std::equal(copy.begin(), copy.end(), all.begin(), all.end(),
                         [](const BranchCount& a, const BranchCount& b) {
                           return std::tie(a.to, a.source, a.number, a.weights) ==
                                  std::tie(b.to, b.source, b.number, b.weights);
                         }));
      }
    }
  }
}

}  // namespace
}  // namespace hbbp
