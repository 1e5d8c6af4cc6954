#include "record/outside.h"

#include <hbbp/hbbp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct SessionDeleter {
  void operator()(hbbp_session* session) const { hbbp_session_destroy(session); }
};
using SessionHandle = std::unique_ptr<hbbp_session, SessionDeleter>;

volatile sig_atomic_t was_interrupted = 0;

void OnInterrupt(int) { was_interrupted = 1; }

StatusOr<SessionHandle> Observe(const RecordOptions& record, pid_t pid) {
  HBBP_INIT(hbbp_error, error);
  hbbp_session_options options = SessionOptionsOf(record);
  options.pid = static_cast<uint64_t>(pid);
  hbbp_session* session = nullptr;
  if (hbbp_session_create(&options, &session, &error) != HBBP_OK) return ToStatus(error);
  SessionHandle handle(session);
  if (hbbp_session_start(session, &error) != HBBP_OK) return ToStatus(error);
  return handle;
}

Status Store(const RecordOptions& record, hbbp_session* session, pid_t pid, OutsideRun* run) {
  HBBP_INIT(hbbp_error, error);
  (void)hbbp_session_stop(session, nullptr);  // unless the time was over already
  hbbp_profile* profile = nullptr;
  if (hbbp_session_snapshot(session, &profile, &error) != HBBP_OK) return ToStatus(error);
  run->stored.push_back({pid, record.output, ProfileHandle(profile)});
  if (hbbp_profile_save(profile, record.output.c_str(), &error) != HBBP_OK) return ToStatus(error);
  return OkStatus();
}

void EndBySignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = &OnInterrupt;
    ::sigaction(number, &action, nullptr);
  }
}

// Until it has ended, the time is over (0: there is no limit), or a signal says so.
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
  SessionHandle session;
  if (record.pid != 0) {
    const auto pid = static_cast<pid_t>(record.pid);
    HBBP_ASSIGN_OR_RETURN(const UniqueFd process, OpenProcess(pid));
    HBBP_ASSIGN_OR_RETURN(session, Observe(record, pid));
    EndBySignals();
    WaitForEnd(process, record.duration_s);
    return Store(record, session.get(), pid, run);
  }
  LaunchHooks hooks;
  hooks.before_it_runs = [&](pid_t pid) -> Status {
    HBBP_ASSIGN_OR_RETURN(session, Observe(record, pid));
    return OkStatus();
  };
  if (record.duration_s > 0) {
    hooks.while_it_runs = [&](pid_t pid) {
      StatusOr<UniqueFd> process = OpenProcess(pid);
      if (process.ok()) WaitForEnd(*process, record.duration_s);
      (void)hbbp_session_stop(session.get(), nullptr);
    };
  }
  HBBP_ASSIGN_OR_RETURN(run->end, RunProgram(record.command, {}, "", hooks));
  return Store(record, session.get(), run->end.pid, run);
}

}  // namespace hbbp::tools
