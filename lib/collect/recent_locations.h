// RecentLocations: what AddressSpace::FindRange said lately, by page, for what is newer than all
// that it has.
#ifndef HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_
#define HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/linux_constants.h"
#include "collect/address_space.h"
#include "collect/code_location.h"
#include "events/samples.h"

namespace hbbp {

class RecentLocations {
 public:
  // Something was mapped or is gone, somewhere.
  void Forget() { ++generation_; }

  std::optional<uint64_t> Find(const AddressSpace& space, uint64_t address,
                               uint64_t time_ns) const {
    const Found* const found = FindEntry(space, address, time_ns);
    if (found == nullptr) return std::nullopt;
    return address + found->distance;
  }

  // Of the branches of a burst. What is not known, place(address) says.
  template <typename Place>
  void FindLocations(const AddressSpace& space, const BurstSample& burst, Place&& place,
                     std::vector<TakenBranch>* places) const {
    places->resize(burst.branches.size());
    TakenBranch* next = places->data();
    Found last;  // most branches stay in one mapping
    const auto place_of = [&](uint64_t address) {
      if (address - last.start < last.bytes) return address + last.distance;
      if (const Found* const found = FindEntry(space, address, burst.time_ns)) {
        last = *found;
        return address + last.distance;
      }
      last = {};  // something may be mapped now
      return place(RuntimeAddress{address});
    };
    for (const TakenBranch& branch : burst.branches) {
      next->from = place_of(branch.from);
      next->to = place_of(branch.to);
      ++next;
    }
  }

  // Looks it up; and keeps it if `keeps`.
  uint64_t Look(const AddressSpace& space, uint64_t address, uint64_t time_ns, bool keeps = true) {
    const auto range = space.FindRange({address}, time_ns);
    if (!range) return LocationInNoModule(address);
    const AddressSpace::Placement& placement = range->placement;
    const uint64_t first_offset = placement.OffsetOf(range->start).value;
    const uint64_t bytes = range->end - range->start;
    const bool fits = placement.module < kMaxLocatedModules &&
                      first_offset <= kLocationOffsetMask &&
                      bytes <= kLocationOffsetMask - first_offset;
    if (!fits) return LocationInNoModule(address);
    const uint64_t distance = LocationInModule(placement.module, first_offset) - range->start.value;
    if (keeps && time_ns >= space.newest_ns()) {
      found_.resize(kFound);
      found_[address / kPageBytes % kFound] = {&space, generation_, range->start.value, bytes,
                                               distance};
    }
    return address + distance;
  }

 private:
  static constexpr size_t kFound = 4096;  // a power of two

  struct Found {
    const AddressSpace* space = nullptr;
    uint64_t generation = 0;
    uint64_t start = 0;
    uint64_t bytes = 0;
    uint64_t distance = 0;  // of a place from its address
  };

  const Found* FindEntry(const AddressSpace& space, uint64_t address, uint64_t time_ns) const {
    if (found_.empty()) return nullptr;
    const Found& found = found_[address / kPageBytes % kFound];
    const bool is_known = found.space == &space && found.generation == generation_ &&
                          address - found.start < found.bytes && time_ns >= space.newest_ns();
    return is_known ? &found : nullptr;
  }

  uint64_t generation_ = 1;
  std::vector<Found> found_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_
