#include "session/session_registry.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "backends/threads.h"
#include "base/files.h"

namespace hbbp {
namespace {

// A thread id comes round again after at least kernel.pid_max threads; samples of a worker that
// ended so long ago are not waiting anywhere.
constexpr size_t kRememberedWorkers = 64;

// Returns the status as waitpid would report it, or nothing as long as the thread runs, which is
// cheap to find out.
std::optional<int> WaitStatusOfEndedMainThread() {
  char target[1];
  if (::readlink("/proc/self/exe", target, sizeof(target)) >= 0) return std::nullopt;
  const StatusOr<std::string> stat = ReadTextFile("/proc/self/stat", 4096);
  if (!stat.ok()) return std::nullopt;
  const size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos || stat->compare(name_end, 3, ") Z") != 0) return std::nullopt;
  // The last field is exit_code.
  const size_t begin = stat->rfind(' ');
  return std::atoi(stat->c_str() + begin + 1);
}

// Ends the calling thread, and with it the process, whatever the program set for the signal.
void EndBySignal(int signal_number) {
  struct {
    uint64_t handler, flags, restorer, mask;
  } const default_action = {};
  const uint64_t mask = uint64_t{1} << (signal_number - 1);
  ::syscall(SYS_rt_sigaction, signal_number, &default_action, nullptr, sizeof(mask));
  ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, nullptr, sizeof(mask));
  ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal_number);
}

}  // namespace

SessionRegistry& SessionRegistry::Get() {
  // It is never destroyed: sessions of the host may end after static destructors ran.
  static SessionRegistry* registry = new SessionRegistry();
  return *registry;
}

SessionRegistry::SessionRegistry() {
  workers_.reserve(kRememberedWorkers + 1);  // where AddWorker is called, nothing may be thrown
  ::pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
}

void SessionRegistry::Add(ForkParticipant* session) {
  std::lock_guard lock(mutex_);
  sessions_.push_back(session);
}

void SessionRegistry::Remove(ForkParticipant* session) {
  std::lock_guard lock(mutex_);
  std::erase(sessions_, session);
}

Wakeup* SessionRegistry::TakeWakeup() {
  std::lock_guard lock(mutex_);
  Wakeup* const spare = spare_wakeups_;
  if (spare == nullptr) return new Wakeup();
  spare_wakeups_ = spare->next_spare;
  spare->Reset();
  return spare;
}

void SessionRegistry::ReturnWakeup(Wakeup* wakeup) {
  std::lock_guard lock(mutex_);
  wakeup->next_spare = spare_wakeups_;
  spare_wakeups_ = wakeup;
}

void SessionRegistry::AddWorker(pid_t tid) {
  std::lock_guard lock(workers_mutex_);
  workers_.push_back(tid);
  if (workers_.size() > kRememberedWorkers) workers_.erase(workers_.begin());
}

std::vector<pid_t> SessionRegistry::Workers() {
  std::lock_guard lock(workers_mutex_);
  return workers_;
}

bool SessionRegistry::ProgramHasEnded() try {
  if (!WaitStatusOfEndedMainThread()) return false;
  StatusOr<std::vector<pid_t>> threads = ListThreads();
  if (!threads.ok()) return false;
  const std::vector<pid_t> workers = Workers();
  const bool has_ended = std::all_of(threads->begin(), threads->end(), [&workers](pid_t tid) {
    return tid == ::getpid() || std::find(workers.begin(), workers.end(), tid) != workers.end();
  });
  if (!has_ended) main_thread_was_last_ = false;
  return has_ended;
} catch (const std::bad_alloc&) {
  return false;
}

void SessionRegistry::EndWorkerOfEndedProgram() try {
  const std::optional<int> wait_status = WaitStatusOfEndedMainThread();
  if (!wait_status) return;
  if (StatusOfLastThread() >= 0) ::syscall(SYS_exit, StatusOfLastThread());
  if (!main_thread_was_last_) return;
  if (WIFSIGNALED(*wait_status)) {
    const StatusOr<std::vector<pid_t>> threads = ListThreads();
    const bool is_last_worker = threads.ok() && threads->size() == 2;
    if (is_last_worker) EndBySignal(WTERMSIG(*wait_status));
  } else if (WEXITSTATUS(*wait_status) != 0) {
    ::syscall(SYS_exit, WEXITSTATUS(*wait_status));
  }
} catch (const std::bad_alloc&) {
  // It ends with another status.
}

void SessionRegistry::BeforeFork() {
  SessionRegistry& registry = Get();
  if (registry.is_bare_fork_) return;
  registry.mutex_.lock();
  for (ForkParticipant* session : registry.sessions_) session->LockForFork();
  registry.workers_mutex_.lock();
}

void SessionRegistry::AfterForkInParent() {
  SessionRegistry& registry = Get();
  if (registry.is_bare_fork_) return;
  registry.workers_mutex_.unlock();
  for (ForkParticipant* session : registry.sessions_) session->UnlockAfterFork();
  registry.mutex_.unlock();
}

void SessionRegistry::AfterForkInChild() {
  SessionRegistry& registry = Get();
  if (registry.is_bare_fork_) return registry.AbandonInChild();
  registry.workers_.clear();
  registry.status_of_last_thread_ = -1;
  registry.program_ends_now_ = false;
  for (ForkParticipant* session : registry.sessions_) session->ResetInChild();
  AfterForkInParent();
}

void SessionRegistry::AbandonInChild() {
  for (ForkParticipant* session : sessions_) session->AbandonInChild();
  sessions_.clear();
  workers_.clear();
  // The worker may have held them.
  new (&mutex_) Mutex();
  new (&workers_mutex_) Mutex();
}

}  // namespace hbbp
