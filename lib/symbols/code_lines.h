// CodeLines is the line table of a piece of generated code, as its JIT reports it.
#ifndef HBBP_LIB_SYMBOLS_CODE_LINES_H_
#define HBBP_LIB_SYMBOLS_CODE_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hbbp {

// A CodeLine holds for the code from `offset` up to that of the next row.
struct CodeLine {
  uint32_t offset = 0;  // from the start of the piece
  uint32_t file = 0;    // index of CodeLines::files
  uint32_t line = 0;    // 0: no line

  bool operator==(const CodeLine&) const = default;
};

struct CodeLines {
  std::vector<std::string> files;
  std::vector<CodeLine> rows;  // by rising offset

  bool operator==(const CodeLines&) const = default;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_CODE_LINES_H_
