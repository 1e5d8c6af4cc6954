// Merges profiles, and reduces them to parts.
#ifndef HBBP_LIB_PROFILE_PROFILE_MERGE_H_
#define HBBP_LIB_PROFILE_PROFILE_MERGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/work.h"
#include "profile/profile_data.h"

namespace hbbp {

class BurstMerger;

// Returns the sum. Modules are merged by kind and build ID or, without build ID, by kind, path and
// inode; sources if their settings are the same; threads by pid and tid. Generated code is separate
// for each process, by pid and start of the recording: its addresses mean nothing in another one,
// process ids are the same on many hosts, and addresses are used again. The pid is kept if all
// profiles have the same; the command is that of the first. The duration is that of the runs
// (profile_runs.h), with each of which slices begin (slice_merger.h). Work is in profiles; throws
// WorkCancelled. ProfileMerger (profile_merger.h) does the same with one profile after the other,
// and says what `bursts` is for.
ProfileData MergeProfiles(std::span<const ProfileData* const> profiles, const Work& work = {},
                          BurstMerger* bursts = nullptr);

// Removes what is not of that thread. Numbers of the sources that are not known by thread (lost,
// throttled, unmapped, statistics of the tracer) stay those of the whole. Returns false, and
// changes nothing, if there is no such thread.
bool KeepThread(uint32_t tid, ProfileData* data);

// Removes what is not of that slice of time, and the data of IBS samples. Start and duration stay
// those of the whole. Returns false, and changes nothing, if there is no such slice.
bool KeepSlice(uint32_t slice, ProfileData* data);

// Removes the samples and branches of the sources that are not `kept`, by source. The data of IBS
// samples stay.
void KeepSources(const std::vector<bool>& kept, ProfileData* data);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_MERGE_H_
