#include "profile/profile_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <random>
#include <set>
#include <string>
#include <utility>
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

using Sums = std::map<std::pair<uint64_t, uint32_t>, uint64_t>;  // by address and source

template <typename Branches>
void CheckNormal(const Branches& branches, const Sums& expected) {
  REQUIRE(branches.size() == expected.size());
  auto sum = expected.begin();
  for (const BranchCount& branch : branches) {
    CHECK(std::pair(branch.to, branch.source) == sum->first);
    CHECK(branch.number == sum->second);
    CHECK(branch.weights == static_cast<double>(sum->second));
    ++sum;
  }
}

TEST_CASE("branches are sorted and added up, however many are sorted already") {
  std::mt19937 random(3);
  const auto append = [&random](size_t count, uint64_t keys, std::vector<BranchCount>* branches,
                                Sums* sums) {
    for (size_t i = 0; i < count; ++i) {
      BranchCount& branch = branches->emplace_back();
      branch.to = random() % keys;
      branch.source = random() % 2;
      branch.number = 1 + random() % 3;
      branch.weights = static_cast<double>(branch.number);
      (*sums)[{branch.to, branch.source}] += branch.number;
    }
  };
  for (const size_t sorted : {0, 1, 900}) {
    for (const size_t more : {0, 1, 2, 3000}) {
      for (const uint64_t keys : {1, 40, 2000}) {
        CAPTURE(sorted, more, keys);
        std::vector<BranchCount> branches;
        Sums sums;
        append(sorted, keys, &branches, &sums);
        Normalize(&branches);
        CheckNormal(branches, sums);
        const size_t head = branches.size();
        append(more, keys, &branches, &sums);
        CheckNormal(CopyNormalized(branches, head, nullptr), sums);
        CheckNormal(CopyNormalized(branches, 0, nullptr), sums);
        std::pmr::vector<BranchCount> counted(branches.begin(), branches.end());
        Normalize(&counted);
        CheckNormal(counted, sums);
        Normalize(&branches);
        CheckNormal(branches, sums);
      }
    }
  }
}

}  // namespace
}  // namespace hbbp
