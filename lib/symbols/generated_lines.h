// GeneratedLines finds the lines of generated code by address.
#ifndef HBBP_LIB_SYMBOLS_GENERATED_LINES_H_
#define HBBP_LIB_SYMBOLS_GENERATED_LINES_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/address.h"
#include "symbols/code_lines.h"
#include "symbols/line_range.h"

namespace hbbp {

// It is immutable once it is filled.
class GeneratedLines {
 public:
  // Pieces of code do not overlap; of several at one address the first is kept.
  void Add(ModuleAddress start, uint64_t bytes, std::string function, CodeLines lines);
  bool empty() const { return pieces_.empty(); }

  // Returns one frame, because inlining is not known. Views live as long as this object.
  LineRange Find(ModuleAddress address) const;

 private:
  struct Piece {
    ModuleAddress end;
    std::string function;
    CodeLines lines;
  };
  std::map<ModuleAddress, Piece> pieces_;  // by start
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_GENERATED_LINES_H_
