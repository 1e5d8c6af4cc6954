#include "collect/counter_deltas.h"

namespace hbbp {

bool HasCounterDeltas(const perf_event_attr& attr) {
  return (attr.sample_type & PERF_SAMPLE_READ) != 0 && (attr.read_format & PERF_FORMAT_ID) != 0;
}

uint64_t CounterDeltas::Advance(const perf_event_attr& attr, uint64_t id, uint32_t tid,
                                uint64_t value) {
  const std::pair counter(id, attr.inherit ? tid : 0);
  if (values_.size() >= kMaxCounters && !values_.contains(counter)) return 0;
  uint64_t& last = values_[counter];
  const uint64_t delta = value > last ? value - last : 0;
  last = value;
  return delta;
}

}  // namespace hbbp
