// Finds out by trying what software branch tracing can do on this machine.
#ifndef HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_
#define HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_

#include <vector>

#include "perf/capability_probe.h"

namespace hbbp {

// Returns "branch_tracing", which says what it would sample and step with, "thread_timers" and
// "native_stubs". Opens and closes one of each on the calling thread.
std::vector<Capability> ProbeBranchTracing();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BRANCH_TRACING_PROBE_H_
