// BranchStackBursts makes bursts of consecutive taken branches from branch stacks of hardware, and
// finds their extent (profile/stream_sums.h has the rule of weights and what it assumes).
//
// The entries of some processors have the core cycles since the branch before. Where core cycles
// are what the stack was sampled by, its extent is the cycles of its streams. A stream ends at the
// branch of an entry, so that entry has its cycles; those of the oldest entry of a part belong to a
// stream that is not there. In all other cases the extent is the number of streams.
//
// Cycles may be missing: 0 is what an entry without them has, and 65535 is where the counter stops,
// which is time in the kernel or of another thread. These streams are taken to be as long as the
// others of the stack:
//
//   extent = streams * cycles of those that have them / streams that have them
//
//   Five branches with 90, 10, 0, 30 and 20 cycles, oldest first: the 90 are of no stream, the
//   third branch has none, and the extent is 4 * (10 + 30 + 20) / 3 = 80.
//
// A stack that has cycles for fewer than half of its streams is counted, and each of its streams is
// taken to have the mean of all earlier ones. Both are right on average if streams lack cycles
// regardless of how long they are. A profile cannot have cycles as the extent of some bursts of a
// source and streams as that of others, so the first stack with a stream decides for all.
#ifndef HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
#define HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "events/samples.h"
#include "perf/branch_stack.h"

namespace hbbp {

// Counts the entries of branch stacks that were left out, by reason.
struct BranchStackLosses {
  uint64_t empty = 0;        // 0 to 0: the stack was not full, or an entry was filtered
  uint64_t speculative = 0;  // on a path that was not taken after all
  uint64_t half_empty = 0;   // no source or no target
  uint64_t aborts = 0;  // of transactions: not by a branch, and what came before did not happen
  // These streams would begin in user code and end in the kernel or the other way round: the branch
  // in between is missing.
  uint64_t crossing_streams = 0;
  // Whole stacks, which are kept: most of their streams lack cycles, and got the mean; they have
  // cycles, but the first one did not.
  uint64_t stacks_without_cycles = 0;
  uint64_t stacks_of_unused_cycles = 0;

  // Appends the counts that are not 0.
  void AppendTo(Counters* counters) const;
};

inline bool IsSpeculative(const BranchEntry& entry) {
  constexpr uint8_t kWrongPath = 1;  // PERF_BR_SPEC_WRONG_PATH
  return entry.speculation == kWrongPath;
}
inline bool IsAbort(const BranchEntry& entry) { return entry.aborted; }
inline uint16_t CyclesOf(const BranchEntry& entry) { return entry.cycles; }

// Cuts stacks at entries that are not branches which happened, since what follows one did not
// follow the one before it.
class BranchStackBursts {
 public:
  // `event` is what the stacks are sampled by.
  explicit BranchStackBursts(EventKind event = EventKind::kOther)
      : is_by_cycles_(event == EventKind::kCycles) {}

  // Counts losses anew. Stacks of the same event go on with the same unit, since another run adds
  // to the same source.
  void BeginRun(EventKind event) {
    const bool is_by_cycles = event == EventKind::kCycles;
    if (is_by_cycles_ != is_by_cycles) {
      is_by_cycles_ = is_by_cycles;
      extent_unit_.reset();
      earlier_cycles_ = {};
    }
    losses_ = {};
  }

  // Calls visit(std::span<const TakenBranch> branches, uint64_t extent, StackPart part) for
  // each part of `stack`, oldest branch first. All parts have the extent of the stack, so that its
  // streams have the period together: the sum over all parts, or 0 if there are no streams. A Stack
  // has size() and entries, newest first, with `from`, `to` and functions IsSpeculative, IsAbort
  // and CyclesOf.
  template <typename Stack, typename Visitor>
  void Visit(const Stack& stack, Visitor&& visit) {
    branches_.clear();
    cycles_.clear();
    parts_.clear();
    entries_ = 0;
    oldest_is_kept_ = false;
    for (size_t i = stack.size(); i-- > 0;) {
      const auto& entry = stack[i];
      Add({{entry.from}, {entry.to}}, CyclesOf(entry), IsSpeculative(entry), IsAbort(entry));
    }
    EndPart();
    // A stack whose oldest entry was left out says nothing of which are the oldest.
    const uint32_t entries = oldest_is_kept_ ? entries_ : 0;
    const uint64_t extent = FindExtent();
    for (const Part& part : parts_) {
      const StackPart stack_part = {.entries = entries,
                                    .has_oldest = entries != 0 && part.first == 0,
                                    .is_continued = part.end != branches_.size()};
      visit(std::span<const TakenBranch>(branches_.data() + part.first, part.size()), extent,
            stack_part);
    }
  }

  const BranchStackLosses& losses() const { return losses_; }
  // Returns what extents count; of no use before the first stack with a stream.
  BurstExtent extent_unit() const { return extent_unit_.value_or(BurstExtent::kStreams); }

 private:
  struct Part {
    size_t first = 0, end = 0;
    size_t size() const { return end - first; }
  };

  // Sums over streams.
  struct Cycles {
    uint64_t streams = 0;  // that have cycles
    uint64_t sum = 0;
    // Returns the cycles of so many streams like these. Precondition: streams != 0.
    uint64_t Of(uint64_t number) const;
  };

  void Add(const TakenBranch& branch, uint16_t cycles, bool is_speculative, bool is_abort);
  uint64_t* FindLoss(const TakenBranch& branch, bool is_speculative, bool is_abort);
  void EndPart();
  uint64_t FindExtent();

  bool is_by_cycles_;
  std::optional<BurstExtent> extent_unit_;
  Cycles earlier_cycles_;
  std::vector<TakenBranch> branches_;
  std::vector<uint16_t> cycles_;  // by branch
  std::vector<Part> parts_;       // none is empty
  uint32_t entries_ = 0;          // of the stack, without empty ones
  bool oldest_is_kept_ = false;
  BranchStackLosses losses_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
