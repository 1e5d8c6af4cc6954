// Tests AddressSpace, which knows what was mapped where and when: times, parts of mappings, layers
// that are delivered late, the nearest mappings, and random ones that a naive search compares.
#include "collect/address_space.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Placement = AddressSpace::Placement;

// Returns the placement of a module that is mapped at `start` from offset 0 of its file.
Placement At(uint32_t module, uint64_t start) { return {module, {start}, {0}}; }

void Map(AddressSpace* space, uint64_t start, uint64_t end, uint64_t time, uint32_t module) {
  space->Add({start}, {end}, time, At(module, start));
}

// Returns the number of the module, or -1.
int64_t ModuleAt(const AddressSpace& space, uint64_t address, uint64_t time) {
  const auto placement = space.Find({address}, time);
  return placement ? static_cast<int64_t>(placement->module) : -1;
}

TEST_CASE("an address is found from the start of a mapping up to, not including, its end") {
  AddressSpace space;
  CHECK(ModuleAt(space, 0x1000, 5) == -1);
  Map(&space, 0x1000, 0x2000, 5, 7);
  CHECK(ModuleAt(space, 0xfff, 5) == -1);
  CHECK(ModuleAt(space, 0x1000, 5) == 7);
  CHECK(ModuleAt(space, 0x1fff, 5) == 7);
  CHECK(ModuleAt(space, 0x2000, 5) == -1);
}

TEST_CASE("nothing was there before it was mapped, and it stays until something else comes") {
  AddressSpace space;
  Map(&space, 0x1000, 0x2000, 10, 1);
  Map(&space, 0x1000, 0x2000, 20, 2);
  CHECK(ModuleAt(space, 0x1800, 9) == -1);
  CHECK(ModuleAt(space, 0x1800, 10) == 1);
  CHECK(ModuleAt(space, 0x1800, 19) == 1);
  CHECK(ModuleAt(space, 0x1800, 20) == 2);
  CHECK(ModuleAt(space, 0x1800, UINT64_MAX) == 2);
}

TEST_CASE("mappings that become known out of order are put in order") {
  AddressSpace space;
  Map(&space, 0x1000, 0x2000, 20, 2);
  Map(&space, 0x1000, 0x2000, 10, 1);
  CHECK(ModuleAt(space, 0x1800, 15) == 1);
  CHECK(ModuleAt(space, 0x1800, 25) == 2);
}

TEST_CASE("a mapping inside another one covers only its part") {
  AddressSpace space;
  Map(&space, 0x1000, 0x4000, 10, 1);
  Map(&space, 0x2000, 0x3000, 20, 2);
  CHECK(ModuleAt(space, 0x1fff, 30) == 1);
  CHECK(ModuleAt(space, 0x2000, 30) == 2);
  CHECK(ModuleAt(space, 0x2fff, 30) == 2);
  CHECK(ModuleAt(space, 0x3000, 30) == 1);
  CHECK(ModuleAt(space, 0x2800, 15) == 1);
}

TEST_CASE("a mapping over several others and the gaps between them covers all") {
  AddressSpace space;
  Map(&space, 0x1000, 0x2000, 10, 1);
  Map(&space, 0x3000, 0x4000, 10, 2);
  Map(&space, 0x0800, 0x5000, 20, 3);
  for (uint64_t address : {0x800, 0x1800, 0x2800, 0x3800, 0x4800}) {
    CHECK(ModuleAt(space, address, 20) == 3);
  }
  CHECK(ModuleAt(space, 0x1800, 19) == 1);
  CHECK(ModuleAt(space, 0x2800, 19) == -1);
  CHECK(ModuleAt(space, 0x3800, 19) == 2);
}

TEST_CASE("offsets are counted from the start of the mapping, also in what is left of it") {
  AddressSpace space;
  space.Add({0x1000}, {0x4000}, 10, {1, {0x1000}, {0x500}});
  Map(&space, 0x2000, 0x3000, 20, 2);
  CHECK(space.Find({0x3800}, 30)->OffsetOf({0x3800}).value == 0x500 + 0x2800);
  CHECK(space.Find({0x2010}, 30)->OffsetOf({0x2010}).value == 0x10);
}

