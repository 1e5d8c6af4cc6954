// Finds out which profiles are of one run, and how long the runs took.
//
// Profiles of one run are those of processes, which overlap in time, and of images that one process
// ran one after the other.
//
//   run 1: |make------------|      run 2: |make----|
//             |cc|  |cc|                    |cc|
#ifndef HBBP_LIB_PROFILE_PROFILE_RUNS_H_
#define HBBP_LIB_PROFILE_PROFILE_RUNS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile_data.h"

namespace hbbp {

// Returns a + b, or `limit` if that is less. `a` is at most `limit`.
inline uint64_t AddUpTo(uint64_t limit, uint64_t a, uint64_t b) {
  return b > limit - a ? limit : a + b;
}

// What runs are found by.
struct RunTimes {
  uint32_t pid = 0;
  uint64_t start_time_ns = 0;
  uint64_t duration_ns = 0;
  TimeSlices slices;
};

RunTimes TimesOf(const ProfileData& profile);

// Returns, for each profile, the start of the run that it belongs to.
std::vector<uint64_t> StartsOfRuns(std::span<const RunTimes> profiles);

// Returns the sum over the runs. A run of several processes took from its start to its end, and one
// of a single process as long as its profiles together: those that overlap are of runs that were
// begun at one time, or the same one twice.
uint64_t DurationOfRuns(std::span<const RunTimes> profiles);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_RUNS_H_
