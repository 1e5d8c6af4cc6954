// Lists the processes of a profile, each with the name of its command.
#ifndef HBBP_TOOLS_PROCESS_VIEW_H_
#define HBBP_TOOLS_PROCESS_VIEW_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

namespace hbbp::tools {

struct ProcessView {
  uint32_t pid = 0;
  std::string name;  // of its main thread, or of another one if that is not known
  uint64_t threads = 0;
  uint64_t samples = 0;
};

// Returns those that `threads` belong to, the busiest first. Threads of no known process are left
// out.
std::vector<ProcessView> ProcessesOf(const std::vector<hbbp_thread>& threads);

// Returns "4135 (cc1)", or the number alone if there is no name.
std::string TitleOf(const ProcessView& process);

// Does the same for a process in a profile.
std::string FindTitle(uint32_t pid, const hbbp::profile_view& profile);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROCESS_VIEW_H_
