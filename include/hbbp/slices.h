/* slices.h: what a program did in each slice of time.
 *
 * A session, an import or a feed that was asked to (slice_ns of their options) counts by slices of
 * equal width, so that phases of a program can be distinguished: HBBP_MIX_BY_SLICE of mix.h gives
 * the mix of each, hbbp_profile_select a slice as a profile of its own. What is not known by time
 * (IBS events, samples without a time) is in no slice.
 */
#ifndef HBBP_SLICES_H_
#define HBBP_SLICES_H_

#include "profile.h"

HBBP_EXTERN_C_BEGIN

#define HBBP_MIN_SLICE_NS 1000000u
#define HBBP_MAX_SLICE_NS 1000000000000000u
#define HBBP_MAX_SLICES 1024u

/* Slices of a profile begin one after the other at its start_time_ns. Pauses of a session are in
 * them: they are of the clock. In a sum of several runs (hbbp_profile_merge) each run begins at 0,
 * so that slices show how far it was; profiles of one run, which overlap in time or are images of
 * one process, keep their distances. */
typedef struct hbbp_slice {
  uint32_t struct_size; /* set by hbbp_profile_copy_slices */
  uint32_t reserved;
  uint64_t start_ns; /* after the start of the profile */
  uint64_t end_ns;   /* exclusive */
  uint64_t samples;  /* IP samples that were taken in it and bursts that ended then */
} hbbp_slice;

/* Up to the last slice with a count; 0 if the profile keeps none, or is NULL. Any thread.
 * Since 0.1. */
HBBP_API size_t hbbp_profile_slice_count(const hbbp_profile *profile);

/* Copies slices [first, first + count); see "Lists" in api.h. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_copy_slices(const hbbp_profile *profile, size_t first,
                                              size_t count, size_t size, hbbp_slice *slices,
                                              size_t *copied, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_SLICES
#include "disabled.inc"
#endif

#endif /* HBBP_SLICES_H_ */
