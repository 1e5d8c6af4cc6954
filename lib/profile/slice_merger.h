// SliceMerger maps the slices of several profiles to those of their sum.
//
// Each run begins at 0, so that what runs did at the same point of theirs is in one slice; by the
// clock, runs of yesterday and of today would be two crowded slices and a thousand empty ones.
// Profiles of one run (profile_runs.h) keep their distances.
//
//   run 1: |make------------|      run 2: |make----|      sum: |make------------|
//             |cc|  |cc|                    |cc|                |cc|  |cc|
#ifndef HBBP_LIB_PROFILE_SLICE_MERGER_H_
#define HBBP_LIB_PROFILE_SLICE_MERGER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile_runs.h"
#include "profile/time_slices.h"

namespace hbbp {

class SliceMerger {
 public:
  // Needs at least one profile.
  explicit SliceMerger(std::span<const RunTimes> profiles);

  // Maps a slice of profiles[index], by its middle if widths differ.
  uint32_t Map(size_t index, uint32_t slice);

  // Returns slices as wide as the widest, or wider if there would be too many, up to the last
  // mapped one.
  const TimeSlices& merged() const { return merged_; }

 private:
  double MappedPosition(size_t index, uint32_t slice) const;

  std::vector<uint64_t> widths_ns_;  // by profile
  std::vector<uint64_t> delays_ns_;  // from the start of its run
  TimeSlices merged_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_SLICE_MERGER_H_
