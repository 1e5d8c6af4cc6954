#include "collect/branch_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Branches = std::vector<TakenBranch>;

size_t Count(BranchTable* table, uint32_t thread, const Branches& branches, double weight,
             size_t replicate) {
  const size_t known = table->entries().size();
  table->CountBurst(thread, branches, weight, replicate);
  return table->entries().size() - known;
}

TEST_CASE("a sum that would round weights away soon is said to be full") {
  BranchTable table;
  const Branches loop = {{{1}, {10}}, {{12}, {10}}, {{12}, {10}}};
  constexpr double kMillion = 1 << 20;
  table.CountBurst(7, loop, kMillion, 3);
  CHECK_FALSE(table.has_full_sums());
  table.CountBurst(7, loop, 1, 4);  // of another replicate
  CHECK_FALSE(table.has_full_sums());
  table.CountBurst(7, loop, 1, 3);
  CHECK(table.has_full_sums());
  table.Clear();
  CHECK_FALSE(table.has_full_sums());
  table.CountBurst(7, loop, 1, 3);
  CHECK_FALSE(table.has_full_sums());
}

TEST_CASE("a burst adds an entry for each branch, and no stream follows the last") {
  BranchTable table;
  CHECK(Count(&table, 7, {{{1}, {10}}, {{12}, {20}}, {{24}, {30}}}, 500, 3) == 3);
  const auto& entries = table.entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].from == 1);
  CHECK(entries[0].to == 10);
  CHECK(entries[0].end == 12);
  CHECK(entries[0].thread == 7);
  CHECK(entries[0].number == 1);
  CHECK(entries[0].weights == 500);
  CHECK(entries[0].replicates.sums[3] == 500);
  CHECK(entries[1].end == 24);
  CHECK(entries[2].end == BranchTable::kNoEnd);
  CHECK(entries[2].number == 1);
  CHECK(entries[2].weights == 0);
  CHECK(entries[2].replicates == ReplicateSums());
}

TEST_CASE("what repeats adds up; another thread, source, target or end is another entry") {
  BranchTable table;
  const Branches loop(5, {{100}, {90}});
  CHECK(Count(&table, 1, loop, 250, 0) == 2);
  CHECK(Count(&table, 1, loop, 250, 1) == 0);
  CHECK(Count(&table, 2, loop, 250, 0) == 2);
  CHECK(Count(&table, 1, {{{101}, {90}}, {{100}, {91}}, {{100}, {90}}}, 500, 2) == 2);
  const BranchTable::Entry& entry = table.entries()[0];
  CHECK(entry.number == 8);
  CHECK(entry.weights == 2000);
  CHECK(entry.replicates.sums[0] == 1000);
  CHECK(entry.replicates.sums[1] == 1000);
  CHECK(table.entries()[1].number == 3);
}

TEST_CASE("the last branch of a burst that is continued has an end of its own kind") {
  BranchTable table;
  const Branches branches = {{{1}, {10}}, {{12}, {20}}};
  const StackPart continued = {.entries = 8, .has_oldest = true, .is_continued = true};
  table.CountBurst(7, branches, 1, 0, continued);
  CHECK(table.entries()[1].end == BranchTable::kCutEnd);
  CHECK(table.entries()[1].weights == 0);
}

TEST_CASE("it is counted how often a branch is the oldest of its stack, and should be") {
  BranchTable table;
  const Branches branches = {{{1}, {10}}, {{12}, {20}}, {{1}, {10}}, {{12}, {20}}};
  const auto count = [&](StackPart stack, uint32_t repeats) {
    table.CountBurst(7, branches, 1, 0, stack, repeats);
  };
  count({8, true}, 1);
  count({8, false}, 1);
  count({4, true}, 3);
  count({}, 1);
  uint64_t oldest_first = 0, oldest_second = 0;
  double expected_first = 0, expected_second = 0;
  for (const BranchTable::Entry& entry : table.entries()) {
    (entry.from == 1 ? oldest_first : oldest_second) += entry.oldest;
    (entry.from == 1 ? expected_first : expected_second) += entry.oldest_expected;
  }
  CHECK(oldest_first == 1 + 3);
  CHECK(oldest_second == 0);
  CHECK(expected_first == Approx(2 * (1 / 8.0 + 1 / 8.0 + 3 / 4.0)));
  CHECK(expected_second == Approx(expected_first));
}

TEST_CASE("many different branches are counted as a map counts them") {
  using Key = std::tuple<uint32_t, uint64_t, uint64_t, uint64_t>;
  std::map<Key, uint64_t> expected;
  std::mt19937_64 random(1);
  BranchTable table;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) {
      Branches burst(1 + random() % 300);
      for (TakenBranch& branch : burst) {
        branch = {{0x7f0000000000 + random() % 50}, {0x7f0000000000 + random() % 50}};
      }
      const auto thread = static_cast<uint32_t>(random() % 3);
      for (size_t j = 0; j < burst.size(); ++j) {
        const uint64_t end = j + 1 < burst.size() ? burst[j + 1].from : BranchTable::kNoEnd;
        ++expected[{thread, burst[j].from, burst[j].to, end}];
      }
      Count(&table, thread, burst, 1, 0);
    }
    CHECK(table.entries().size() == expected.size());
    const bool all_agree = std::all_of(
        table.entries().begin(), table.entries().end(), [&](const BranchTable::Entry& entry) {
          return expected[{entry.thread, entry.from, entry.to, entry.end}] == entry.number;
        });
    CHECK(all_agree);
    table.Clear();
    CHECK(table.entries().empty());
    expected.clear();
  }
}

TEST_CASE("a burst without branches adds no entries") {
  BranchTable table;
  CHECK(Count(&table, 1, {}, 0, 0) == 0);
  table.Clear();
  CHECK(Count(&table, 1, {{{1}, {2}}}, 0, 0) == 1);
}

}  // namespace
}  // namespace hbbp
