// BurstProbe replays the whole bursts of profiles (profile/kept_bursts.h) through a
// ProductionEngine, so that productions estimate what a whole run executed. Of several profiles,
// such as snapshots of one session, it adds up what is recorded.
//
// The sample began each burst: sample_flag is set and the counters are 0 before its first
// instruction. The framework ends it after burst_length boundaries, unless the recorded burst ends
// before. A profile weighs each stream of a burst by w (profile/stream_sums.h), and so does a
// record:
//
//   of a production that fires without sample_flag too     w
//   of the others                                          w * I / F
//
// where I is the number of instructions of the burst and F that of those with sample_flag. As far
// as a production sees a part of the burst only, that part stands for all of it.
//
//   A burst of weight 1000 has 300 instructions, and resets after 100. A call pair in these counts
//   1000 * 300 / 100 = 3000.
//
// It assumes that the instructions up to the reset are as those of the whole burst, which they need
// not be, as it is boundaries that end them and not instructions: they last longer where boundaries
// are rare. The sum of all instructions is right in any case, what productions count only if code
// changes seldom in comparison with bursts:
//
//   for (;;) { for (int i = 0; i < 500; ++i) Nop(); Straight400(); Straight400(); Straight400(); }
//
// All of it is inlined, the loop has 2 instructions, and bursts begin everywhere. Those in the loop
// see 202 instructions of it with burst_length 100, those in the rest up to six times as many, and
// the start of the loop: the rest, 54.5 % of all instructions, is estimated at 44.6 %; with
// burst_length 10 at 51.4 %. With 50,000 iterations and 300 of the blocks, it is estimated at
// 54.1 %.
//
// What code the streams do not explain is left out. Productions go on behind it with the state of
// the burst, but do not know what was before (ThreadHistory).
#ifndef HBBP_LIB_PROBES_BURST_PROBE_H_
#define HBBP_LIB_PROBES_BURST_PROBE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/status.h"
#include "base/work.h"
#include "probes/burst_code.h"
#include "probes/production_engine.h"
#include "profile/kept_burst_reader.h"
#include "profile/kept_bursts.h"

namespace hbbp {

struct BurstProbeTotals {
  uint64_t bursts = 0;  // that were replayed
  uint64_t instructions = 0;
  uint64_t streams = 0;        // including those with faults
  uint64_t faults = 0;         // streams that were skipped
  uint64_t without_code = 0;   // those of them whose code is missing
  uint64_t other_sources = 0;  // bursts of sources by which blocks are not counted
  uint64_t not_kept = 0;       // bursts for which the last profile had no room
};

// What began bursts.
struct BurstSource {
  std::string event;
  uint64_t period = 0;
  uint64_t frequency_hz = 0;  // 0: by period
  uint64_t bursts = 0;        // that were replayed
  // Estimates are numbers of executions; else they are proportional to these.
  bool counts_executions = false;
};

// What an action `call` has of an execution in a burst.
struct BurstCall {
  const ProbeCall& call;
  uint64_t burst = 0;   // its number in the profile
  uint32_t thread = 0;  // in the profile
  uint64_t time_ns = 0;
  double weight = 0;  // of each stream of the burst
};

// Returns whether it stops the burst, as the step stop_burst does.
using BurstHandler = std::function<bool(const BurstCall& call)>;

class BurstProbe {
 public:
  // The set must outlive this object. `handler` replaces that of the options; `after_burst` is
  // called when a burst was replayed.
  BurstProbe(const ProductionSet* set, const ProductionEngineOptions& options,
             BurstHandler handler = nullptr, std::function<void()> after_burst = nullptr);
  BurstProbe(const BurstProbe&) = delete;
  BurstProbe& operator=(const BurstProbe&) = delete;

  // Replays the bursts of a profile from number `first` on. Errors: kNotFound (the profile has no
  // bursts that count), kUnsupported (the productions use what bursts do not have), kBadFormat
  // (bursts are damaged), kInvalidArgument (there are fewer bursts than `first`), kCancelled
  // between two bursts.
  Status Run(const Analysis& analysis, uint64_t first = 0, const Work& work = {});
  // Returns the number of the first burst that the last Run did not take.
  uint64_t next() const { return next_; }

  const ProductionSet& set() const { return set_; }
  const BurstCode& code() const { return code_; }
  const ProductionEngine& engine() const { return engine_; }
  const BurstProbeTotals& totals() const { return totals_; }
  const std::vector<BurstSource>& sources() const { return sources_; }

 private:
  class Replay;
  // The burst that is being replayed, for calls.
  struct Current {
    uint32_t thread = 0;
    uint64_t time_ns = 0;
    double weight = 0;
  };

  ProductionEngineOptions WithHandler(ProductionEngineOptions options);
  Status CheckKeys(const KeptBursts& bursts) const;
  Status ReplayAll(const KeptBursts& bursts, const Analysis& analysis, uint64_t first,
                   const Work& work);
  Status NothingToReplay(const KeptBursts& bursts, uint64_t others) const;
  void CountBurst(const SourceRecord& record);

  const ProductionSet& set_;
  const BurstHandler handler_;
  const std::function<void()> after_burst_;
  BurstCode code_;
  ProductionEngine engine_;
  BurstProbeTotals totals_;
  std::vector<BurstSource> sources_;
  Current current_;
  uint64_t next_ = 0;
};

// Analyses a profile and replays its bursts. Errors are those of LoadProfile and Analyze as well.
StatusOr<std::unique_ptr<BurstProbe>> ProbeBursts(const std::string& profile,
                                                  const ProductionSet* set,
                                                  const ProductionEngineOptions& options);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BURST_PROBE_H_
