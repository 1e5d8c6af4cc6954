#include "ibs_events.h"

namespace hbbp::tools {

std::string OwnIbsEventName(const std::string& name) {
  for (const auto& [amd, own] : kAmdIbsEvents) {
    if (name == amd) return own;
  }
  return name;
}

}  // namespace hbbp::tools
