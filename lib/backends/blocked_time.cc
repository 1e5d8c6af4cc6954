#include "backends/blocked_time.h"

#include <algorithm>

#include "backends/thread_sampler.h"
#include "base/own_status.h"

namespace hbbp {

void BlockedTime::Begin(int signal) {
  signal_ = signal;
  ns_ = 0;
  last_ = 0;
  blocked_cpu_.clear();
}

void BlockedTime::Scan(const std::vector<pid_t>& threads,
                       const std::function<bool(pid_t)>& is_in_handler) {
  std::erase_if(blocked_cpu_, [&threads](const auto& thread) {
    return !std::binary_search(threads.begin(), threads.end(), thread.first);
  });
  const size_t checks = std::min(threads.size(), kThreadsByScan);
  auto next = std::upper_bound(threads.begin(), threads.end(), last_);
  for (size_t i = 0; i < checks; ++i) {
    if (next == threads.end()) next = threads.begin();
    last_ = *next++;
    if (is_in_handler(last_)) continue;
    const bool is_blocked = BlocksSignal(last_, signal_);
    if (!is_in_handler(last_)) Check(last_, is_blocked);
  }
}

void BlockedTime::Check(pid_t tid, bool is_blocked) {
  if (!is_blocked) {
    blocked_cpu_.erase(tid);
    return;
  }
  const uint64_t cpu_ns = CpuNsOf(tid);
  const auto [known, is_new] = blocked_cpu_.try_emplace(tid, cpu_ns);
  if (!is_new && cpu_ns > known->second) ns_ += cpu_ns - known->second;
  known->second = cpu_ns;
}

}  // namespace hbbp
