// AddressSpace knows which module was mapped at which address, and when.
#ifndef HBBP_LIB_COLLECT_ADDRESS_SPACE_H_
#define HBBP_LIB_COLLECT_ADDRESS_SPACE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/address.h"

namespace hbbp {

// Mappings have times, because dlclose and dlopen put another module at the same address, and
// samples of both may be waiting in the buffers. A mapping holds until a later one covers its
// address.
class AddressSpace {
 public:
  struct Placement {
    uint32_t module;
    RuntimeAddress start;  // of the mapping
    FileOffset offset;     // of `start`

    FileOffset OffsetOf(RuntimeAddress address) const { return offset + (address - start); }
    bool operator==(const Placement&) const = default;
  };

  // Returns the number of layers that were added, with those that both parts of an interval have
  // after it was split. Nothing changes where `stays` is true of the placement at that time.
  size_t Add(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns, Placement placement,
             const std::function<bool(const Placement&)>& stays = {});
  // Returns the most layers that such an Add may add.
  size_t MaxAdded(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns) const;
  size_t intervals() const { return intervals_.size(); }
  // Returns the latest time of a mapping that was added.
  uint64_t newest_ns() const { return newest_ns_; }

  // Finds the mapping at `address` at that time.
  std::optional<Placement> Find(RuntimeAddress address, uint64_t time_ns) const;

  // Finds the same, with the range of addresses that it holds for.
  struct PlacedRange {
    RuntimeAddress start;
    RuntimeAddress end;
    Placement placement;
  };
  std::optional<PlacedRange> FindRange(RuntimeAddress address, uint64_t time_ns) const;

  // Find the mapping at that time that is at `address` or nearest below it, and the nearest one
  // above it.
  std::optional<Placement> FindAtOrBelow(RuntimeAddress address, uint64_t time_ns) const;
  std::optional<Placement> FindAbove(RuntimeAddress address, uint64_t time_ns) const;

  // Drops what was replaced by that time, and intervals that have held nothing but `nothing` since
  // then. Returns the number of layers that are left.
  size_t DropReplaced(uint64_t time_ns, const Placement& nothing);

 private:
  struct Layer {
    uint64_t time_ns;
    uint64_t last_time_ns;  // when the same was last mapped there
    Placement placement;
  };
  struct Interval {
    RuntimeAddress end;
    std::vector<Layer> layers;  // by time, oldest first
  };

  static const Placement* PlacementAt(const Interval& interval, uint64_t time_ns);
  // Returns the number of layers that were added: none if the layer is known already.
  static size_t AddLayer(uint64_t time_ns, const Placement& placement, std::vector<Layer>* layers);

  using Intervals = std::map<RuntimeAddress, Interval>;

  // Returns the first interval that ends above an address.
  Intervals::const_iterator FirstAbove(RuntimeAddress address) const;
  // Returns the number of layers that SplitAt copies.
  size_t LayersToSplit(RuntimeAddress address) const;
  // Makes `address` the bound of an interval if it lies inside one. Returns the number of layers
  // that were copied.
  size_t SplitAt(RuntimeAddress address);

  Intervals intervals_;  // by start; no overlaps
  uint64_t newest_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_ADDRESS_SPACE_H_
