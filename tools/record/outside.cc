#include "record/outside.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "record/cgroup.h"
#include "record/observed_processes.h"

namespace hbbp::tools {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t was_interrupted = 0;

void OnInterrupt(int) { was_interrupted = 1; }

volatile sig_atomic_t was_suspended = 0;

void OnSuspension(int) { was_suspended = 1; }

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

void EndBySignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) Handle(number, &OnInterrupt);
}

// Shells without job control ignore it.
void SuspendBySignal() {
  struct sigaction before = {};
  ::sigaction(SIGTSTP, nullptr, &before);
  if (before.sa_handler == SIG_DFL) Handle(SIGTSTP, &OnSuspension);
}

// Waits until `runs` is false, the time is over (0: there is no limit), or a signal arrives.
void WaitWhile(const std::function<bool()>& runs, double duration_s, ObservedProcesses* observed) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(duration_s);
  while (was_interrupted == 0 && runs()) {
    if (was_suspended != 0) {
      was_suspended = 0;
      observed->Suspend();
    }
    constexpr int kPollMs = 200;
    int timeout_ms = kPollMs;
    if (duration_s > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) break;
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count() + 1, kPollMs));
    }
    observed->Wait(timeout_ms);
  }
}

Status AddAll(const RecordOptions& record, ObservedProcesses* observed) {
  for (const pid_t pid : record.pids) HBBP_RETURN_IF_ERROR(observed->Add(pid));
  if (record.cgroup.empty()) return OkStatus();
  HBBP_ASSIGN_OR_RETURN(Cgroup group, Cgroup::Find(record.cgroup));
  return observed->AddGroup(std::move(group));
}

StatusOr<RunProfiles> Store(const RecordOptions& record, std::vector<ProcessProfile> profiles) {
  return StoreObserved(std::move(profiles), record.output, record.merge);
}

}  // namespace

Status ObserveFromOutside(const RecordOptions& record, OutsideRun* run) {
  ObservedProcesses observed(record);
  if (ObservesRunning(record)) {
    // A process that SIGTSTP stops by default would hold the threads that it is about to add.
    SuspendBySignal();
    HBBP_RETURN_IF_ERROR(AddAll(record, &observed));
    EndBySignals();
    WaitWhile([&] { return observed.AnyRuns(); }, record.duration_s, &observed);
    HBBP_ASSIGN_OR_RETURN(run->stored, Store(record, observed.Finish()));
    return OkStatus();
  }
  std::vector<ProcessProfile> profiles;
  LaunchHooks hooks;
  // Whoever waits for a child by wait4 also takes the stops that the session waits for.
  const bool waits = record.duration_s > 0 || record.children || TracesBranches(record);
  hooks.before_it_runs = [&](pid_t pid) {
    if (waits) SuspendBySignal();
    return observed.AddWaiting(pid);
  };
  if (waits) {
    hooks.while_it_runs = [&](pid_t pid) {
      WaitWhile([&] { return observed.IsRunning(pid); }, record.duration_s, &observed);
      profiles = observed.Finish();
    };
  }
  HBBP_ASSIGN_OR_RETURN(run->end, RunProgram(record.command, {}, "", hooks));
  if (profiles.empty()) profiles = observed.Finish();
  HBBP_ASSIGN_OR_RETURN(run->stored, Store(record, std::move(profiles)));
  return OkStatus();
}

}  // namespace hbbp::tools
