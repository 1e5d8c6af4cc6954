#include "backends/tracing_backend.h"

#include "backends/branch_tracing_probe.h"
#include "backends/pair_backend.h"
#include "backends/perf_backend_choice.h"
#include "backends/swbt.h"
#include "backends/trace_trigger.h"
#include "base/own_status.h"

namespace hbbp {

std::unique_ptr<Backend> MakeTracingBackend() { return std::make_unique<SwbtBackend>(); }

std::unique_ptr<Backend> MakeEbsAndTracingBackend() {
  return std::make_unique<PairBackend>(MakePerfBackend(SourceKind::kEbs), MakeTracingBackend());
}

bool CanTraceBranches(const BackendConfig& config) {
  if (config.pid != 0 || config.include_kernel || TracerPid() != 0) return false;
  const StatusOr<std::vector<TraceTrigger>> triggers = FindTraceTriggers(config);
  return triggers.ok() && triggers->back().IsClock() &&
         ProbeBranchTracing().front().state == CapabilityState::kSupported;
}

}  // namespace hbbp
