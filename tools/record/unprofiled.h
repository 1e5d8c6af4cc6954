// What was started without the preload library, and so has no profile.
#ifndef HBBP_TOOLS_RECORD_UNPROFILED_H_
#define HBBP_TOOLS_RECORD_UNPROFILED_H_

#include <string>
#include <string_view>

namespace hbbp::tools {

// Returns a sentence about the lines of preload::kUnprofiledFile, or nothing if there are none. A
// hostile program may have written them.
std::string DescribeUnprofiled(std::string_view lines);

// Returns these lines, if there is such a file in the directory.
std::string ReadUnprofiled(const std::string& directory);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_UNPROFILED_H_
