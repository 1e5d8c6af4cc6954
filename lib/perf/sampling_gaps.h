// SamplingGaps makes up for samples that are missing: for the time in which the kernel held the
// sampling of an event back, and for samples that were lost.
//
// Above the limit of samples a tick it stops the counter until the next tick, and writes a record
// at both ends of the gap. What happened in the gap is taken for as dense as in the samples since
// the gap before, of the last 10 ms at most, and is spread over the samples that come next, in
// proportion to their periods:
//
//   Each ms a sample of 100 from 0 to 5 ms, and a gap from 5 to 15 ms: 500 in 5 ms are 1000 in the
//   gap. The next five samples stand for 300 each, which makes up for it.
//
// A sample that comes much later behind a gap than its period takes is of a thread that did not run
// meanwhile, which does not make it less dense: on a busy machine each gap may be followed by that.
//
// No tick is longer than 10 ms, so that a program slept for the rest of a longer gap. What is
// missing before the first sample, or behind the last one, is not known.
//
// Samples are lost when a buffer is full, and are taken for ones like those that come next: these
// weigh more, twice their periods at least, and so much that about as many make up for the loss as
// there were since the loss before.
#ifndef HBBP_LIB_PERF_SAMPLING_GAPS_H_
#define HBBP_LIB_PERF_SAMPLING_GAPS_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace hbbp {

class SamplingGaps {
 public:
  // Returns what a sample of the counter stands for, whose own period is `period`.
  uint64_t AddSample(uint64_t counter, uint64_t time_ns, uint64_t period);
  void BeginGap(uint64_t counter, uint64_t time_ns);
  void EndGap(uint64_t counter, uint64_t time_ns);
  // So many samples of the event were lost, of any counters.
  void AddLost(uint64_t samples);
  // Drops what is known of counters; what was lost stays.
  void Restart() { counters_.clear(); }

  // Returns the share of the time of all counters that is in gaps; 0 if it is not known.
  double MissingShare() const;
  // Returns by what factor the samples count for more than their own periods.
  double Factor() const;

 private:
  // More than any recording has. What there is of others is not corrected.
  static constexpr size_t kMaxCounters = 1 << 18;

  struct Counter {
    uint64_t first_ns = 0;  // 0: no sample yet
    uint64_t last_ns = 0;
    uint64_t gap_start_ns = 0;  // 0: not in a gap
    uint64_t gaps_ns = 0;
    uint64_t recent_start_ns = 0;  // of the samples by which a gap is judged
    double recent_periods = 0;
    uint64_t late_since_ns = 0;     // a late sample is of the time from here
    double late_period = 0;         // 0: there is none since the last gap
    double density = 0;             // by ns, of the samples that the last gap was judged by
    double missing = 0;             // what the next samples make up for
    double missing_per_period = 0;  // of theirs
  };

  // Returns null for one counter too many.
  Counter* Find(uint64_t counter);
  // These return by how much a sample weighs more, `room` at most: for gaps, and for lost samples.
  double TakeMissing(Counter* counter, uint64_t time_ns, double period, double room);
  double TakeLost(double period, double room);

  std::map<uint64_t, Counter> counters_;
  uint64_t samples_ = 0;
  double lost_ = 0;             // periods that the next samples make up for
  double lost_per_period_ = 1;  // of theirs
  double periods_since_loss_ = 0;
  // The same of the loss before: losses without a sample between them are one.
  double periods_before_loss_ = 0;
  double rest_ = 0;  // less than 1, left by rounding
  double own_periods_ = 0;
  double added_periods_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_SAMPLING_GAPS_H_
