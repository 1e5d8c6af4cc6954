// CounterDeltas finds the periods of samples that have the values of counters (PERF_SAMPLE_READ).
//
// perf record -e '{cycles,instructions}:S' samples the first event alone. Each sample has the
// values of all counters of the group, and stands, as in perf, for what each has counted since the
// sample before:
//
//   cycles 1000, instructions 800: a sample of 1000 cycles, and one of 800 instructions
//   cycles 2500, instructions 800: a sample of 1500 cycles
#ifndef HBBP_LIB_COLLECT_COUNTER_DELTAS_H_
#define HBBP_LIB_COLLECT_COUNTER_DELTAS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "perf/sample_record.h"
#include "perf_data/perf_data_event.h"

namespace hbbp {

// Returns whether samples of the event have values, and the ids of their counters.
bool HasCounterDeltas(const perf_event_attr& attr);

class CounterDeltas {
 public:
  struct Delta {
    uint64_t events = 0;
    uint64_t lost = 0;  // samples, if the event has PERF_FORMAT_LOST
  };

  // Returns how much more the counter has than at its last call; each thread has a counter of its
  // own if the event is inherited. A value that is smaller, or of more counters than any recording
  // has, gives 0.
  Delta Advance(const perf_event_attr& attr, uint32_t tid, const CounterValues::Value& value);

 private:
  static constexpr size_t kMaxCounters = 1 << 20;

  std::map<std::pair<uint64_t, uint32_t>, Delta> last_;  // by id and thread
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_COUNTER_DELTAS_H_
