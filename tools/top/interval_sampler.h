// IntervalSampler observes a process, one interval of time after the other.
//
// A session counts by slices of time as wide as an interval, so that an interval is a slice of a
// snapshot. What was counted before stays in the session; after some slices, or when it has grown,
// the session is replaced by a new one, so that snapshots stay cheap and memory bounded, however
// long a process is observed. Nothing is counted during the milliseconds that this takes. Rejected:
// a new session for each interval, which would lose so much of each, and with branch tracing the
// decoded code as well.
#ifndef HBBP_TOOLS_TOP_INTERVAL_SAMPLER_H_
#define HBBP_TOOLS_TOP_INTERVAL_SAMPLER_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <optional>
#include <vector>

#include "profile_view.h"

namespace hbbp::tools {

struct Interval {
  uint64_t duration_ns = 0;
  uint64_t skipped = 0;                  // intervals before it that were not taken
  hbbp::profile recorded;                // has the texts of `sources`
  std::vector<SourceView> sources;       // what they counted and lost in the interval
  std::optional<hbbp::profile> profile;  // of the interval alone; nothing if it has no samples
};

// The functions throw hbbp::error.
class IntervalSampler {
 public:
  // `options` may have pointers, which must stay valid.
  IntervalSampler(const hbbp_session_options& options, uint64_t interval_ns);

  void Start();
  // Stops and forgets what was not taken. Start() begins anew.
  void Stop() { session_.reset(); }
  bool is_running() const { return session_.has_value(); }

  // Returns how long the current interval lasts on; 0 if it is over.
  uint64_t NsToEnd();
  // Returns the last interval that is over. At least one must be that was not taken.
  Interval Take();
  // Begins a new session if this one has become large. To be called after Take(), when nothing is
  // lost with the old one. If it fails, it does not run any longer.
  void RenewIfLarge();
  // Stops, and returns the last interval that has samples, if it was not taken, or the incomplete
  // one.
  Interval TakeLast();

 private:
  // What a source had lost when an interval was taken.
  struct Losses {
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t unmapped = 0;
  };

  void Begin();
  // Returns what was counted in a slice, or in a wider one if the session had to widen them.
  Interval Cut(hbbp::profile whole, uint64_t slice);

  hbbp_session_options options_;
  const uint64_t interval_ns_;
  std::optional<hbbp::session> session_;
  uint64_t next_ = 0;  // index of the first slice that was not taken
  bool has_wider_slices_ = false;
  uint64_t first_bytes_ = 0;    // of the session when it began
  std::vector<Losses> losses_;  // by source, up to the last interval
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_INTERVAL_SAMPLER_H_
