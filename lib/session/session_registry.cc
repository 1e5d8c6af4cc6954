#include "session/session_registry.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "backends/threads.h"
#include "base/files.h"

namespace hbbp {
namespace {

// A thread id comes round again after at least kernel.pid_max threads; samples of a worker that
// ended so long ago are not waiting anywhere.
constexpr size_t kRememberedWorkers = 64;

// Cheap as long as it has not.
bool MainThreadHasEnded() {
  char target[1];
  if (::readlink("/proc/self/exe", target, sizeof(target)) >= 0) return false;
  StatusOr<std::string> status = ReadTextFile("/proc/self/stat", 4096);
  if (!status.ok()) return false;
  const size_t name_end = status->rfind(')');
  return name_end != std::string::npos && status->compare(name_end, 3, ") Z") == 0;
}

}  // namespace

SessionRegistry& SessionRegistry::Get() {
  // Never destroyed: sessions of the host may end after static destructors ran.
  static SessionRegistry* registry = new SessionRegistry();
  return *registry;
}

SessionRegistry::SessionRegistry() {
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

void SessionRegistry::AddWorker(pid_t tid) {
  std::lock_guard lock(workers_mutex_);
  workers_.push_back(tid);
  if (workers_.size() > kRememberedWorkers) workers_.erase(workers_.begin());
}

std::vector<pid_t> SessionRegistry::Workers() {
  std::lock_guard lock(workers_mutex_);
  return workers_;
}

bool SessionRegistry::ProgramHasEnded() {
  if (!MainThreadHasEnded()) return false;
  StatusOr<std::vector<pid_t>> threads = ListThreads();
  if (!threads.ok()) return false;
  const std::vector<pid_t> workers = Workers();
  return std::all_of(threads->begin(), threads->end(), [&workers](pid_t tid) {
    return tid == ::getpid() || std::find(workers.begin(), workers.end(), tid) != workers.end();
  });
}

void SessionRegistry::BeforeFork() {
  SessionRegistry& registry = Get();
  registry.mutex_.lock();
  for (ForkParticipant* session : registry.sessions_) session->LockForFork();
  registry.workers_mutex_.lock();
}

void SessionRegistry::AfterForkInParent() {
  SessionRegistry& registry = Get();
  registry.workers_mutex_.unlock();
  for (ForkParticipant* session : registry.sessions_) session->UnlockAfterFork();
  registry.mutex_.unlock();
}

void SessionRegistry::AfterForkInChild() {
  SessionRegistry& registry = Get();
  registry.workers_.clear();
  for (ForkParticipant* session : registry.sessions_) session->ForgetInChild();
  AfterForkInParent();
}

}  // namespace hbbp
