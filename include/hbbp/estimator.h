/* estimator.h: which observations the block counts of an analysis come from.
 *
 * Sources are of two families. EBS and IBS take instruction pointers: a sample counts for the block
 * that it is in. LBR and SWBT take consecutive taken branches: the code from one to the next, a
 * stream, counts for each block that it crosses. A block that both observed has two counts, of
 * which the estimator takes one, or both (Nowak et al., "Hybrid Basic Block Profiling"). A module
 * that only one of them observed is counted by that one, whatever the estimator.
 *
 * Families are put on one scale first: that of the family whose events are executions
 * (instructions or uops between samples, taken branches between stacks), if the other's are not;
 * that of streams, if neither's are.
 */
#ifndef HBBP_ESTIMATOR_H_
#define HBBP_ESTIMATOR_H_

#include "api.h"

HBBP_EXTERN_C_BEGIN

typedef int32_t hbbp_estimator;
enum {
  HBBP_ESTIMATOR_AUTO = 0,    /* FLOW where EBS counted instructions and LBR taken branches, else
                                 STREAMS: samples of a clock show where time goes, not executions;
                                 EBS if there are no streams at all */
  HBBP_ESTIMATOR_EBS = 1,     /* IP samples; a block without any has no count */
  HBBP_ESTIMATOR_STREAMS = 2, /* streams; a block that none crossed has no count */
  HBBP_ESTIMATOR_TREE = 3,    /* by a decision tree, block by block; a block that the chosen family
                                 did not see has the count 0. The tree is JSON, as
                                 docs/internals/estimators.md describes it; the published one is
                                 streams for blocks of up to 18 instructions and EBS for longer
                                 ones */
  HBBP_ESTIMATOR_FLOW = 4     /* by all sources together, so that what flows into a block flows out
                                 of it; a block that none saw has the count that this asks for */
};

HBBP_EXTERN_C_END

#endif /* HBBP_ESTIMATOR_H_ */
