// Finds what a recording has written that has not stored its profile yet, or was killed before
// that.
#ifndef HBBP_TOOLS_RECORD_UNFINISHED_RECORDING_H_
#define HBBP_TOOLS_RECORD_UNFINISHED_RECORDING_H_

#include <string>

namespace hbbp::tools {

// The parts of OUTPUT are in OUTPUT.parts-PID while the process records, and in OUTPUT.unsaved-PID
// if they could not be stored.
inline constexpr char kPartsInfix[] = ".parts-";
inline constexpr char kUnsavedInfix[] = ".unsaved-";

// Returns whether the directory has files that hbbp merge reads, or cannot be listed.
bool MayHaveProfiles(const std::string& directory);

// Returns whether another process goes on with the recording whose parts are in this
// OUTPUT.parts-PID, where PID has ended.
bool HasKeeper(const std::string& parts);

// Returns whether another recording than that with its parts in `parts` has written `output` since,
// or is about to.
bool IsReplaced(const std::string& output, const std::string& parts);

// Returns what to do with the files, for the end of a message.
std::string AdviceToMerge(const std::string& directory);

// Returns where the profile is that is not at `output`, for the end of a message; empty if there
// is none.
std::string DescribeUnfinishedRecording(const std::string& output);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_UNFINISHED_RECORDING_H_
