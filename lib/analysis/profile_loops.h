// The loops of a profile: how often each was entered and went round, and what it executed.
//
// An iteration is an execution of the header. Whatever does not come to the header along a back
// edge enters the loop, so that the average trip count is iterations / entries. Two ways to know:
//
//   by branches  streams that begin at the header or fall into it tell where they came from, those
//                that leave the loop that it was left (trip_counts.h)
//   by counts    of blocks, where they determine those of the edges in or out (edge_counts.h)
//
// Errors are those of replicates (stream_estimator.h); IP samples are dealt into some for it.
#ifndef HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_
#define HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "base/address.h"
#include "estimate/count_estimate.h"
#include "estimate/edge_counts.h"
#include "estimate/trip_counts.h"

namespace hbbp {

struct LoopRecord {
  uint32_t module = 0;
  uint32_t function = UINT32_MAX;  // of Analysis::functions()
  ModuleAddress header;
  uint32_t parent = UINT32_MAX;  // the loop around it; before it in the list
  uint32_t depth = 1;
  uint32_t blocks = 0;  // with those of the loops in it, whether they have counts or not
  bool is_irreducible = false;
  CountEstimate instructions;      // executed in it
  CountEstimate own_instructions;  // and in no loop within it
  CountEstimate iterations;
  // 0 where that is not known, as in irreducible regions, or if no entry or exit was observed.
  CountEstimate entries;
  Ratio trips_by_branches;
  Ratio trips_by_counts;

  // Of iterations by entries. Branches tell it best.
  const Ratio& trips() const {
    return trips_by_branches.value > 0 ? trips_by_branches : trips_by_counts;
  }
};

struct ProfileLoops {
  // Loops in which a block has a count, by module, function and nesting.
  std::vector<LoopRecord> loops;
  std::vector<uint32_t> innermost;  // by block of Analysis::blocks(); UINT32_MAX: in none
};

ProfileLoops FindProfileLoops(const Analysis& analysis);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_PROFILE_LOOPS_H_
