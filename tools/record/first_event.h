// Opens the first perf event of a machine for the program that is recorded.
#ifndef HBBP_TOOLS_RECORD_FIRST_EVENT_H_
#define HBBP_TOOLS_RECORD_FIRST_EVENT_H_

#include <string>

namespace hbbp::tools {

// Opens an event of the calling thread that counts nothing, and keeps it until the process ends.
// Where no other process has one, the kernel takes some 10 ms for it, and is fast then for all
// others. Creates `mark` when that is over, whether or not it has succeeded, as a link to the file
// `probe` if that can be.
void OpenFirstEvent(const std::string& probe, const std::string& mark);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_FIRST_EVENT_H_
