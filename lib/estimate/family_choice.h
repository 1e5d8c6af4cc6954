// Chooses the family of sources that counts the blocks of a module that several families observed.
//
// Counts of different families are never added, because each is an estimate of the same number. A
// module that only one family observed is counted by it, as EBS counts the kernel where branches
// are not traced. Sources of one family, as in merged profiles, do add up.
#ifndef HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_
#define HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_

#include <cstdint>
#include <string>

#include "estimate/decision_tree.h"
#include "events/samples.h"

namespace hbbp {

// The values are those of hbbp_estimator; capi/ asserts it.
enum class EstimatorKind : int32_t {
  kAuto =
      // kFlow if both families count executions and suit it, else kStreams, or kEbs without streams
  0,
  kEbs = 1,      // IP samples
  kStreams = 2,  // taken branches
  kTree = 3,     // chooses for each block
  kFlow = 4,     // both, under conservation of flow
};

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kAuto;
  DecisionTree tree;  // for kTree
  std::string event;  // whose samples count; empty: the best for counting (event_choice.h)
};

constexpr SourceFamily FamilyOf(SourceKind source) {
  return HasStreams(source) ? SourceFamily::kStreams : SourceFamily::kEbs;
}

// Returns whether counts are numbers of executions. (By a clock they are not, even where bursts
// weigh by their time: that rests on a model, while the cycles of branch stacks are measured. Nor
// are they by instructions between branch stacks, which each stream would have to share. Counts are
// then right up to a factor.)
constexpr bool CountsExecutions(SourceFamily family, EventKind event,
                                BurstExtent extent = BurstExtent::kStreams) {
  const bool is_clock = event == EventKind::kTaskClock || event == EventKind::kCpuClock;
  if (family == SourceFamily::kStreams) {
    return event == EventKind::kTakenBranches || (extent == BurstExtent::kEvents && !is_clock);
  }
  return event == EventKind::kInstructions || event == EventKind::kUops;
}

// Says what the counts of one family in a profile have in common.
struct FamilyEvidence {
  bool is_observed = false;
  bool counts_executions = true;  // all its sources do
  // The instructions it counts in the modules that both families observed.
  double instructions = 0;
  bool suits_flow = true;  // flow inference was measured with all its sources
};

struct FamilyScales {
  double ebs = 1;
  double streams = 1;
  // The counts of both families are on one scale, or there is only one family.
  bool are_common = true;
};

// Returns the factors that put counts on one scale: that of the family that counts executions, if
// one does, else that of streams. Both are 1 if only one family was observed, or if no module was
// observed by both.
FamilyScales FindScales(const FamilyEvidence& ebs, const FamilyEvidence& streams);

// Never returns kAuto.
EstimatorKind EstimatorFor(EstimatorKind requested, const FamilyEvidence& ebs,
                           const FamilyEvidence& streams);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_
