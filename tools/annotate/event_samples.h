// EventSamples has the samples of each event by instruction, but for those of IBS.
#ifndef HBBP_TOOLS_ANNOTATE_EVENT_SAMPLES_H_
#define HBBP_TOOLS_ANNOTATE_EVENT_SAMPLES_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hbbp::tools {

struct EventSamples {
  std::vector<std::string> events;
  // A number for each event, by module and address.
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint64_t>> by_address;
};

// Sources of one event are added up.
EventSamples CollectEventSamples(const hbbp::analysis& analysis);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_EVENT_SAMPLES_H_
