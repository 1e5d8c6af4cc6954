// LineTableCache: the source lines of the modules of a profile, a cache of debug files: each is
// opened when it is first asked for.
#ifndef HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_
#define HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_

#include <cstdint>
#include <memory>

#include "analysis/resolved_modules.h"
#include "base/status.h"
#include "symbols/line_table.h"

namespace hbbp {

// Those of a part of a profile: neither progress nor flag, which the host keeps for the whole.
DebugInfoOptions WithoutHost(DebugInfoOptions options);

// Any thread.
class LineTableCache {
 public:
  explicit LineTableCache(std::shared_ptr<const ResolvedModules> modules,
                          DebugInfoOptions options = {});
  ~LineTableCache();

  const DebugInfoOptions& options() const { return options_; }

  // They live as long as this object and may be asked by any thread. Errors: kNotFound (no module,
  // no debug information), kMismatch, kUnsupported (no libdw; generated code), kBadFormat, kIo.
  // Where options().search.cancel is set, WorkCancelled is thrown, and the next call opens them.
  StatusOr<const LineTable*> LinesOf(uint32_t module) const;

 private:
  struct Opened;

  const std::shared_ptr<const ResolvedModules> modules_;
  const DebugInfoOptions options_;
  const std::shared_ptr<LineMemory> memory_;
  const std::unique_ptr<Opened> opened_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_LINE_TABLE_CACHE_H_
