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

constexpr char kState[] = "stat";
constexpr char kTimes[] = "schedstat";
// Listing takes at most this part of the time, unless new threads would be found later than this.
constexpr uint64_t kListingDivisor = 200;
constexpr uint64_t kMaxListingIntervalNs = 500'000'000;
// So many threads have descriptors, two each.
constexpr size_t kMaxThreadsWithFiles = 64;

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

}  // namespace

StatusOr<ThreadTimes> ThreadTimes::Open(pid_t pid, std::vector<pid_t> only) {
  HBBP_RETURN_IF_ERROR(CheckThreads(only, pid));
  ThreadTimes times(pid, std::move(only));
  times.ListThreadsNow();
  times.accounted_ns_ = ClockNs(times.clock_);
  if (!times.threads_.empty()) return times;
  return MakeStatus(StatusCode::kNotFound, "process %d has ended", pid);
}

ThreadTimes::ThreadTimes(pid_t pid, std::vector<pid_t> only)
    : pid_(pid), only_(std::move(only)), clock_(ClockOf(pid)), last_ns_(ClockNs(clock_)) {}

UniqueFd ThreadTimes::OpenFile(pid_t tid, const char* name) const {
  return UniqueFd(::open(ProcPath(pid_, tid, name).c_str(), O_RDONLY | O_CLOEXEC));
}

// "CPU-time waiting-time slices", in nanoseconds.
ThreadTimes::Usage ThreadTimes::ReadUsage(pid_t tid, const Thread& thread) const {
  char text[128];
  const size_t length = thread.times.valid() ? ReadNow(thread.times, text, sizeof(text))
                                             : ReadNow(OpenFile(tid, kTimes), text, sizeof(text));
  Usage usage;
  if (length == 0) return usage;
  char* end = nullptr;
  usage.ns = std::strtoull(text, &end, 10);
  (void)std::strtoull(end, &end, 10);
  usage.slices = std::strtoull(end, nullptr, 10);
  return usage;
}

// proc(5): "7 (name) R ...", where the name may have parentheses and spaces.
char ThreadTimes::ReadState(pid_t tid, const Thread& thread) const {
  char text[128];
  const size_t length = thread.state.valid() ? ReadNow(thread.state, text, sizeof(text))
                                             : ReadNow(OpenFile(tid, kState), text, sizeof(text));
  const char* const end = length == 0 ? nullptr : std::strrchr(text, ')');
  return end == nullptr || end[1] == '\0' ? '\0' : end[2];
}

void ThreadTimes::AddThread(pid_t tid) {
  Thread thread;
  if (threads_.size() < kMaxThreadsWithFiles) {
    thread.state = OpenFile(tid, kState);
    thread.times = OpenFile(tid, kTimes);
  }
  thread.taken = ReadUsage(tid, thread);
  accounted_ns_ += thread.taken.ns;
  threads_.emplace(tid, std::move(thread));
}

void ThreadTimes::ListThreadsNow() {
  const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const StatusOr<std::vector<pid_t>> alive = ListThreadsAmong(only_, pid_);
  const uint64_t listing_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  if (!alive.ok()) return threads_.clear();
  std::erase_if(threads_, [&alive](const auto& thread) {
    return !std::binary_search(alive->begin(), alive->end(), thread.first);
  });
  for (const pid_t tid : *alive) {
    if (!threads_.contains(tid)) AddThread(tid);
  }
  next_listing_ns_ =
      ClockNs(CLOCK_MONOTONIC) + std::min(listing_ns * kListingDivisor, kMaxListingIntervalNs);
}

std::vector<pid_t> ThreadTimes::ListRunning() {
  std::vector<pid_t> running;
  const uint64_t now_ns = ClockNs(clock_);
  if (now_ns == last_ns_ && now_ns != 0) return running;  // none has run since
  last_ns_ = now_ns;
  if (ClockNs(CLOCK_MONOTONIC) >= next_listing_ns_) ListThreadsNow();
  for (const auto& [tid, thread] : threads_) {
    if (ReadState(tid, thread) == 'R') running.push_back(tid);
  }
  return running;
}

uint64_t ThreadTimes::TakeTime(pid_t tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  Thread& thread = found->second;
  const Usage now = ReadUsage(tid, thread);
  const uint64_t used_ns = now.ns - std::min(now.ns, thread.taken.ns);
  seen_.ns += used_ns;
  seen_.slices += now.slices - std::min(now.slices, thread.taken.slices);
  thread.taken = now;
  const uint64_t of_process_ns = ClockNs(clock_);
  if (of_process_ns == 0) return used_ns;
  const uint64_t remaining_ns = of_process_ns - std::min(of_process_ns, accounted_ns_);
  accounted_ns_ += std::min(used_ns, remaining_ns);
  return std::min(used_ns, remaining_ns);
}

void ThreadTimes::DropTime() {
  for (auto& [tid, thread] : threads_) thread.taken = ReadUsage(tid, thread);
  accounted_ns_ = ClockNs(clock_);
}

uint64_t ThreadTimes::MeanSliceNs() const {
  constexpr uint64_t kMinSeenNs = 20'000'000;
  return seen_.ns < kMinSeenNs ? 0 : seen_.ns / std::max<uint64_t>(seen_.slices, 1);
}

}  // namespace hbbp
