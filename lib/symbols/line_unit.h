// LineUnit: the line table and the functions of one DWARF unit, small and ready to be searched.
//
// libdw keeps what it decodes until the file is closed, in structures of its own; what is kept here
// can be dropped unit by unit.
#ifndef HBBP_LIB_SYMBOLS_LINE_UNIT_H_
#define HBBP_LIB_SYMBOLS_LINE_UNIT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/work.h"
#include "image/module_code.h"
#include "symbols/libdw.h"

namespace hbbp {

inline constexpr uint32_t kNoScope = UINT32_MAX;
inline constexpr uint32_t kNoFile = UINT32_MAX;

// A row of the line table: it holds up to the next one.
struct LineRow {
  uint64_t address = 0;
  uint32_t file = kNoFile;  // index of LineUnit::files
  uint32_t line = 0;        // 0: of no line
  uint32_t column = 0;
  bool is_end = false;  // of a sequence: nothing is known from here on
};

// A function, or one that was inlined into another scope.
struct LineScope {
  uint32_t parent = kNoScope;  // kNoScope: a function with code of its own
  uint32_t name = 0;           // index of LineUnit::names
  uint32_t call_file = kNoFile;
  uint32_t call_line = 0;
  uint32_t call_column = 0;
};

// Where the innermost scope begins to be another one.
struct ScopeChange {
  uint64_t address = 0;
  uint32_t scope = kNoScope;
};

struct LineUnit {
  std::vector<LineRow> rows;         // by address
  std::vector<LineScope> scopes;     // parents before children
  std::vector<ScopeChange> changes;  // by address
  std::vector<std::string> files;    // absolute if the compiler said where it ran
  std::vector<std::string> names;    // as a linker sees them, if DWARF says so; may be empty
  uint64_t rows_read = 0;            // by libdw, which keeps them
  std::string problem;               // what is damaged; else empty

  // Null before the first row and after the end of a sequence. `range` is narrowed to where the
  // answer is the same.
  const LineRow* FindRow(ModuleAddress address, AddressRange* range) const;
  // kNoScope if no function is there.
  uint32_t FindScope(ModuleAddress address, AddressRange* range) const;
  size_t MemoryBytes() const;
};

// `unit` is the DIE of a unit, `functions` that of the unit that has its functions: the same if it
// is not split; `files` that of the unit whose table of files those refer to. Damaged parts are
// left out: DWARF of any content terminates, in time and memory that its size bounds.
// Throws WorkCancelled if it is called off.
LineUnit ReadLineUnit(const Libdw& libdw, Dwarf_Die* unit, Dwarf_Die* functions, Dwarf_Die* files,
                      const CancelFlag* cancel);

// Its rows and files only.
LineUnit ReadLineRows(const Libdw& libdw, Dwarf_Die* unit);

// How many ranges may yet be taken. DIEs may share one list, but compilers let none do.
struct RangeBudget {
  size_t kept = 0;
  size_t read = 0;  // with those that linkers leave behind of functions that they dropped
};

// The ranges of code of a DIE, as far as `budget` allows, without those of dropped functions.
std::vector<AddressRange> RangesOf(const Libdw& libdw, Dwarf_Die* die, RangeBudget* budget);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_UNIT_H_
