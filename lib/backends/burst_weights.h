// BurstWeights decides what the bursts of software branch tracing stand for: the period and the
// extent of each of their segments (docs/internals/method.md, "The rule").
//
// A burst that was cut weighs what it would weigh if it were whole: every start that reaches the
// code before the cut covers it, however near. What is left of its period is carried over to the
// next burst of the thread, which stands for the code behind the cut; if the thread ends, to the
// bursts of others.
#ifndef HBBP_LIB_BACKENDS_BURST_WEIGHTS_H_
#define HBBP_LIB_BACKENDS_BURST_WEIGHTS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/burst_time.h"
#include "backends/processor_timing.h"
#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "events/event_sink.h"
#include "events/samples.h"
#include "trace/burst_buffer.h"
#include "trace/burst_recorder.h"

namespace hbbp {

// BurstSegment is the part of a burst between two gaps.
struct BurstSegment {
  std::span<const TakenBranch> branches;
  std::span<const RecordedAccess> accesses;
  uint64_t instructions = 0;  // in its streams
};

// Returns how long bursts are if no other length is asked for.
trace::BurstLimits DefaultBurstLimits(TraceMode mode, BurstExtent extent);

class BurstWeights {
 public:
  // Bursts are full at `limits`, and weigh by `extent`. With `processor` they weigh by their time,
  // for which blocks are found in `code_cache`; that may take `max_bytes` of memory, or the default
  // if it is 0.
  void Begin(BurstExtent extent, const trace::BurstLimits& limits,
             const std::optional<ProcessorTiming>& processor, const trace::CodeCache* code_cache,
             uint64_t max_bytes);
  void End();

  // Delivers a burst for each segment, which together have the period of a burst without gaps.
  // `head` has the thread, the time and the source; `period` is what the sample stands for. Nothing
  // is delivered of a burst that is whole and has no stream: it represents its period, by nothing.
  void Deliver(const BurstSample& head, double period, std::span<const BurstSegment> segments,
               const trace::BurstCost& cost, EventSink* sink);

  // Call it when the code cache is flushed.
  void ResetCode();

  // Threads whose last burst was cut.
  size_t threads() const { return carried_periods_.size(); }
  template <typename HasEnded>
  void DropThreads(HasEnded has_ended) {
    std::erase_if(carried_periods_, [this, &has_ended](const auto& carried) {
      if (!has_ended(static_cast<pid_t>(carried.first))) return false;
      ended_periods_ += carried.second;
      return true;
    });
  }

  // Returns the memory that it may take.
  uint64_t MaxBytes() const { return processor_ ? max_bytes_ : 0; }

 private:
  BurstTime* FindBurstTime();
  double WholeShare(std::span<const BurstSegment> segments) const;
  double ComputeExtent(const BurstSegment& segment, uint64_t instructions, uint16_t width_ticks);
  double WithMisses(double extent, uint64_t instructions, const trace::BurstCost& cost);
  double TakeCarriedPeriod(uint32_t tid, double period);

  BurstExtent extent_ = BurstExtent::kStreams;
  trace::BurstLimits limits_;  // of a burst that is not cut
  std::optional<ProcessorTiming> processor_;
  const trace::CodeCache* code_cache_ = nullptr;
  uint64_t max_bytes_ = 0;
  std::unique_ptr<BurstTime> burst_time_;       // made for the first burst, as it is large
  std::map<uint32_t, double> carried_periods_;  // by thread, of its last burst
  double ended_periods_ = 0;                    // carried by threads that have ended
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BURST_WEIGHTS_H_
