// SourceLines: which source line, in which function inlined into which, an address of a module is.
//
//   SourcePlace place = lines->Find(address);
//   place.frames[0]: file, line, column of the instruction, and the innermost function around it;
//   place.frames[1]: where that one was inlined, and the function that it was inlined into; ...
//
// Opening reads where the units of the DWARF lie. A unit is decoded when an address of it is first
// asked for, and kept as long as a LineMemory, which several modules may share, has room for it.
#ifndef HBBP_LIB_SYMBOLS_SOURCE_LINES_H_
#define HBBP_LIB_SYMBOLS_SOURCE_LINES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/address.h"
#include "base/status.h"
#include "symbols/debug_info_file.h"
#include "symbols/generated_lines.h"
#include "symbols/line_memory.h"
#include "symbols/source_place.h"

namespace hbbp {

// How far reading the debug information of `module` is. Called in the thread that asked; must not
// ask the same object anything.
using SourceProgress =
    std::function<void(const std::string& module, uint64_t done_bytes, uint64_t total_bytes)>;

struct SourceOptions {
  DebugSearch search;
  uint64_t memory_limit = 256ull << 20;  // of what is decoded
  SourceProgress progress;
};

// Any thread may call anything.
class SourceLines {
 public:
  // kUnsupported if there is no libdw, otherwise as FindDebugInfo; kBadFormat if its DWARF cannot
  // be read at all. Where options.search.cancel is set while something is read, here or in Find,
  // WorkCancelled is thrown, and the next call reads it. Without `memory` there is one for this
  // module alone.
  static StatusOr<std::unique_ptr<SourceLines>> Open(const DebugTarget& target,
                                                     const SourceOptions& options = {},
                                                     std::shared_ptr<LineMemory> memory = nullptr);
  // Of generated code, as its JITs told them.
  explicit SourceLines(GeneratedLines generated);
  ~SourceLines();

  // How much greater addresses are than those of the file; 0 if nothing is said. Before Find.
  void SetSlide(uint64_t slide) { slide_ = slide; }

  // Views live as long as this object.
  SourcePlace Find(ModuleAddress address) const;

  const std::string& debug_file() const;
  // What is missing or damaged, as far as was noticed up to now; one line, empty if nothing.
  std::string Problem() const;
  // How often a unit was decoded.
  uint64_t units_decoded() const;

 private:
  struct State;
  SourcePlace FindInFile(ModuleAddress address) const;
  explicit SourceLines(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;  // null: generated_ has all lines
  GeneratedLines generated_;
  uint64_t slide_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_SOURCE_LINES_H_
