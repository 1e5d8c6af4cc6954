// LineTable finds the line of an address of a module, and the functions inlined there, in its debug
// information.
//
//   LineRange found = table->Find(address);
//   found.frames[0]: file, line, column of the instruction, and the innermost function around it;
//   found.frames[1]: the call that was inlined, and the function around it; ...
//
// Opening reads the bounds of the units of the DWARF. A unit is decoded at the first request for
// one of its addresses, and kept while it fits into a LineMemory, which several modules may share.
#ifndef HBBP_LIB_SYMBOLS_LINE_TABLE_H_
#define HBBP_LIB_SYMBOLS_LINE_TABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/address.h"
#include "base/status.h"
#include "symbols/debug_info_file.h"
#include "symbols/generated_lines.h"
#include "symbols/line_memory.h"
#include "symbols/line_range.h"

namespace hbbp {

// Reports how much of the debug information of `module` was read. It is called in the requesting
// thread, and must not use the same LineTable.
using DebugInfoProgress =
    std::function<void(const std::string& module, uint64_t done_bytes, uint64_t total_bytes)>;

struct DebugInfoOptions {
  DebugSearch search;
  uint64_t memory_limit = 256ull << 20;  // for decoded units
  DebugInfoProgress progress;
};

// Any thread may call any function.
class LineTable {
 public:
  // Returns kUnsupported if there is no libdw, kBadFormat if its DWARF cannot be read at all, and
  // otherwise the errors of FindDebugInfo. If options.search.cancel is set during a read, here or
  // in Find, WorkCancelled is thrown, and the next call reads again. Without `memory` the module
  // has its own.
  static StatusOr<std::unique_ptr<LineTable>> Open(const DebugTarget& target,
                                                   const DebugInfoOptions& options = {},
                                                   std::shared_ptr<LineMemory> memory = nullptr);
  // Takes the lines of generated code, which its JITs reported.
  explicit LineTable(GeneratedLines generated);
  ~LineTable();

  // Sets the difference between addresses and those of the file. Call it before Find.
  void SetSlide(uint64_t slide) { slide_ = slide; }

  // Returns views that live as long as this object.
  LineRange Find(ModuleAddress address) const;

  const std::string& debug_file() const;
  // Returns what is missing or damaged, as far as known by now, on one line, or nothing.
  std::string Problem() const;
  // Returns how many times a unit was decoded.
  uint64_t units_decoded() const;

 private:
  struct State;
  LineRange FindInFile(ModuleAddress address) const;
  explicit LineTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;  // null: generated_ has all lines
  GeneratedLines generated_;
  uint64_t slide_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_TABLE_H_
