// Lists of CPUs as the kernel writes them.
#ifndef HBBP_LIB_BASE_CPU_LIST_H_
#define HBBP_LIB_BASE_CPU_LIST_H_

#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp {

// Numbers of the CPUs that are online, sorted.
StatusOr<std::vector<int>> ListOnlineCpus();

// "0-3,8" -> 0 1 2 3 8. kBadFormat for anything else.
StatusOr<std::vector<int>> ParseCpuList(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CPU_LIST_H_
