// Declares MakeTracingBackend. A program has software branch tracing if it links
// tracing_backend.cc, and not if it links no_tracing_backend.cc.
#ifndef HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
#define HBBP_LIB_BACKENDS_TRACING_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace hbbp {

// Returns nullptr without software branch tracing.
std::unique_ptr<Backend> MakeTracingBackend();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
