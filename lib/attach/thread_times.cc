#include "attach/thread_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "backends/threads.h"
#include "base/clock.h"
#include "base/proc_path.h"

namespace hbbp {
namespace {

// Listing takes at most this part of the time.
constexpr uint64_t kListingDivisor = 200;

// The clock of another process's CPU time, as clock_getcpuclockid(3) returns it. The kernel's names
// of its parts are CPUCLOCK_SCHED and the complement of the process id.
clockid_t ClockOf(pid_t pid) {
  constexpr clockid_t kScheduled = 2;
  return static_cast<clockid_t>(static_cast<unsigned>(~pid) << 3) | kScheduled;
}

// Reads a file of /proc from its start, as it is now. Returns the length.
size_t ReadNow(const UniqueFd& file, char* text, size_t size) {
  const ssize_t length = ::pread(file.get(), text, size - 1, 0);
  text[length < 0 ? 0 : length] = '\0';
  return length < 0 ? 0 : static_cast<size_t>(length);
}

uint64_t ReadTime(const UniqueFd& file) {
  char text[128];
  return ReadNow(file, text, sizeof(text)) == 0 ? 0 : std::strtoull(text, nullptr, 10);
}

// proc(5): "7 (name) R ...", where the name may have parentheses and spaces.
char ReadState(const UniqueFd& file) {
  char text[128];
  if (ReadNow(file, text, sizeof(text)) == 0) return '\0';
  const char* const end = std::strrchr(text, ')');
  return end == nullptr || end[1] == '\0' ? '\0' : end[2];
}

}  // namespace

StatusOr<ThreadTimes> ThreadTimes::Open(pid_t pid, std::vector<pid_t> only) {
  HBBP_RETURN_IF_ERROR(CheckThreads(only, pid));
  ThreadTimes times(pid, std::move(only));
  times.ListThreadsNow();
  if (!times.threads_.empty()) return times;
  return MakeStatus(StatusCode::kNotFound, "process %d has ended", pid);
}

ThreadTimes::ThreadTimes(pid_t pid, std::vector<pid_t> only)
    : pid_(pid), only_(std::move(only)), clock_(ClockOf(pid)), last_ns_(ClockNs(clock_)) {}

bool ThreadTimes::OpenThread(pid_t tid, Thread* thread) const {
  const auto open = [&](const char* file) {
    return UniqueFd(::open(ProcPath(pid_, tid, file).c_str(), O_RDONLY | O_CLOEXEC));
  };
  thread->state = open("stat");
  thread->times = open("schedstat");
  if (!thread->state.valid() || !thread->times.valid()) return false;
  thread->taken_ns = ReadTime(thread->times);
  return true;
}

void ThreadTimes::ListThreadsNow() {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  const StatusOr<std::vector<pid_t>> alive = ListThreadsAmong(only_, pid_);
  if (!alive.ok()) return threads_.clear();
  std::erase_if(threads_, [&alive](const auto& thread) {
    return !std::binary_search(alive->begin(), alive->end(), thread.first);
  });
  for (const pid_t tid : *alive) {
    if (threads_.contains(tid)) continue;
    Thread thread;
    if (OpenThread(tid, &thread)) threads_.emplace(tid, std::move(thread));
  }
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  next_listing_ns_ = now_ns + (now_ns - begin_ns) * kListingDivisor;
}

std::vector<pid_t> ThreadTimes::ListRunning() {
  std::vector<pid_t> running;
  const uint64_t now_ns = ClockNs(clock_);
  if (now_ns == last_ns_ && now_ns != 0) return running;  // none has run since
  last_ns_ = now_ns;
  if (ClockNs(CLOCK_MONOTONIC) >= next_listing_ns_) ListThreadsNow();
  for (const auto& [tid, thread] : threads_) {
    if (ReadState(thread.state) == 'R') running.push_back(tid);
  }
  return running;
}

uint64_t ThreadTimes::TakeTime(pid_t tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  const uint64_t now_ns = ReadTime(found->second.times);
  const uint64_t used_ns = now_ns - std::min(now_ns, found->second.taken_ns);
  found->second.taken_ns = now_ns;
  return used_ns;
}

}  // namespace hbbp
