// UnitIndex finds the DWARF unit that has the code at an address.
#ifndef HBBP_LIB_SYMBOLS_UNIT_INDEX_H_
#define HBBP_LIB_SYMBOLS_UNIT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address.h"
#include "image/module_code.h"

namespace hbbp {

inline constexpr uint32_t kNoUnit = UINT32_MAX;

// UnitRange is a range of code that a unit declares.
struct UnitRange {
  AddressRange range;
  uint32_t unit = 0;
};

class UnitIndex {
 public:
  UnitIndex() = default;
  // Ranges may overlap. Then the one that begins last holds; of those that begin together the
  // shortest; of equal ones that of the first unit. Linkers keep the first copy of an inline
  // function, and let the debug information of the other copies refer to it.
  explicit UnitIndex(std::vector<UnitRange> ranges);

  // Returns kNoUnit if no unit has code there. Narrows `range` to the addresses with the same
  // result.
  uint32_t Find(ModuleAddress address, AddressRange* range) const;
  bool empty() const { return changes_.empty(); }
  size_t MemoryBytes() const { return changes_.capacity() * sizeof(Change); }

 private:
  // From `address` on, `unit` holds.
  struct Change {
    ModuleAddress address;
    uint32_t unit;
  };
  void Add(ModuleAddress address, uint32_t unit);

  std::vector<Change> changes_;  // by address
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_UNIT_INDEX_H_
