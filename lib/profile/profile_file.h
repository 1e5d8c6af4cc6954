// Reads and writes profile files, which are versioned, checksummed and little-endian:
//
//   header   magic "HBBPPROF", u32 version, u32 section count, u64 file size, u64 checksum of the
//            section table
//   table    for each section: u32 type, u32 version, u64 offset, u64 size, u64 checksum
//   sections see profile_file.cc; unknown ones are skipped, so that a newer library may add some
//
// Checksums are XXH3 (64 bit).
#ifndef HBBP_LIB_PROFILE_PROFILE_FILE_H_
#define HBBP_LIB_PROFILE_PROFILE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile/profile_data.h"

namespace hbbp {

std::vector<uint8_t> SerializeProfile(const ProfileData& data);

// Returns kBadFormat with what is damaged, and kVersion for a file of a newer library.
StatusOr<ProfileData> ParseProfile(std::span<const uint8_t> bytes);

Status SaveProfile(const ProfileData& data, const std::string& path);
StatusOr<ProfileData> LoadProfile(const std::string& path);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_FILE_H_
