// Is linked into programs that must be small.
#include "backends/perf_backend.h"
#include "backends/perf_backend_choice.h"

namespace hbbp {

std::unique_ptr<Backend> MakePerfBackend(SourceKind kind) {
  return std::make_unique<PerfBackend>(kind);
}

}  // namespace hbbp
