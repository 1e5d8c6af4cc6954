// Writes the counts of a process in callgrind's format, which KCachegrind, callgrind_annotate and
// hbbp compare read.
#ifndef HBBP_TOOLS_COUNT_CALLGRIND_WRITER_H_
#define HBBP_TOOLS_COUNT_CALLGRIND_WRITER_H_

#include <string>
#include <string_view>

#include "count/counted_process.h"

namespace hbbp::tools {

// `creator` is for instance "hbbp count 1.2.3"; `command` is written to the file as it is.
std::string CallgrindText(const CountedProcess& process, std::string_view creator,
                          std::string_view command);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_CALLGRIND_WRITER_H_
