// Sums and parts of profiles.
#ifndef HBBP_LIB_PROFILE_PROFILE_MERGE_H_
#define HBBP_LIB_PROFILE_PROFILE_MERGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "profile/profile_data.h"

namespace hbbp {

// The sum. Modules agree if kind and build ID do, or, without build ID, kind, path and inode;
// sources if all that was asked of them does; threads by pid and tid. Generated code is kept apart
// by process: its addresses mean nothing in another one.
// The pid is kept if all profiles have the same; the command is that of the first. Slices
// begin with each run (slice_merger.h).
ProfileData MergeProfiles(std::span<const ProfileData* const> profiles);

// What one thread did; nothing if there is no such thread. Numbers of the sources that are not
// known by thread (lost, throttled, unmapped, what the tracer did) are kept whole.
std::optional<ProfileData> SelectThread(const ProfileData& data, uint32_t tid);

// The same in one slice of time, without what IBS samples were. Start and duration stay those of
// the whole.
std::optional<ProfileData> SelectSlice(const ProfileData& data, uint32_t slice);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_MERGE_H_
