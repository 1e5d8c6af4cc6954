// Makes profiles by hand, and describes profiles as text, to compare them.
#ifndef HBBP_TESTS_UNIT_PROFILE_SAMPLE_PROFILES_H_
#define HBBP_TESTS_UNIT_PROFILE_SAMPLE_PROFILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile_data.h"

namespace hbbp {

// Returns `samples` samples of one period.
IpCount MakeCount(uint32_t module, uint32_t source, uint32_t thread, uint64_t offset,
                  uint64_t samples, uint64_t period);

// Returns `number` streams of one burst of 5 branches and that period each, in replicate `number` %
// 16.
BranchCount MakeBranch(uint32_t source, uint32_t thread, uint32_t from_module, uint64_t from,
                       uint32_t to_module, uint64_t to, uint64_t stream_end, uint64_t number,
                       uint64_t period);

// Returns a profile in which every field has a value of its own, and every kind of module occurs.
ProfileData FullProfile();

std::string DescribeIbs(const ProfileData& data);
// Describes everything that a profile file keeps.
std::string Describe(const ProfileData& data);
std::string Describe(const std::vector<IpCount>& counts);
std::string Describe(const std::vector<BranchCount>& branches);

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_PROFILE_SAMPLE_PROFILES_H_
