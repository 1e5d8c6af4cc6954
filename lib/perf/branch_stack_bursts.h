// Branch stacks of hardware, as bursts of consecutive taken branches.
#ifndef HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
#define HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/branch_stack.h"
#include "perf/perf_script_line.h"
#include "samples/samples.h"

namespace hbbp {

// Why entries of branch stacks were left out.
struct BranchStackLosses {
  uint64_t empty = 0;        // 0 to 0: the stack was not full, or an entry was filtered
  uint64_t speculative = 0;  // on a path that was not taken after all
};

inline bool IsSpeculative(const BranchEntry& entry) {
  constexpr uint8_t kWrongPath = 1;  // PERF_BR_SPEC_WRONG_PATH
  return entry.speculation == kWrongPath;
}
inline bool IsSpeculative(const BranchWord& entry) { return entry.is_speculative; }

// Cuts stacks at entries that are no branches which happened, since what follows one did not follow
// the one before it.
class BranchStackBursts {
 public:
  // Calls visit(std::span<const TakenBranchSample> branches, double weight) for each part of
  // `stack`, oldest branch first. All streams of all parts have the weight period / streams. A
  // Stack has size() and entries, newest first, with `from`, `to` and a function IsSpeculative.
  template <typename Stack, typename Visitor>
  void Visit(const Stack& stack, uint64_t period, Visitor&& visit) {
    branches_.clear();
    parts_.clear();
    for (size_t i = stack.size(); i-- > 0;) {
      const auto& entry = stack[i];
      Add({{entry.from}, {entry.to}}, IsSpeculative(entry));
    }
    EndPart();
    size_t streams = 0;
    for (const Part& part : parts_) streams += part.size() - 1;
    const double weight =
        streams == 0 ? 0 : static_cast<double>(period) / static_cast<double>(streams);
    for (const Part& part : parts_) {
      visit(std::span<const TakenBranchSample>(branches_.data() + part.first, part.size()), weight);
    }
  }

  const BranchStackLosses& losses() const { return losses_; }

 private:
  struct Part {
    size_t first = 0, end = 0;
    size_t size() const { return end - first; }
  };

  void Add(const TakenBranchSample& branch, bool is_speculative);
  void EndPart();

  std::vector<TakenBranchSample> branches_;
  std::vector<Part> parts_;  // none is empty
  BranchStackLosses losses_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_BRANCH_STACK_BURSTS_H_
