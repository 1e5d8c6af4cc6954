#include "collect/counter_deltas.h"

namespace hbbp {

bool HasCounterDeltas(const perf_event_attr& attr) {
  return (attr.sample_type & PERF_SAMPLE_READ) != 0 && (attr.read_format & PERF_FORMAT_ID) != 0;
}

CounterDeltas::Delta CounterDeltas::Advance(const perf_event_attr& attr, uint32_t tid,
                                            const CounterValues::Value& value) {
  const std::pair counter(value.id, attr.inherit ? tid : 0);
  if (last_.size() >= kMaxCounters && !last_.contains(counter)) return {};
  Delta& last = last_[counter];
  const Delta delta = {value.value > last.events ? value.value - last.events : 0,
                       value.lost > last.lost ? value.lost - last.lost : 0};
  last = {value.value, value.lost};
  return delta;
}

}  // namespace hbbp
