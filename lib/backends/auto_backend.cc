#include "backends/auto_backend.h"

#include <string>

namespace hbbp {

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
  return status;
}

}  // namespace hbbp
