// LineRange is a range of code with one line, and the functions inlined there.
#ifndef HBBP_LIB_SYMBOLS_LINE_RANGE_H_
#define HBBP_LIB_SYMBOLS_LINE_RANGE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "image/module_code.h"

namespace hbbp {

struct LineFrame {
  std::string_view function;  // linkage name (mangled) if DWARF has it; may be empty
  std::string_view file;      // absolute if the compilation directory is known; may be empty
  uint32_t line = 0;          // 0: no line
  uint32_t column = 0;        // 0: unknown
  // Distinguishes code of one line, of the instruction or of the call, as the compiler encodes it.
  uint32_t discriminator = 0;
  uint32_t function_line = 0;  // where `function` is declared; 0: unknown
  // The lowest address of `function`, or of its copy that is inlined here; 0: unknown.
  ModuleAddress start = {};

  bool operator==(const LineFrame&) const = default;
};

struct LineRange {
  // The addresses around the one that was requested that have the same frames; without debug
  // information for it, up to the next address that has some.
  AddressRange range;
  std::vector<LineFrame> frames;  // innermost first; empty: nothing is known of the address
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_RANGE_H_
