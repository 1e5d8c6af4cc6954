#include "process_view.h"

#include <algorithm>
#include <map>

namespace hbbp::tools {

std::vector<ProcessView> ProcessesOf(const std::vector<hbbp_thread>& threads) {
  std::map<uint32_t, ProcessView> by_pid;
  for (const hbbp_thread& thread : threads) {
    if (thread.pid == 0) continue;
    ProcessView& process = by_pid[thread.pid];
    process.pid = thread.pid;
    if (thread.tid == thread.pid || process.name.empty()) process.name = thread.name;
    ++process.threads;
    process.samples += thread.samples;
  }
  std::vector<ProcessView> processes;
  for (auto& [pid, process] : by_pid) processes.push_back(std::move(process));
  std::stable_sort(
      processes.begin(), processes.end(),
      [](const ProcessView& a, const ProcessView& b) { return a.samples > b.samples; });
  return processes;
}

std::string TitleOf(const ProcessView& process) {
  return std::to_string(process.pid) + (process.name.empty() ? "" : " (" + process.name + ")");
}

std::string FindTitle(uint32_t pid, const hbbp::profile_view& profile) {
  for (const ProcessView& process : ProcessesOf(profile.threads())) {
    if (process.pid == pid) return TitleOf(process);
  }
  return std::to_string(pid);
}

}  // namespace hbbp::tools
