// BranchStackBursts makes bursts of consecutive taken branches from branch stacks of hardware.
#ifndef HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
#define HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_

#include <cstddef>
#include <cstdint>
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

  // Appends the counts that are not 0.
  void AppendTo(Counters* counters) const;
};

inline bool IsSpeculative(const BranchEntry& entry) {
  constexpr uint8_t kWrongPath = 1;  // PERF_BR_SPEC_WRONG_PATH
  return entry.speculation == kWrongPath;
}
inline bool IsAbort(const BranchEntry& entry) { return entry.aborted; }

// Cuts stacks at entries that are not branches which happened, since what follows one did not
// follow the one before it.
class BranchStackBursts {
 public:
  // Calls visit(std::span<const TakenBranch> branches, uint64_t extent, StackPart part) for
  // each part of `stack`, oldest branch first. All parts have the extent of the stack: the streams
  // of all of them, or 0 if there are none. A Stack has size() and entries, newest first, with
  // `from`, `to` and functions IsSpeculative and IsAbort.
  template <typename Stack, typename Visitor>
  void Visit(const Stack& stack, Visitor&& visit) {
    branches_.clear();
    parts_.clear();
    entries_ = 0;
    oldest_is_kept_ = false;
    for (size_t i = stack.size(); i-- > 0;) {
      const auto& entry = stack[i];
      Add({{entry.from}, {entry.to}}, IsSpeculative(entry), IsAbort(entry));
    }
    EndPart();
    // A stack whose oldest entry was left out says nothing of which are the oldest.
    const uint32_t entries = oldest_is_kept_ ? entries_ : 0;
    uint64_t streams = 0;
    for (const Part& part : parts_) streams += part.size() - 1;
    for (const Part& part : parts_) {
      const StackPart stack_part = {.entries = entries,
                                    .has_oldest = entries != 0 && part.first == 0,
                                    .is_continued = part.end != branches_.size()};
      visit(std::span<const TakenBranch>(branches_.data() + part.first, part.size()), streams,
            stack_part);
    }
  }

  const BranchStackLosses& losses() const { return losses_; }

 private:
  struct Part {
    size_t first = 0, end = 0;
    size_t size() const { return end - first; }
  };

  void Add(const TakenBranch& branch, bool is_speculative, bool is_abort);
  uint64_t* FindLoss(const TakenBranch& branch, bool is_speculative, bool is_abort);
  void EndPart();

  std::vector<TakenBranch> branches_;
  std::vector<Part> parts_;  // none is empty
  uint32_t entries_ = 0;     // of the stack, without empty ones
  bool oldest_is_kept_ = false;
  BranchStackLosses losses_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