TEST_CASE("a mapping without extent is ignored") {
  AddressSpace space;
  Map(&space, 0x2000, 0x2000, 1, 1);
  Map(&space, 0x2000, 0x1000, 1, 1);
  CHECK(ModuleAt(space, 0x2000, 1) == -1);
  CHECK(ModuleAt(space, 0x1800, 1) == -1);
}

TEST_CASE("the end of the address space can be mapped") {
  AddressSpace space;
  Map(&space, UINT64_MAX - 0x1000, UINT64_MAX, 1, 1);
  CHECK(ModuleAt(space, UINT64_MAX - 1, 1) == 1);
  CHECK(ModuleAt(space, UINT64_MAX, 1) == -1);
}

TEST_CASE("a mapping that comes back is found again, even if the one in between is added last") {
  AddressSpace space;
  Map(&space, 0x1000, 0x2000, 10, 1);
  Map(&space, 0x1000, 0x2000, 30, 1);
  Map(&space, 0x1000, 0x2000, 20, 2);
  CHECK(ModuleAt(space, 0x1800, 15) == 1);
  CHECK(ModuleAt(space, 0x1800, 25) == 2);
  CHECK(ModuleAt(space, 0x1800, 35) == 1);
}

TEST_CASE("a mapping that is known already adds nothing") {
  AddressSpace space;
  CHECK(space.Add({0x1000}, {0x4000}, 10, At(1, 0x1000)) == 1);
  CHECK(space.Add({0x1000}, {0x4000}, 20, At(1, 0x1000)) == 0);
  const auto stays = [](const Placement& known) { return known.module == 1; };
  CHECK(space.Add({0x1000}, {0x4000}, 30, At(2, 0x1000), stays) == 0);
  // Bounds are kept, even those of an empty range; later they are known.
  CHECK(space.Add({0x2000}, {0x3000}, 40, At(2, 0x2000), stays) == 2);
  CHECK(space.Add({0x2000}, {0x3000}, 50, At(2, 0x2000), stays) == 0);
  CHECK(space.Add({0x2000}, {0x5000}, 60, At(2, 0x2000)) == 3);
}

// A naive address space is a list of mappings, of which the latest that covers an address holds.
class NaiveSpace {
 public:
  void Add(RuntimeAddress start, RuntimeAddress end, uint64_t time, const Placement& placement) {
    mappings_.push_back({start, end, time, placement});
  }
  std::optional<Placement> Find(RuntimeAddress address, uint64_t time) const {
    const NaiveMapping* found = nullptr;
    for (const NaiveMapping& mapping : mappings_) {
      if (mapping.start > address || mapping.end <= address || mapping.time > time) continue;
      if (found == nullptr || mapping.time >= found->time) found = &mapping;
    }
    return found == nullptr ? std::nullopt : std::optional(found->placement);
  }

 private:
  struct NaiveMapping {
    RuntimeAddress start, end;
    uint64_t time;
    Placement placement;
  };
  std::vector<NaiveMapping> mappings_;
};

void CompareWithNaive(unsigned seed, bool in_order) {
  std::mt19937 random(seed);
  const auto draw = [&random](uint64_t bound) { return random() % bound; };
  AddressSpace space;
  NaiveSpace naive;
  for (uint32_t i = 0; i < 60; ++i) {
    const RuntimeAddress start{draw(100)};
    const RuntimeAddress end = start + draw(40);
    const uint64_t time = in_order ? i / 2 : draw(50);
    // With mappings in order, the same modules come back again and again.
    const Placement placement = At(in_order ? static_cast<uint32_t>(draw(3)) : i, 0);
    space.Add(start, end, time, placement);
    naive.Add(start, end, time, placement);
  }
  size_t differences = 0;
  for (uint64_t address = 0; address < 150; ++address) {
    for (uint64_t time = 0; time < 55; ++time) {
      differences += space.Find({address}, time) != naive.Find({address}, time);
    }
  }
  CAPTURE(seed, in_order);
  CHECK(differences == 0);
}

