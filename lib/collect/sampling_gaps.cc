#include "collect/sampling_gaps.h"

namespace hbbp {

void SamplingGaps::AddSample(uint64_t id, uint64_t time_ns) {
  if (time_ns == 0) return;
  Counter& counter = counters_[id];
  counter.first_ns = std::min(counter.first_ns, time_ns);
  counter.last_ns = std::max(counter.last_ns, time_ns);
}

void SamplingGaps::BeginGap(uint64_t id, uint64_t time_ns) { counters_[id].gap_start_ns = time_ns; }

void SamplingGaps::EndGap(uint64_t id, uint64_t time_ns) {
  Counter& counter = counters_[id];
  if (counter.gap_start_ns == 0 || time_ns < counter.gap_start_ns) return;
  counter.gaps_ns += time_ns - counter.gap_start_ns;
  counter.gap_start_ns = 0;
  // The gap belongs to the time of the samples, even if none comes behind it.
  counter.last_ns = std::max(counter.last_ns, time_ns);
}

double SamplingGaps::MissingShare() const {
  const auto without_id = counters_.find(0);
  const bool has_ids = without_id == counters_.end();
  // Without ids the gaps of several counters cannot be distinguished by the samples.
  if (!has_ids && counters_.size() > 2) return 0;
  uint64_t gaps_ns = 0, span_ns = 0;
  for (const auto& [id, counter] : counters_) {
    const Counter& sampled = has_ids ? counter : without_id->second;
    if (sampled.first_ns > sampled.last_ns || (!has_ids && id == 0)) continue;
    gaps_ns += counter.gaps_ns;
    span_ns += std::max(sampled.last_ns, counter.last_ns) - sampled.first_ns;
  }
  if (span_ns == 0) return 0;
  return std::min(1.0, static_cast<double>(gaps_ns) / static_cast<double>(span_ns));
}

}  // namespace hbbp
