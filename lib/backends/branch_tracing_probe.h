// What software branch tracing can do on this machine, found out by trying.
#ifndef HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_
#define HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_

#include <vector>

#include "perf/capability_probe.h"

namespace hbbp {

// "branch_tracing": on which rung it would run; "thread_timers"; "native_stubs". Opens and closes
// one of each on the calling thread.
std::vector<Capability> ProbeBranchTracing();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_
