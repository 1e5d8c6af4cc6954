#include "backends/auto_backend.h"

#include <string>

namespace hbbp {
namespace {

// Returns whether another source may do what this one cannot.
bool IsRefusal(StatusCode code) {
  return code == StatusCode::kPermission || code == StatusCode::kUnsupported ||
         code == StatusCode::kBusy;
}

}  // namespace

Status AutoBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  std::string refusals = refusals_;
  Status status;
  for (const std::unique_ptr<Backend>& candidate : candidates_) {
    BackendChoice found;
    status = candidate->Start(config, excluded, &found);
    if (!status.ok()) {
      AppendNote(std::string("no ") + candidate->name() + ": " + status.message(), &refusals);
      continue;
    }
    chosen_ = candidate.get();
    AppendNote(refusals, &found.sources.front().note);
    *choice = std::move(found);
    return status;
  }
  if (!IsRefusal(status.code())) return status;
  const char* const alternative = find_alternative_(config, excluded);
  if (alternative == nullptr) return status;
  return Status(status.code(), status.message() + "; the source " + alternative + " works here");
}

}  // namespace hbbp
