#include "symbols/unit_index.h"

#include <random>
#include <tuple>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

// Returns what the constructor promises, by a search of all ranges.
uint32_t Holder(const std::vector<UnitRange>& ranges, ModuleAddress address) {
  const UnitRange* holder = nullptr;
  const auto rank = [](const UnitRange& range) {
    return std::tuple(~range.range.start.value, range.range.end, range.unit);
  };
  for (const UnitRange& range : ranges) {
    if (!range.range.Contains(address)) continue;
    if (holder == nullptr || rank(range) < rank(*holder)) holder = &range;
  }
  return holder == nullptr ? kNoUnit : holder->unit;
}

TEST_CASE("Each address has the unit whose range around it begins last", "[unit_index]") {
  constexpr uint64_t kEnd = 60;
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<UnitRange> ranges(random() % 12);
    for (UnitRange& range : ranges) {
      range.range.start = {random() % kEnd};
      range.range.end = range.range.start + 1 + random() % 20;
      range.unit = random() % 4;
    }
    const UnitIndex index(ranges);
    CHECK(index.empty() == ranges.empty());
    for (uint64_t at = 0; at < kEnd + 20; ++at) {
      AddressRange same{{0}, {UINT64_MAX}};
      const uint32_t found = index.Find({at}, &same);
      REQUIRE(found == Holder(ranges, {at}));
      REQUIRE(same.Contains({at}));
      for (uint64_t other = same.start.value; other < std::min(same.end.value, kEnd + 20);
           ++other) {
        REQUIRE(Holder(ranges, {other}) == found);
      }
    }
  }
}

TEST_CASE("One wide range around a million others makes no answer slow", "[unit_index]") {
  constexpr uint32_t kMany = 1'000'000;
  std::vector<UnitRange> ranges = {{{{0x10}, {0x10'0000'0000}}, 0}};
  for (uint32_t i = 1; i <= kMany; ++i) {
    ranges.push_back({{{0x1000 + i * 16ull}, {0x1001 + i * 16ull}}, i});
  }
  const UnitIndex index(std::move(ranges));
  CHECK(index.MemoryBytes() <= 2 * (kMany + 1) * 16);
  uint32_t wrong = 0;
  for (uint32_t i = 1; i <= kMany; ++i) {
    for (const uint64_t offset : {0, 1}) {
      AddressRange range{{0}, {UINT64_MAX}};
      wrong += index.Find({0x1000 + i * 16ull + offset}, &range) != (offset == 0 ? i : 0);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Ranges that all begin and end elsewhere cost as many changes", "[unit_index]") {
  constexpr uint32_t kMany = 100'000;
  std::vector<UnitRange> ranges;
  for (uint32_t i = 0; i < kMany; ++i) ranges.push_back({{{2 + i}, {10 * kMany - i}}, i});
  const UnitIndex index(std::move(ranges));
  CHECK(index.MemoryBytes() <= 2 * kMany * 16);
  AddressRange range{{0}, {UINT64_MAX}};
  CHECK(index.Find({5 * kMany}, &range) == kMany - 1);
  CHECK(index.Find({10 * kMany - 1}, &range) == 0);
  CHECK(index.Find({10 * kMany}, &range) == kNoUnit);
}

}  // namespace
}  // namespace hbbp
