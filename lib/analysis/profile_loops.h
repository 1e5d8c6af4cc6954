// Finds the loops of a profile: how often each was entered and iterated, and what it executed.
//
// An iteration is an execution of the header. Whatever does not come to the header along a back
// edge enters the loop, so that the average trip count is iterations / entries. There are two ways
// to find it:
//
//   by branches  from the origins of streams that begin at the header or fall into it, and from
//                those that leave the loop (trip_counts.h)
//   by counts    of blocks, where they determine those of the edges in or out (edge_counts.h)
//
// Errors are those of replicates (stream_estimator.h), to which IP samples are assigned too.
#ifndef HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_
#define HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "base/address.h"
#include "base/work.h"
#include "estimate/count_estimate.h"
#include "estimate/edge_counts.h"
#include "estimate/trip_counts.h"

namespace hbbp {

struct LoopRecord {
  uint32_t module = 0;
  uint32_t function = UINT32_MAX;  // index of Analysis::functions()
  ModuleAddress header;
  uint32_t parent = UINT32_MAX;  // the loop around it, which is before it in the list
  uint32_t depth = 1;
  uint32_t blocks = 0;  // includes those of inner loops, and those without counts
  bool is_irreducible = false;
  CountEstimate instructions;      // executed in it
  CountEstimate own_instructions;  // executed in it and in no inner loop
  CountEstimate iterations;
  // These are 0 if they are unknown, as in irreducible regions, or if no entry or exit was
  // observed.
  CountEstimate entries;
  Ratio trips_by_branches;
  Ratio trips_by_counts;

  // Returns iterations / entries; those by branches are more accurate.
  const Ratio& trips() const {
    return trips_by_branches.value > 0 ? trips_by_branches : trips_by_counts;
  }
};

struct ProfileLoops {
  // Loops with a block that has a count, by module, function and nesting.
  std::vector<LoopRecord> loops;
  std::vector<uint32_t> innermost;  // by index of Analysis::blocks(); UINT32_MAX: none
};

// Work is in blocks; throws WorkCancelled.
ProfileLoops FindProfileLoops(const Analysis& analysis, const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_
