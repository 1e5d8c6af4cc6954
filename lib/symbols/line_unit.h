// LineUnit is the line table and the functions of one DWARF unit, in a small form that can be
// searched.
//
// libdw keeps what it decodes until the file is closed, in structures of its own; a LineUnit can be
// dropped by itself.
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
#include "symbols/line_sequences.h"

namespace hbbp {

inline constexpr uint32_t kNoScope = UINT32_MAX;
inline constexpr uint32_t kNoFile = UINT32_MAX;

// LineRow is a row of the line table, which holds up to the next one.
struct LineRow {
  uint64_t address = 0;
  uint32_t file = kNoFile;  // index of LineUnit::files
  uint32_t line = 0;        // 0: no line
  uint32_t column = 0;
  uint32_t discriminator = 0;
  bool is_end = false;  // the end of a sequence: nothing is known from here on
};

// LineScope is a function, or a call that was inlined into another scope.
struct LineScope {
  uint32_t parent = kNoScope;  // kNoScope: a function with code of its own
  uint32_t name = 0;           // index of LineUnit::names
  uint32_t declared_line = 0;  // 0: unknown
  uint64_t start = 0;          // the lowest address
  uint32_t call_file = kNoFile;
  uint32_t call_line = 0;
  uint32_t call_column = 0;
  uint32_t call_discriminator = 0;
};

// From `address` on, the innermost scope is another one.
struct ScopeChange {
  uint64_t address = 0;
  uint32_t scope = kNoScope;
};

struct LineUnit {
  std::vector<LineRow> rows;         // by address
  std::vector<LineScope> scopes;     // parents before children
  std::vector<ScopeChange> changes;  // by address
  std::vector<std::string> files;    // absolute if the compilation directory is known
  std::vector<std::string> names;    // linkage names if DWARF has them; may be empty
  uint64_t rows_read = 0;            // by libdw, which keeps them
  std::string problem;               // what is damaged, or empty

  // Returns null before the first row and after the end of a sequence. Narrows `range` to the
  // addresses with the same result.
  const LineRow* FindRow(ModuleAddress address, AddressRange* range) const;
  // Returns kNoScope outside of functions. Narrows `range` likewise.
  uint32_t FindScope(ModuleAddress address, AddressRange* range) const;
  size_t MemoryBytes() const;
};

// `unit` is the DIE of a unit, `functions` the DIE of the unit that has its functions (the same if
// it is not split), and `files` that of the unit whose file table the functions refer to.
// `line_section` is that of the file of `unit`, or null: then rows of functions that the linker
// dropped are not left out. Damaged parts are left out: for DWARF of any content it terminates, in
// time and memory bounded by the size. Throws WorkCancelled if `cancel` is set meanwhile.
LineUnit ReadLineUnit(const Libdw& libdw, Dwarf_Die* unit, Dwarf_Die* functions, Dwarf_Die* files,
                      LineSection* line_section, const CancelFlag* cancel);

// Reads its rows and files only.
LineUnit ReadLineRows(const Libdw& libdw, Dwarf_Die* unit);

// RangeBudget limits the ranges that are read. DIEs of a hostile file may share one list; compilers
// never make them do so.
struct RangeBudget {
  size_t kept = 0;
  size_t read = 0;  // includes ranges of functions that the linker dropped
};

// Returns the code ranges of a DIE, as far as `budget` allows, without those of dropped functions.
std::vector<AddressRange> ReadRanges(const Libdw& libdw, Dwarf_Die* die, RangeBudget* budget);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_UNIT_H_
