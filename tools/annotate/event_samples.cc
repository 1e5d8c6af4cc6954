#include "annotate/event_samples.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "profile_view.h"

namespace hbbp::tools {

EventSamples CollectEventSamples(const hbbp::analysis& analysis) {
  EventSamples samples;
  std::vector<std::string>& events = samples.events;
  const std::vector<SourceView> sources = Sources(analysis);
  std::vector<std::optional<size_t>> columns(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].kind != HBBP_SOURCE_EBS || sources[i].samples == 0) continue;
    const std::string event = EventNameOf(sources[i]);
    const auto known = std::find(events.begin(), events.end(), event);
    columns[i] = static_cast<size_t>(known - events.begin());
    if (known == events.end()) events.push_back(event);
  }
  for (const hbbp_ip_sum& sum : analysis.ip_sums()) {
    if (!columns[sum.source]) continue;
    std::vector<uint64_t>& numbers = samples.by_address[{sum.module, sum.address}];
    numbers.resize(events.size());
    numbers[*columns[sum.source]] += sum.samples;
  }
  return samples;
}

}  // namespace hbbp::tools
