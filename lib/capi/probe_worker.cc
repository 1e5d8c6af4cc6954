#include "capi/probe_worker.h"

#include <cxxabi.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "session/session_registry.h"
#include "session/worker_thread.h"

namespace hbbp::capi {
namespace {

// Handlers of the host run on it.
constexpr size_t kStackBytes = 8 << 20;
// Whether the program has ended is checked so often.
constexpr int kCheckMs = 1000;

// The registry forgets the oldest workers. That of a session may be older than many probes.
void RegisterWorker(pid_t tid) {
  SessionRegistry& registry = SessionRegistry::Get();
  try {
    const std::vector<pid_t> workers = registry.Workers();
    for (const pid_t worker : std::set<pid_t>(workers.begin(), workers.end())) {
      const bool is_alive = ::syscall(SYS_tgkill, ::getpid(), worker, 0) == 0;
      if (is_alive) registry.AddWorker(worker);
    }
  } catch (const std::bad_alloc&) {
    // They stay as old as they are.
  }
  registry.AddWorker(tid);
}

}  // namespace

ProbeWorker::ProbeWorker(Round round, int interval_ms)
    : round_(std::move(round)), interval_ms_(interval_ms) {}

ProbeWorker::~ProbeWorker() {
  cancel_.Set(true);
  End();
}

Status ProbeWorker::Start() {
  HBBP_ASSIGN_OR_RETURN(thread_, StartWorkerThread(&ThreadMain, this, kStackBytes));
  owner_ = ::getpid();
  return OkStatus();
}

Status ProbeWorker::Stop() {
  const bool has_thread = owner_ == ::getpid();
  End();
  return has_thread ? status_ : OkStatus();
}

void ProbeWorker::End() {
  if (owner_ != ::getpid()) return;
  should_end_ = true;
  wakeup_.Post();
  ::pthread_join(thread_, nullptr);
  owner_ = 0;
}

void* ProbeWorker::ThreadMain(void* worker) {
  static_cast<ProbeWorker*>(worker)->Run();
  return nullptr;
}

void ProbeWorker::Run() {
  ::prctl(PR_SET_NAME, "hbbp-probe");
  tid_ = ::gettid();
  RegisterWorker(tid_);
  const uint64_t interval_ns = static_cast<uint64_t>(interval_ms_) * 1'000'000;
  uint64_t next_round_ns = ClockNs(CLOCK_MONOTONIC) + interval_ns;
  uint64_t next_check_ns = 0;
  bool is_last = false;
  while (!is_last) {
    wakeup_.WaitUntil(DeadlineIn(std::min(interval_ms_, kCheckMs)));
    is_last = should_end_;
    const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
    if (now_ns >= next_check_ns) {
      // Nothing but the end of its workers can end the process then.
      SessionRegistry& registry = SessionRegistry::Get();
      if (registry.ProgramHasEnded()) return registry.EndWorkerOfEndedProgram();
      next_check_ns = now_ns + uint64_t{kCheckMs} * 1'000'000;
    }
    const bool has_failed = !status_.ok() && status_.code() != StatusCode::kNotFound;
    const bool may_go_on = owner_ != 0 && !has_failed;
    if (may_go_on && (is_last || now_ns >= next_round_ns)) {
      RunRound();
      next_round_ns = ClockNs(CLOCK_MONOTONIC) + interval_ns;
    }
  }
}

// Texts of statuses are so short that they need no memory.
void ProbeWorker::RunRound() {
  const Work work = {{}, &cancel_};
  is_in_round_ = true;
  try {
    status_ = work.Check();
    if (status_.ok()) status_ = round_(work);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    status_ = Status(StatusCode::kNoMemory, "out of memory");
  } catch (const WorkCancelled&) {
    status_ = Status(StatusCode::kCancelled, "cancelled");
  } catch (...) {
    status_ = Status(StatusCode::kInternal, "exception");
  }
  is_in_round_ = false;
}

}  // namespace hbbp::capi
