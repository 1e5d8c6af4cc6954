// SamplingGaps finds how much of the time the kernel held the sampling of an event back.
//
// Above the limit of samples a tick it stops the counter until the next tick, and writes a record
// at both ends of the gap. Counts lack what happened in the gaps, as a share of the time from the
// first sample of the counter to its last. A program that slept in between ran less than that, so
// that the share is the least that is missing.
//
//   Samples from 0 to 30 ms, gaps from 5 to 15 ms and from 20 to 30 ms: two thirds are missing.
#ifndef HBBP_LIB_COLLECT_SAMPLING_GAPS_H_
#define HBBP_LIB_COLLECT_SAMPLING_GAPS_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace hbbp {

class SamplingGaps {
 public:
  // `id` is that of the counter, which samples may not have: they have 0 then.
  void AddSample(uint64_t id, uint64_t time_ns);
  void BeginGap(uint64_t id, uint64_t time_ns);
  void EndGap(uint64_t id, uint64_t time_ns);

  // Returns the share of the time that is in gaps; 0 if it is not known.
  double MissingShare() const;

 private:
  struct Counter {
    uint64_t first_ns = UINT64_MAX;
    uint64_t last_ns = 0;
    uint64_t gap_start_ns = 0;  // 0: not in a gap
    uint64_t gaps_ns = 0;
  };

  std::map<uint64_t, Counter> counters_;  // by id
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_SAMPLING_GAPS_H_
