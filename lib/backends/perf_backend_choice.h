// Declares what depends on how finely a program draws periods: as drawn_periods_backend.cc does if
// it links that, and as PerfBackend does if it links plain_perf_backend.cc.
#ifndef HBBP_LIB_BACKENDS_PERF_BACKEND_CHOICE_H_
#define HBBP_LIB_BACKENDS_PERF_BACKEND_CHOICE_H_

#include <memory>

#include "backends/backend.h"

namespace hbbp {

// `kind` is kEbs, kLbr or kIbs.
std::unique_ptr<Backend> MakePerfBackend(SourceKind kind);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_PERF_BACKEND_CHOICE_H_
