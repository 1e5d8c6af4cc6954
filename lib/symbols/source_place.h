// SourcePlace: which source line, in which function inlined into which, an address is of.
#ifndef HBBP_LIB_SYMBOLS_SOURCE_PLACE_H_
#define HBBP_LIB_SYMBOLS_SOURCE_PLACE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "image/module_code.h"

namespace hbbp {

struct SourceFrame {
  std::string_view function;  // as linkers know it (mangled) if DWARF tells; may be empty
  std::string_view file;      // absolute if the compiler said where it ran; may be empty
  uint32_t line = 0;          // 0: of no line
  uint32_t column = 0;        // 0: not known

  bool operator==(const SourceFrame&) const = default;
};

struct SourcePlace {
  // Around the address, where the answer is the same; all that follows if there is none.
  AddressRange range;
  std::vector<SourceFrame> frames;  // innermost first; empty: nothing is known of the address
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_SOURCE_PLACE_H_
