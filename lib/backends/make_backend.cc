#include <string>
#include <utility>
#include <vector>

#include "backends/auto_backend.h"
#include "backends/backend.h"
#include "backends/pair_backend.h"
#include "backends/perf_backend.h"
#include "backends/tracing_backend.h"
#include "base/own_status.h"

namespace hbbp {
namespace {

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
  return std::make_unique<AutoBackend>(std::move(candidates), std::move(refusals));
}

std::unique_ptr<Backend> MakePerfBackend() {
  std::vector<std::unique_ptr<Backend>> candidates;
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kLbr));
  candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kEbs));
  return std::make_unique<AutoBackend>(std::move(candidates), "");
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(SourceKind kind) {
  switch (kind) {
    case SourceKind::kEbs:
    case SourceKind::kLbr:
    case SourceKind::kIbs:
      return std::make_unique<PerfBackend>(kind);
    case SourceKind::kSwbt:
      return MakeTracingBackend();
    case SourceKind::kEbsAndSwbt:
      if (auto tracing = MakeTracingBackend()) {
        return std::make_unique<PairBackend>(std::make_unique<PerfBackend>(SourceKind::kEbs),
                                             std::move(tracing));
      }
      return nullptr;
    case SourceKind::kNone:
      return MakePerfBackend();
    case SourceKind::kAuto:
      return MakeAutoBackend();
    default:
      return nullptr;
  }
}

}  // namespace hbbp
