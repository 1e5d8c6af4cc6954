/* estimator.h: which observations the block counts of a profile come from.
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
#include "profile.h"
#include "status.h"

HBBP_EXTERN_C_BEGIN

typedef int32_t hbbp_estimator;
enum {
  HBBP_ESTIMATOR_AUTO = 0,    /* FLOW where EBS counted instructions and LBR taken branches, else
                                 STREAMS: samples of a clock tell where time goes, not executions;
                                 EBS if there are no streams at all */
  HBBP_ESTIMATOR_EBS = 1,     /* IP samples; a block without any has no count */
  HBBP_ESTIMATOR_STREAMS = 2, /* streams; a block that none crossed has no count */
  HBBP_ESTIMATOR_TREE = 3,    /* by a decision tree, block by block; a block that the chosen family
                                 did not see has the count 0 */
  HBBP_ESTIMATOR_FLOW = 4     /* by all sources together, so that what flows into a block flows out
                                 of it; a block that nobody saw has the count that this asks for */
};

typedef struct hbbp_estimator_options {
  uint32_t struct_size; /* set by the caller */
  hbbp_estimator estimator;
  /* JSON of a tree, as docs/internals/estimators.md describes it; NULL: the published one, which
     is streams for blocks of up to 18 instructions and EBS for longer ones */
  const char *tree;
} hbbp_estimator_options;

typedef struct hbbp_estimator_info {
  uint32_t struct_size;     /* set by the caller */
  hbbp_estimator estimator; /* never HBBP_ESTIMATOR_AUTO */
  double ebs_scale;         /* what its counts were multiplied by */
  double streams_scale;
  uint32_t is_one_scale; /* 0: no module was observed by both families, so that there was nothing to
                            find a scale by, and counts of both are not to be added */
  uint32_t reserved;
} hbbp_estimator_info;

/* Counts the blocks of a profile by another estimator from now on, as often as wanted. Everything
 * that a list of the profile pointed to is gone; mixes that were made stay. Not while another
 * thread uses the profile. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL, no such estimator, a tree
 * with another estimator), HBBP_ERROR_BAD_FORMAT (no tree; the message says which node and
 * what would be right); the profile then stays as it was. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_set_estimator(hbbp_profile *profile,
                                                const hbbp_estimator_options *options,
                                                hbbp_error *error);

/* What counts its blocks. Errors: HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_get_estimator(const hbbp_profile *profile,
                                                hbbp_estimator_info *info, hbbp_error *error);

/* Features ---------------------------------------------------------------------------------
 * What a tree may ask about a block: numbers, by name ("length"); docs/internals/estimators.md
 * explains them. Later versions may add some at the end. Any thread. Since 0.1. */
HBBP_API size_t hbbp_feature_count(void);
/* Static storage; NULL if there is no such feature. */
HBBP_API const char *hbbp_feature_name(size_t index);

/* Features of blocks [first, first + count) of the profile's blocks, as hbbp_profile_copy_blocks
 * copies these: hbbp_feature_count() numbers a block, one block behind the other. `copied` gets of
 * how many blocks. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL). Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_copy_features(const hbbp_profile *profile, size_t first,
                                                size_t count, double *values, size_t *copied,
                                                hbbp_error *error);

HBBP_EXTERN_C_END

#endif /* HBBP_ESTIMATOR_H_ */
