#include "record/outside.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <hbbp/hbbp.hpp>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t was_interrupted = 0;

void OnInterrupt(int) { was_interrupted = 1; }

using Session = std::optional<hbbp::session>;

Status Observe(const RecordOptions& record, pid_t pid, Session* session) {
  hbbp_session_options options = SessionOptionsOf(record);
  options.pid = static_cast<uint64_t>(pid);
  return CatchError([&] { session->emplace(options).start(); });
}

// It fails where the session has stopped already, because its time was over.
void Stop(Session* session) {
  (void)CatchError([&] { (*session)->stop(); });
}

Status Store(const RecordOptions& record, Session* session, pid_t pid, OutsideRun* run) {
  Stop(session);
  return CatchError([&] {
    std::vector<ProcessProfile>& processes = run->stored.processes;
    processes.push_back({pid, record.output, (*session)->snapshot()});
    KeepEarlierProfile(record.output);
    processes.back().profile.save(record.output);
  });
}

void EndBySignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = &OnInterrupt;
    ::sigaction(number, &action, nullptr);
  }
}

// Waits until the process has ended, the time is over (0: there is no limit), or a signal arrives.
void WaitForEnd(const UniqueFd& process, double duration_s) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(duration_s);
  while (was_interrupted == 0) {
    constexpr int kPollMs = 200;
    int timeout_ms = kPollMs;
    if (duration_s > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) break;
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count() + 1, kPollMs));
    }
    pollfd wait = {process.get(), POLLIN, 0};
    if (::poll(&wait, 1, timeout_ms) > 0) break;
  }
}

StatusOr<UniqueFd> OpenProcess(pid_t pid) {
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return ErrnoStatus(errno, "process " + std::to_string(pid));
  return process;
}

}  // namespace

Status ObserveFromOutside(const RecordOptions& record, OutsideRun* run) {
  Session session;
  if (record.pid != 0) {
    const auto pid = static_cast<pid_t>(record.pid);
    HBBP_ASSIGN_OR_RETURN(const UniqueFd process, OpenProcess(pid));
    HBBP_RETURN_IF_ERROR(Observe(record, pid, &session));
    EndBySignals();
    WaitForEnd(process, record.duration_s);
    return Store(record, &session, pid, run);
  }
  LaunchHooks hooks;
  hooks.before_it_runs = [&](pid_t pid) { return Observe(record, pid, &session); };
  // Whoever waits for a child by wait4 also takes the stops that the session waits for.
  if (record.duration_s > 0 || TracesBranches(record)) {
    hooks.while_it_runs = [&](pid_t pid) {
      StatusOr<UniqueFd> process = OpenProcess(pid);
      if (process.ok()) WaitForEnd(*process, record.duration_s);
      Stop(&session);
    };
  }
  HBBP_ASSIGN_OR_RETURN(run->end, RunProgram(record.command, {}, "", hooks));
  return Store(record, &session, run->end.pid, run);
}

}  // namespace hbbp::tools
