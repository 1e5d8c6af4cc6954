// Add begins the session of a process. Wait waits for ends (EndSession) and looks for new processes
// (FindNew, AddFound), and Finish ends what is left.
#include "record/observed_processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "command.h"
#include "profile_view.h"
#include "record/leak_detection.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "record";
constexpr uint64_t kSearchIntervalNs = 20'000'000;
// Where none was found for so long, searches are fewer: each takes a CPU from the processes.
constexpr uint64_t kQuietNs = 1'000'000'000;
constexpr uint64_t kQuietIntervalNs = 100'000'000;
// Searches take at most this part of the time.
constexpr uint64_t kSearchDivisor = 200;
constexpr size_t kShownRefusals = 5;

StatusOr<UniqueFd> OpenProcess(pid_t pid) {
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return ErrnoStatus(errno, "process " + std::to_string(pid));
  return process;
}

// A zombie has ended, too.
bool HasEnded(pid_t pid, int timeout_ms) {
  const StatusOr<UniqueFd> process = OpenProcess(pid);
  if (!process.ok()) return true;
  pollfd end = {process->get(), POLLIN, 0};
  return ::poll(&end, 1, timeout_ms) > 0;
}

}  // namespace

Status ObservedProcesses::Add(pid_t pid) { return Start(pid, SessionOptionsOf(record_)); }

Status ObservedProcesses::AddWaiting(pid_t child) {
  hbbp_session_options options = SessionOptionsOf(record_);
  options.enable_on_exec = 1;
  return Start(child, options);
}

Status ObservedProcesses::Start(pid_t pid, hbbp_session_options options) {
  HBBP_ASSIGN_OR_RETURN(UniqueFd fd, OpenProcess(pid));
  if (TracesBranches(record_)) HBBP_RETURN_IF_ERROR(CheckLeakDetectionOfProcess(pid));
  options.pid = static_cast<uint64_t>(pid);
  HBBP_RETURN_IF_ERROR(CatchError([&] {
    hbbp::session session(options);
    session.start();
    running_.insert_or_assign(pid, Process{std::move(fd), std::move(session)});
  }));
  if (root_ == 0) root_ = pid;
  if (record_.children) descendants_.AddAncestor(pid);
  return OkStatus();
}

Status ObservedProcesses::AddGroup(Cgroup group) {
  group_ = std::move(group);
  Status first;
  for (const pid_t pid : FindNew()) {
    if (pid == ::getpid()) continue;
    const Status status = Add(pid);
    if (!status.ok() && first.ok()) first = status;
  }
  if (!running_.empty()) return OkStatus();
  if (!first.ok()) return first;
  return MakeStatus(StatusCode::kNotFound, "--cgroup: there is no process in %s",
                    group_->directory().c_str());
}

void ObservedProcesses::Wait(int timeout_ms) {
  const bool searches = record_.children || group_.has_value();
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (searches) {
    const uint64_t remaining_ns = next_search_ns_ - std::min(next_search_ns_, now_ns);
    timeout_ms = std::min(timeout_ms, static_cast<int>((remaining_ns + 999'999) / 1'000'000));
  }
  std::vector<pid_t> pids;
  std::vector<pollfd> waits;
  for (const auto& [pid, process] : running_) {
    pids.push_back(pid);
    waits.push_back({process.fd.get(), POLLIN, 0});
  }
  if (::poll(waits.data(), waits.size(), timeout_ms) > 0) {
    for (size_t i = 0; i < pids.size(); ++i) {
      if (waits[i].revents == 0) continue;
      EndSession(pids[i], &running_.at(pids[i]));
      running_.erase(pids[i]);
    }
  }
  if (!searches || ClockNs(CLOCK_MONOTONIC) < next_search_ns_) return;
  const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const std::vector<pid_t> found = FindNew();
  const uint64_t searched_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  const uint64_t end_ns = ClockNs(CLOCK_MONOTONIC);
  if (!found.empty() || last_found_ns_ == 0) last_found_ns_ = end_ns;
  const uint64_t interval_ns =
      end_ns - last_found_ns_ < kQuietNs ? kSearchIntervalNs : kQuietIntervalNs;
  next_search_ns_ = end_ns + std::max(interval_ns, searched_ns * kSearchDivisor);
  for (const pid_t pid : found) AddFound(pid);
}

void ObservedProcesses::Suspend() {
  // They fail for processes that have ended.
  for (auto& entry : running_) (void)CatchError([&] { entry.second.session.stop(); });
  ::raise(SIGSTOP);
  for (auto& entry : running_) (void)CatchError([&] { entry.second.session.start(); });
}

std::vector<pid_t> ObservedProcesses::FindNew() {
  if (!group_) return descendants_.FindNew();
  const std::vector<pid_t> members = group_->ListProcesses();
  std::vector<pid_t> found;
  std::set_difference(members.begin(), members.end(), members_.begin(), members_.end(),
                      std::back_inserter(found));
  members_ = members;
  return found;
}

// It may have ended meanwhile, or be one that may not be observed.
void ObservedProcesses::AddFound(pid_t pid) {
  if (pid == ::getpid()) return;
  const Status status = Add(pid);
  if (status.ok() || refusals_.size() == kShownRefusals) return;
  // What /proc does not show any longer ends just now, but where it hides processes (hidepid).
  constexpr int kEndingMs = 100;
  if (HasEnded(pid, status.code() == StatusCode::kNotFound ? kEndingMs : 0)) return;
  if (refusals_.insert(status.message()).second) {
    Note(kName, "process " + std::to_string(pid) + " is not observed: " + status.message());
  }
}

bool ObservedProcesses::IsRunning(pid_t pid) const { return running_.contains(pid); }

bool ObservedProcesses::AnyRuns() const { return !running_.empty(); }

void ObservedProcesses::EndSession(pid_t pid, Process* process) {
  // It fails where the session has stopped already.
  (void)CatchError([&] { process->session.stop(); });
  const Status status = CatchError([&] {
    hbbp::profile profile = process->session.snapshot();
    if (pid != root_ && profile.info().samples == 0) return;
    profiles_.push_back({pid, "", std::move(profile)});
  });
  if (!status.ok()) Note(kName, "process " + std::to_string(pid) + ": " + status.message());
}

std::vector<ProcessProfile> ObservedProcesses::Finish() {
  // All stop before the first profile is made.
  for (auto& entry : running_) (void)CatchError([&] { entry.second.session.stop(); });
  for (auto& [pid, process] : running_) EndSession(pid, &process);
  running_.clear();
  std::stable_sort(profiles_.begin(), profiles_.end(),
                   [this](const ProcessProfile& a, const ProcessProfile& b) {
                     return std::pair(a.pid != root_, a.pid) < std::pair(b.pid != root_, b.pid);
                   });
  return std::move(profiles_);
}

}  // namespace hbbp::tools
