#include <string>
#include <utility>
#include <vector>

#include "backends/auto_backend.h"
#include "backends/backend.h"
#include "backends/perf_backend.h"
#include "backends/tracing_backend.h"
#include "base/own_status.h"

namespace hbbp {
namespace {

const char* FindNone(const BackendConfig&, pid_t) { return nullptr; }

const char* FindSwbt(const BackendConfig& config, pid_t) {
  return CanTraceBranches(config) ? "swbt" : nullptr;
}

// Opens and closes the events.
const char* FindEbs(const BackendConfig& config, pid_t excluded) {
  PerfBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  if (!backend.Start(config, excluded, &choice).ok()) return nullptr;
  backend.Disable();
  backend.Close();
  return "ebs";
}

const char* FindSwbtOrEbs(const BackendConfig& config, pid_t excluded) {
  const char* const found = FindSwbt(config, excluded);
  return found != nullptr ? found : FindEbs(config, excluded);
}

std::unique_ptr<Backend> MakeWithAlternative(std::unique_ptr<Backend> backend,
                                             AutoBackend::FindAlternative find_alternative) {
  if (backend == nullptr) return nullptr;
  std::vector<std::unique_ptr<Backend>> candidates;
  candidates.push_back(std::move(backend));
  return std::make_unique<AutoBackend>(std::move(candidates), "", find_alternative);
}

// Makes the backend for users who did not choose one. It does not trace branches under a debugger,
// which would stop the process at each sample, because that is a SIGTRAP. gdb starts programs by a
// shell, and counts SIGTRAPs to find out when the program has begun.
std::unique_ptr<Backend> MakeAutoBackend() {
  std::vector<std::unique_ptr<Backend>> candidates;
  std::string refusals;
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kLbr));
  if (const pid_t tracer = TracerPid()) {
    refusals =
        "no SWBT: process " + std::to_string(tracer) +
        " traces this one (ptrace), and would be notified of each sample as a SIGTRAP; ask for "
        "the source swbt to trace branches all the same";
  } else if (auto tracing = MakeTracingBackend()) {
    candidates.push_back(std::move(tracing));
  }
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kEbs));
  return std::make_unique<AutoBackend>(std::move(candidates), std::move(refusals), &FindNone);
}

std::unique_ptr<Backend> MakePerfBackend() {
  std::vector<std::unique_ptr<Backend>> candidates;
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kLbr));
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kEbs));
  return std::make_unique<AutoBackend>(std::move(candidates), "", &FindSwbt);
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(SourceKind kind) {
  switch (kind) {
    case SourceKind::kEbs:
      return MakeWithAlternative(std::make_unique<PerfBackend>(kind), &FindSwbt);
    case SourceKind::kLbr:
    case SourceKind::kIbs:
      return MakeWithAlternative(std::make_unique<PerfBackend>(kind), &FindSwbtOrEbs);
    case SourceKind::kSwbt:
      return MakeWithAlternative(MakeTracingBackend(), &FindEbs);
    case SourceKind::kEbsAndSwbt:
      return MakeWithAlternative(MakeEbsAndTracingBackend(), &FindSwbtOrEbs);
    case SourceKind::kPerf:
      return MakePerfBackend();
    case SourceKind::kAuto:
      return MakeAutoBackend();
    default:
      return nullptr;
  }
}

}  // namespace hbbp