TEST_CASE("random mappings are found as a naive search finds them") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    CompareWithNaive(seed, true);
    CompareWithNaive(seed, false);
  }
}

TEST_CASE("the nearest mappings at a time are found, whatever was mapped later in between") {
  AddressSpace space;
  const auto below = [&](uint64_t address, uint64_t time) {
    const auto placement = space.FindAtOrBelow({address}, time);
    return placement ? static_cast<int64_t>(placement->module) : -1;
  };
  const auto above = [&](uint64_t address, uint64_t time) {
    const auto placement = space.FindAbove({address}, time);
    return placement ? static_cast<int64_t>(placement->module) : -1;
  };
  CHECK(below(0x1000, 10) == -1);
  CHECK(above(0x1000, 10) == -1);
  Map(&space, 0x1000, 0x2000, 5, 1);
  Map(&space, 0x3000, 0x4000, 20, 2);
  Map(&space, 0x5000, 0x6000, 5, 3);
  CHECK(below(0xfff, 10) == -1);
  CHECK(below(0x1000, 10) == 1);
  CHECK(below(0x4800, 19) == 1);
  CHECK(below(0x4800, 20) == 2);
  CHECK(below(UINT64_MAX, 20) == 3);
  CHECK(above(0xfff, 10) == 1);
  CHECK(above(0x1000, 19) == 3);
  CHECK(above(0x1000, 20) == 2);
  CHECK(above(0x5000, 20) == -1);
}

TEST_CASE("layers that a split copies are counted, and foreseen") {
  AddressSpace space;
  size_t layers = 0;
  const auto add = [&](uint64_t start, uint64_t end, uint64_t time, uint32_t module) {
    const size_t limit = space.MaxAdded({start}, {end}, time);
    const size_t added = space.Add({start}, {end}, time, At(module, start));
    CHECK(added <= limit);
    layers += added;
    return added;
  };
  for (uint32_t i = 0; i < 100; ++i) CHECK(add(0x1000, 0x9000, 10 * (i + 1), i) == 1);
  CHECK(add(0x2000, 0x3000, 2000, 200) == 201);
  CHECK(add(0x2000, 0x3000, 2500, 200) == 0);
  CHECK(add(0x0, 0xa000, 2200, 300) == 6);  // late in the middle
  CHECK(add(0x8000, 0xb000, 3000, 400) == 104);
  CHECK(space.DropReplaced(0, At(9, 0)) == layers);
  CHECK(space.DropReplaced(4000, At(9, 0)) == space.intervals());
}

TEST_CASE("what was replaced by a time is dropped, and intervals of nothing with it") {
  AddressSpace space;
  const Placement nothing = At(9, 0);
  Map(&space, 0x1000, 0x2000, 10, 1);
  Map(&space, 0x1000, 0x2000, 20, 2);
  Map(&space, 0x1000, 0x2000, 30, 3);
  Map(&space, 0x3000, 0x4000, 10, 4);
  space.Add({0x3000}, {0x4000}, 20, nothing);
  Map(&space, 0x5000, 0x6000, 10, 5);
  space.Add({0x5000}, {0x6000}, 40, nothing);
  CHECK(space.DropReplaced(25, nothing) == 4);
  CHECK(space.intervals() == 2);
  CHECK(ModuleAt(space, 0x1000, 19) == -1);
  CHECK(ModuleAt(space, 0x1000, 25) == 2);
  CHECK(ModuleAt(space, 0x1000, 30) == 3);
  CHECK(ModuleAt(space, 0x3000, 25) == -1);
  CHECK(ModuleAt(space, 0x5000, 39) == 5);
  CHECK(ModuleAt(space, 0x5000, 40) == 9);
}

}  // namespace
}  // namespace hbbp
