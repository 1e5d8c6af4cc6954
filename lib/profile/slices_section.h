// Reads and writes the section of a profile file with the slice of time of each count:
//
//   u64 width (ns), u32 number of slices
//   u64 count, then a u32 for each count of the section of counts, in its order
//   u64 count, then a u32 for each branch of the section of branches, in its order
//
// A reader that does not know it adds up counts that are otherwise equal, and so gets those of the
// whole run.
#ifndef HBBP_LIB_PROFILE_SLICES_SECTION_H_
#define HBBP_LIB_PROFILE_SLICES_SECTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "profile/profile_data.h"

namespace hbbp {

std::vector<uint8_t> WriteSlices(const ProfileData& data);
// Call it after counts and branches were read.
Status ReadSlices(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_SLICES_SECTION_H_
