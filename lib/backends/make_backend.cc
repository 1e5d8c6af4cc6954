#include <string>
#include <utility>
#include <vector>

#include "backends/attach_choice.h"
#include "backends/auto_backend.h"
#include "backends/backend.h"
#include "backends/perf_backend.h"
#include "backends/perf_backend_choice.h"
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

using Candidates = std::vector<std::unique_ptr<Backend>>;

void AddPerfBackend(SourceKind kind, Candidates* candidates) {
  candidates->push_back(MakePerfBackend(kind));
}

// Adds a backend that traces branches of process `pid`, or of the calling one (0), but not there
// under a debugger, which would stop the process at each sample, because that is a SIGTRAP. gdb
// starts programs by a shell, and counts SIGTRAPs to find out when the program has begun. Returns
// why none was added.
std::string AddTracingBackend(pid_t pid, Candidates* candidates) {
  const pid_t tracer = pid == 0 ? TracerPid() : 0;
  if (tracer != 0) {
    return "no SWBT: process " + std::to_string(tracer) +
           " traces this one (ptrace), and would be notified of each sample as a SIGTRAP; ask for "
           "the source swbt to trace branches all the same";
  }
  if (auto tracing = MakeTracingBackend()) candidates->push_back(std::move(tracing));
  return "";
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(SourceKind kind, pid_t pid) {
  Candidates candidates;
  std::string refusals;
  AutoBackend::FindAlternative find_alternative = &FindSwbtOrEbs;
  switch (kind) {
    case SourceKind::kEbs:
      find_alternative = &FindSwbt;
      [[fallthrough]];
    case SourceKind::kLbr:
    case SourceKind::kIbs:
      AddPerfBackend(kind, &candidates);
      break;
    case SourceKind::kSwbt:
      find_alternative = &FindEbs;
      candidates.push_back(pid != 0 ? MakeAttachBackend() : MakeTracingBackend());
      break;
    case SourceKind::kEbsAndSwbt:
      candidates.push_back(pid != 0 ? MakeEbsAndAttachBackend() : MakeEbsAndTracingBackend());
      break;
    case SourceKind::kPerf:
    case SourceKind::kAuto: {
      // Those for users who did not choose one.
      const bool may_trace = kind == SourceKind::kAuto;
      find_alternative = may_trace ? &FindNone : &FindSwbt;
      AddPerfBackend(SourceKind::kLbr, &candidates);
      if (may_trace) refusals = AddTracingBackend(pid, &candidates);
      AddPerfBackend(SourceKind::kEbs, &candidates);
      break;
    }
    default:
      return nullptr;
  }
  if (candidates.front() == nullptr) return nullptr;  // it is not in this program
  return std::make_unique<AutoBackend>(std::move(candidates), std::move(refusals),
                                       find_alternative);
}

}  // namespace hbbp
