// Counts the samples of a profile by source, thread, slice and module.
#ifndef HBBP_LIB_PROFILE_SAMPLE_TOTALS_H_
#define HBBP_LIB_PROFILE_SAMPLE_TOTALS_H_

#include <cstdint>
#include <vector>

#include "profile/profile_data.h"

namespace hbbp {

struct SampleTotals {
  // Counts IP samples and bursts. Text that was added up may say of no branch that it was the
  // newest one of its burst: these are then the fewest that have so many streams.
  std::vector<uint64_t> of_source;
  std::vector<uint64_t> of_thread;
  std::vector<uint64_t> of_slice;
  // Counts IP samples in it and taken branches into it.
  std::vector<uint64_t> of_module;
  // Counts IP samples and targets of taken branches that were in no known mapping.
  std::vector<uint64_t> unmapped_of_source;
};

SampleTotals CountSamples(const ProfileData& data);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_SAMPLE_TOTALS_H_
