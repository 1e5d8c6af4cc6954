// LineTableCache opens the line tables of the modules of a profile on demand, and keeps them.
#ifndef HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_
#define HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_

#include <cstdint>
#include <memory>

#include "analysis/resolved_modules.h"
#include "base/status.h"
#include "symbols/line_table.h"

namespace hbbp {

// Returns the options for a part of a profile: without the progress callback and the flag, which
// the host keeps for the whole.
DebugInfoOptions WithoutHost(DebugInfoOptions options);

// Any thread may call any function.
class LineTableCache {
 public:
  explicit LineTableCache(std::shared_ptr<const ResolvedModules> modules,
                          DebugInfoOptions options = {});
  ~LineTableCache();

  const DebugInfoOptions& options() const { return options_; }

  // Returns a table that lives as long as this object and may be used by any thread. Errors are
  // kNotFound (no module, no debug information), kMismatch, kUnsupported (no libdw; generated
  // code), kBadFormat, kIo. If options().search.cancel is set, WorkCancelled is thrown, and the
  // next call opens it.
  StatusOr<const LineTable*> Open(uint32_t module) const;

 private:
  struct Opened;

  const std::shared_ptr<const ResolvedModules> modules_;
  const DebugInfoOptions options_;
  const std::shared_ptr<LineMemory> memory_;
  const std::unique_ptr<Opened> opened_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_
