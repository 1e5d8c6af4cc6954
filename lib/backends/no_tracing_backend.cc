// Is linked into programs without software branch tracing.
#include "backends/tracing_backend.h"

namespace hbbp {

std::unique_ptr<Backend> MakeTracingBackend() { return nullptr; }

std::unique_ptr<Backend> MakeEbsAndTracingBackend() { return nullptr; }

bool CanTraceBranches(const BackendConfig&) { return false; }

}  // namespace hbbp
