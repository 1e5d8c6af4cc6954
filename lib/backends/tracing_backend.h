// Declares what depends on whether a program has software branch tracing: it has if it links
// tracing_backend.cc, and not if it links no_tracing_backend.cc.
#ifndef HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
#define HBBP_LIB_BACKENDS_TRACING_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace hbbp {

// Return nullptr without software branch tracing.
std::unique_ptr<Backend> MakeTracingBackend();
std::unique_ptr<Backend> MakeEbsAndTracingBackend();

// Returns whether software branch tracing can be expected to start with these options. Tries what
// it needs of the kernel on the calling thread.
bool CanTraceBranches(const BackendConfig& config);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
