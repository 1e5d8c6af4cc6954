// Whether a program has software branch tracing depends on which of two sources it links.
#ifndef HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
#define HBBP_LIB_BACKENDS_TRACING_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace hbbp {

// nullptr without it.
std::unique_ptr<Backend> MakeTracingBackend();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_TRACING_BACKEND_H_
