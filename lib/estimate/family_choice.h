// Which family of sources counts the blocks of a module that more than one observed.
//
// Counts of different families are never added: each is an estimate of the same number. Where only
// one of them observed a module it counts it, as EBS the kernel where branches are not traced.
// Sources of one family, as merged profiles have them, do add up.
#ifndef HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_
#define HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_

#include <cstdint>

#include "estimate/decision_tree.h"
#include "events/samples.h"

namespace hbbp {

// The values are those of hbbp_estimator; capi/ asserts it.
enum class EstimatorKind : int32_t {
  kAuto =
      0,  // kFlow if both families count executions and suit it, else kStreams, or kEbs without any
  kEbs = 1,      // IP samples
  kStreams = 2,  // taken branches
  kTree = 3,     // block by block
  kFlow = 4,     // both, under conservation of flow
};

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kAuto;
  DecisionTree tree;  // of kTree
};

constexpr SourceFamily FamilyOf(SourceKind source) {
  return HasStreams(source) ? SourceFamily::kStreams : SourceFamily::kEbs;
}

// Does a period stand for executions as it is? (Of a clock it does not, nor do instructions between
// branch stacks, of which each stream would need its share. Counts are then right up to a factor.)
constexpr bool CountsExecutions(SourceFamily family, EventKind event,
                                BurstExtent extent = BurstExtent::kStreams) {
  if (family == SourceFamily::kStreams) {
    return event == EventKind::kTakenBranches || extent == BurstExtent::kEvents;
  }
  return event == EventKind::kInstructions || event == EventKind::kUops;
}

// What is common to counts of one family in a profile.
struct FamilyEvidence {
  bool is_observed = false;
  bool counts_executions = true;  // all its sources do
  // By it, in the modules that both observed.
  double instructions = 0;
  bool suits_flow = true;  // all its sources are of those that flow inference was measured with
};

struct FamilyScales {
  double ebs = 1;
  double streams = 1;
  // Are counts of both families on one scale, or is there one family only?
  bool are_common = true;
};

// What counts have to be multiplied by to be on one scale: that of the family that counts
// executions, if one does, else that of streams. Both 1 if only one family was observed, or if no
// module was by both.
FamilyScales ScalesOf(const FamilyEvidence& ebs, const FamilyEvidence& streams);

// Never kAuto.
EstimatorKind EstimatorFor(EstimatorKind asked, const FamilyEvidence& ebs,
                           const FamilyEvidence& streams);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FAMILY_CHOICE_H_
