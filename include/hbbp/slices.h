/* slices.h: what a program did in each slice of time.
 *
 * A session, an import or a feed that was asked to (slice_ns of their options) counts by slices of
 * equal width, so that phases of a program can be told apart: HBBP_MIX_BY_SLICE of mix.h gives the
 * mix of each, hbbp_profile_select_slice a slice as a profile of its own. What is not known by time
 * (IBS events, samples without a time) is in no slice.
 */
#ifndef HBBP_SLICES_H_
#define HBBP_SLICES_H_

#include "profile.h"

HBBP_EXTERN_C_BEGIN

#define HBBP_SHORTEST_SLICE_NS 1000000u
#define HBBP_LONGEST_SLICE_NS 1000000000000000u
#define HBBP_MOST_SLICES 1024u

/* Slices of a profile begin one after the other at its start_time_ns. Pauses of a session are in
 * them: they are of the clock. In a sum of several runs (hbbp_profile_merge) each run begins at 0,
 * so that slices tell how far it was; profiles of one run, which overlap in time or are images of
 * one process, keep their distances. */
typedef struct hbbp_slice {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  uint64_t start_ns; /* after the start of the profile */
  uint64_t end_ns;   /* exclusive */
  uint64_t samples;  /* IP samples that were taken in it and bursts that ended then */
} hbbp_slice;

/* Up to the last slice with a count; 0 if the profile keeps none, or is NULL. Any thread.
 * Since 0.1. */
HBBP_API size_t hbbp_profile_slice_count(const hbbp_profile *profile);

/* Errors: HBBP_ERROR_NOT_FOUND (index), HBBP_ERROR_INVALID_ARGUMENT (NULL). Any thread.
 * Since 0.1. */
HBBP_API hbbp_status hbbp_profile_slice_at(const hbbp_profile *profile, size_t index,
                                           hbbp_slice *slice, hbbp_error *error);

/* What was counted in the slice at `index`, as a profile of its own, which has the same list of
 * slices. What was set of `profile` (estimator, kernel files, debug information) is set of it, too;
 * HBBP_ESTIMATOR_AUTO chooses by what is in the slice. Numbers of sources that are not known by
 * slice (lost, throttled, unmapped, what the tracer did) are kept whole; lists of IBS are empty.
 * Errors: HBBP_ERROR_NOT_FOUND (no such slice), HBBP_ERROR_INVALID_ARGUMENT (NULL),
 * HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_select_slice(const hbbp_profile *profile, size_t index,
                                               hbbp_profile **selected, hbbp_error *error);

HBBP_EXTERN_C_END

#endif /* HBBP_SLICES_H_ */
