// Reads and writes the section of a profile file with the data of IBS samples:
//
//   u64 count of names, then each: string
//   u64 count of sums, then each: u32 source, u32 thread, u32 module, u32 name, u64 offset, u64 sum
//   u64 count of buckets, then each: u32 source, u32 thread, u32 module (2^32 - 1: of all
//   instructions), u32 name, u64 offset, u64 samples, u32 level of memory (IbsLevel), u32 bucket;
//   in section version 1: u32 source, u32 thread, u32 name, u32 bucket, u64 samples
//
//   u64 count of lines, then each: u32 source, u32 thread, u64 address, u64 loads, u64 stores,
//   u64 misses, u64 miss cycles; and from section version 2 on: u64 local, u64 remote
//
//   From section version 3 on: u64 count of accesses to data, then each: what a line has; u32
//   module (2^32 - 1: none), u32 name (of a block; 2^32 - 1: none), u64 bytes. In a module the
//   address is that of the file (p_vaddr), and [address, address + bytes) were accessed; of a
//   block, and of all memory that has neither module nor name, address and bytes are 0
//
//   From section version 4 on: for each line, u32 NUMA node of its memory (2^32 - 1: not known)
#ifndef HBBP_LIB_PROFILE_IBS_SECTION_H_
#define HBBP_LIB_PROFILE_IBS_SECTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "profile/profile_data.h"

namespace hbbp {

std::vector<uint8_t> WriteIbs(const ProfileData& data);
Status ReadIbs(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data);

// Checks the data after all sections of the profile were read.
Status CheckIbs(const ProfileData& data);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_IBS_SECTION_H_
