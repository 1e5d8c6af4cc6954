// Merges profiles, and selects parts of them.
#ifndef HBBP_LIB_PROFILE_PROFILE_MERGE_H_
#define HBBP_LIB_PROFILE_PROFILE_MERGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "base/work.h"
#include "profile/profile_data.h"

namespace hbbp {

// Returns the sum. Modules are merged by kind and build ID or, without build ID, by kind, path and
// inode; sources if their settings are the same; threads by pid and tid. Generated code is separate
// for each process, because its addresses mean nothing in another one. The pid is kept if all
// profiles have the same; the command is that of the first. Slices begin with each run
// (slice_merger.h). Work is in profiles; throws WorkCancelled.
ProfileData MergeProfiles(std::span<const ProfileData* const> profiles, const Work& work = {});

// Returns the part of one thread, or nothing if there is no such thread. Numbers of the sources
// that are not known by thread (lost, throttled, unmapped, statistics of the tracer) stay those of
// the whole.
std::optional<ProfileData> SelectThread(const ProfileData& data, uint32_t tid);

// Returns the part of one slice of time, without the data of IBS samples. Start and duration stay
// those of the whole.
std::optional<ProfileData> SelectSlice(const ProfileData& data, uint32_t slice);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_MERGE_H_
