// Parses lists of CPUs as the kernel writes them.
#ifndef HBBP_LIB_BASE_CPU_LIST_H_
#define HBBP_LIB_BASE_CPU_LIST_H_

#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp {

// Returns the numbers of the CPUs that are online, sorted.
StatusOr<std::vector<int>> ListOnlineCpus();

// "0-3,8" becomes 0 1 2 3 8. Any other text is kBadFormat.
StatusOr<std::vector<int>> ParseCpuList(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CPU_LIST_H_
