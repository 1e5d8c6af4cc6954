// Tests RecentLocations, whose entries grow in number with the pages that are looked up.
#include "collect/recent_locations.h"

#include <cstdint>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kStart = 0x10'0000;
constexpr uint64_t kTime = 5;

uint64_t PageAt(uint64_t index) { return kStart + index * kPageBytes; }

// Each page is a module, and has the number of it.
AddressSpace SpaceOfPages(uint64_t count) {
  AddressSpace space;
  for (uint32_t i = 0; i < count; ++i) {
    space.Add({PageAt(i)}, {PageAt(i + 1)}, kTime, {i, {PageAt(i)}, {0}});
  }
  return space;
}

uint64_t LocationOf(uint64_t address) {
  const uint64_t distance = address - kStart;
  return LocationInModule(static_cast<uint32_t>(distance / kPageBytes), distance % kPageBytes);
}

// Looks so many pages up, and returns how many of them were found.
uint64_t LookUp(const AddressSpace& space, uint64_t pages, RecentLocations* recent) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < pages; ++i) {
    const uint64_t address = PageAt(i) + i % kPageBytes;
    const auto known = recent->Find(space, address, kTime);
    found += known.has_value();
    const uint64_t location = known ? *known : recent->Resolve(space, address, kTime);
    if (location != LocationOf(address)) return UINT64_MAX;
  }
  return found;
}

TEST_CASE("few pages and many are found again") {
  for (const uint64_t pages : {1, 64, 65, 1000, 4096}) {
    CAPTURE(pages);
    const AddressSpace space = SpaceOfPages(pages);
    RecentLocations recent;
    CHECK(LookUp(space, pages, &recent) == 0);
    (void)LookUp(space, pages, &recent);  // what was dropped when there were more entries
    CHECK(LookUp(space, pages, &recent) == pages);
    recent.Reset();
    CHECK(LookUp(space, pages, &recent) == 0);
  }
}

TEST_CASE("of more pages than there can be entries all have their locations") {
  constexpr uint64_t kPages = 3 * 4096;
  const AddressSpace space = SpaceOfPages(kPages);
  RecentLocations recent;
  for (int i = 0; i < 3; ++i) CHECK(LookUp(space, kPages, &recent) != UINT64_MAX);
}

TEST_CASE("an address space has no entries of another one") {
  const AddressSpace space = SpaceOfPages(1);
  const AddressSpace other;
  RecentLocations recent;
  CHECK(recent.Resolve(space, kStart, kTime) == LocationOf(kStart));
  CHECK(recent.Find(space, kStart, kTime).has_value());
  CHECK_FALSE(recent.Find(other, kStart, kTime).has_value());
  CHECK(recent.Resolve(other, kStart, kTime) == LocationInNoModule(kStart));
}

}  // namespace
}  // namespace hbbp
