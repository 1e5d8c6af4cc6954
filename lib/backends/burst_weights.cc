// Deliver computes the extent of each segment (ComputeExtent), what part of the period a cut burst
// keeps (WholeShare) and what it takes over from the burst before (TakeCarriedPeriod).
#include "backends/burst_weights.h"

#include <algorithm>

namespace hbbp {
namespace {

// libm would do it, which a preload library must not bring along.
uint64_t Rounded(double value) { return static_cast<uint64_t>(2 * value + 1) / 2; }

// Bursts that begin at branches have so many branches, and others so many instructions (as many as
// a thousand branches of most programs), unless each stream has less than two.
constexpr uint32_t kDefaultLookAheadBranches = 1000;
constexpr uint64_t kDefaultInstructions = 6000;
constexpr uint32_t kMaxBranchesOfInstructions = 3072;
constexpr uint32_t kDefaultVerifiedBranches = 256;
constexpr uint32_t kDefaultBreakpointBranches = 16;  // as in the paper

}  // namespace

trace::BurstLimits DefaultBurstLimits(TraceMode mode, BurstExtent extent) {
  trace::BurstLimits limits;
  switch (mode) {
    case TraceMode::kBreakpoint:
      limits.branches = kDefaultBreakpointBranches;
      break;
    case TraceMode::kVerify:
      limits.branches = kDefaultVerifiedBranches;
      break;
    default:
      limits.branches = kDefaultLookAheadBranches;
      if (extent == BurstExtent::kEvents) {
        limits.branches = kMaxBranchesOfInstructions;
        limits.instructions = kDefaultInstructions;
      }
  }
  return limits;
}

void BurstWeights::Begin(BurstExtent extent, const trace::BurstLimits& limits,
                         const std::optional<ProcessorTiming>& processor,
                         const trace::CodeCache* code_cache, uint64_t max_bytes) {
  End();
  extent_ = extent;
  limits_ = limits;
  processor_ = processor;
  code_cache_ = code_cache;
  max_bytes_ = max_bytes == 0 ? BurstTime::kDefaultMaxBytes
                              : std::clamp<uint64_t>(max_bytes, BurstTime::kMinMaxBytes,
                                                     BurstTime::kDefaultMaxBytes);
}

void BurstWeights::End() {
  burst_time_.reset();
  processor_.reset();
  carried_periods_.clear();
  ended_periods_ = 0;
}

void BurstWeights::ResetCode() {
  if (burst_time_ != nullptr) burst_time_->Reset();
}

// Returns nullptr if bursts do not weigh by their time.
BurstTime* BurstWeights::FindBurstTime() {
  if (burst_time_ == nullptr && processor_) {
    burst_time_ = std::make_unique<BurstTime>(code_cache_, *processor_, max_bytes_);
  }
  return burst_time_.get();
}

// Returns what part of a whole burst these segments are, by their streams, of which a burst has one
// less than branches, or by the instructions in them.
double BurstWeights::WholeShare(std::span<const BurstSegment> segments) const {
  uint64_t streams = 0, instructions = 0;
  for (const BurstSegment& segment : segments) {
    if (!segment.branches.empty()) streams += segment.branches.size() - 1;
    instructions += segment.instructions;
  }
  double share = static_cast<double>(streams) / (limits_.branches - 1);
  if (limits_.instructions > 1) {
    const auto all = static_cast<double>(limits_.instructions - 1);
    share = std::max(share, static_cast<double>(instructions) / all);
  }
  return std::min(1.0, share);
}

// Returns the extent of a segment, without cache misses, as if it had so many instructions.
double BurstWeights::ComputeExtent(const BurstSegment& segment, uint64_t instructions,
                                   uint16_t width_ticks) {
  if (segment.branches.size() < 2) return 0;
  if (extent_ == BurstExtent::kStreams) return static_cast<double>(segment.branches.size() - 1);
  BurstTime* const burst_time = FindBurstTime();
  if (burst_time == nullptr) return static_cast<double>(instructions);
  const bool is_of_streams = limits_.instructions == 0;
  return burst_time->StreamsNs(segment.branches, instructions,
                               is_of_streams ? LengthUnit::kStreams : LengthUnit::kInstructions,
                               width_ticks);
}

// Adds the misses of a burst to the extent of so many of its instructions. Those that are counted
// go on to the end of its last stream.
double BurstWeights::WithMisses(double extent, uint64_t instructions,
                                const trace::BurstCost& cost) {
  const BurstTime* const burst_time = FindBurstTime();
  if (burst_time == nullptr) return extent;
  const double share =
      cost.instructions <= instructions ? 1 : static_cast<double>(instructions) / cost.instructions;
  return burst_time->WithMissesNs(extent, cost.memory_use, share);
}

// Returns what a burst of `period` takes over: no more than that of threads that have ended, so
// that none stands out.
double BurstWeights::TakeCarriedPeriod(uint32_t tid, double period) {
  double taken = std::min(ended_periods_, period);
  ended_periods_ -= taken;
  const auto carried = carried_periods_.find(tid);
  if (carried == carried_periods_.end()) return taken;
  taken += carried->second;
  carried_periods_.erase(carried);
  return taken;
}

void BurstWeights::Deliver(const BurstSample& head, double period,
                           std::span<const BurstSegment> segments, const trace::BurstCost& cost,
                           EventSink* sink) {
  // BurstLimits says why it is these, and not those that happen to be in its streams.
  const bool is_exact = cost.has_all_instructions && segments.size() == 1;
  double extent = 0;
  uint64_t instructions = 0;
  size_t parts = 0;  // up to the last one with streams
  for (size_t i = 0; i < segments.size(); ++i) {
    const uint64_t own = is_exact ? limits_.instructions - 1 : segments[i].instructions;
    extent += ComputeExtent(segments[i], own, cost.width_ticks);
    instructions += own;
    if (segments[i].branches.size() >= 2) parts = i + 1;
  }
  if (extent == 0 && cost.has_all_instructions) return;
  period += TakeCarriedPeriod(head.tid, period);
  if (cost.is_cut || extent == 0) {
    const double whole = period;
    period *= extent == 0 ? 0 : WholeShare(segments);
    if (period != whole) carried_periods_[head.tid] = whole - period;
  }
  if (extent == 0) return;
  if (extent_ == BurstExtent::kEvents) extent = WithMisses(extent, instructions, cost);
  for (size_t i = 0; i < parts; ++i) {
    if (segments[i].branches.size() < 2) continue;
    BurstSample burst = head;
    burst.period = Rounded(period);
    burst.extent = extent;
    burst.branches = segments[i].branches;
    burst.accesses = segments[i].accesses;
    burst.stack.is_continued = i + 1 != parts;
    sink->OnBurst(burst);
  }
}

}  // namespace hbbp
