#include "backends/auto_backend.h"

#include <string>

namespace hbbp {

Status AutoBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  std::string refusals;
  Status status;
  for (const std::unique_ptr<Backend>& candidate : candidates_) {
    BackendChoice found;
    status = candidate->Start(config, excluded, &found);
    if (!status.ok()) {
      if (!refusals.empty()) refusals += "; ";
      refusals += std::string("no ") + candidate->name() + ": " + status.message();
      continue;
    }
    chosen_ = candidate.get();
    std::string& note = found.sources.front().note;
    if (!note.empty() && !refusals.empty()) note += "; ";
    note += refusals;
    *choice = std::move(found);
    return status;
  }
  return status;
}

}  // namespace hbbp
