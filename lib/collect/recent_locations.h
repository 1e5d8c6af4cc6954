// RecentLocations caches results of AddressSpace::FindRange by page, for samples that are newer
// than all mappings.
#ifndef HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_
#define HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/counted_memory.h"
#include "base/linux_constants.h"
#include "collect/address_space.h"
#include "collect/code_location.h"
#include "events/samples.h"

namespace hbbp {

class RecentLocations {
 public:
  // Drops all entries, after any address space has changed.
  void Reset() { ++generation_; }

  std::optional<uint64_t> Find(const AddressSpace& space, uint64_t address,
                               uint64_t time_ns) const {
    const Entry* const entry = FindEntry(space, address, time_ns);
    if (entry == nullptr) return std::nullopt;
    return address + entry->distance;
  }

  // Sets `locations` to those of the branches of a burst. Calls resolve(address) for addresses that
  // have no entry.
  template <typename Resolver>
  void FindLocations(const AddressSpace& space, const BurstSample& burst, Resolver&& resolve,
                     std::vector<TakenBranch>* locations) const {
    locations->resize(burst.branches.size());
    TakenBranch* next = locations->data();
    Entry last;  // most branches stay in one mapping
    const auto find = [&](uint64_t address) {
      if (address - last.start < last.bytes) return address + last.distance;
      if (const Entry* const entry = FindEntry(space, address, burst.time_ns)) {
        last = *entry;
        return address + last.distance;
      }
      last = {};  // resolve() may map something
      return resolve(RuntimeAddress{address});
    };
    for (const TakenBranch& branch : burst.branches) {
      next->from = find(branch.from);
      next->to = find(branch.to);
      ++next;
    }
  }

  // Finds the location in `space`, and makes an entry for it if `keeps` is true.
  uint64_t Resolve(const AddressSpace& space, uint64_t address, uint64_t time_ns,
                   bool keeps = true) {
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
    if (keeps && time_ns >= space.newest_ns() && MakeRoom(space, address)) {
      entries_[IndexOf(address)] = {&space, generation_, range->start.value, bytes, distance};
    }
    return address + distance;
  }

 private:
  static constexpr size_t kMinEntries = 64, kMaxEntries = 4096;  // powers of two

  struct Entry {
    const AddressSpace* space = nullptr;
    uint64_t generation = 0;
    uint64_t start = 0;
    uint64_t bytes = 0;
    uint64_t distance = 0;  // of a location from its address
  };

  const Entry* FindEntry(const AddressSpace& space, uint64_t address, uint64_t time_ns) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[IndexOf(address)];
    const bool is_known = entry.space == &space && entry.generation == generation_ &&
                          address - entry.start < entry.bytes && time_ns >= space.newest_ns();
    return is_known ? &entry : nullptr;
  }

  size_t IndexOf(uint64_t address) const { return address / kPageBytes & (entries_.size() - 1); }

  // Has more entries, all unused, where another page has the one of this address. Returns false if
  // there is no memory for any.
  bool MakeRoom(const AddressSpace& space, uint64_t address) {
    if (entries_.empty()) return HasMemoryFor([this] { entries_.resize(kMinEntries); });
    const Entry& entry = entries_[IndexOf(address)];
    const uint64_t page = address / kPageBytes;
    const bool is_of_other_page =
        entry.space == &space && entry.generation == generation_ &&
        (page < entry.start / kPageBytes || page > (entry.start + entry.bytes - 1) / kPageBytes);
    if (is_of_other_page && entries_.size() < kMaxEntries) {
      HasMemoryFor([this] { entries_.assign(2 * entries_.size(), {}); });
    }
    return true;
  }

  uint64_t generation_ = 1;
  std::vector<Entry> entries_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECENT_LOCATIONS_H_
