#include "backends/tracing_backend.h"

#include "backends/swbt.h"

namespace hbbp {

std::unique_ptr<Backend> MakeTracingBackend() { return std::make_unique<SwbtBackend>(); }

}  // namespace hbbp
