// SessionRegistry: what all sessions of the process must know of each other.
//
// fork copies the memory of every session but neither its worker thread nor its ring buffers, so
// the child has to let go of them before it does anything else. And a session must not count the
// worker of another one, which its events follow like any new thread.
#ifndef HBBP_LIB_SESSION_SESSION_REGISTRY_H_
#define HBBP_LIB_SESSION_SESSION_REGISTRY_H_

#include <sys/types.h>

#include <atomic>
#include <vector>

#include "base/mutex.h"
#include "base/wakeup.h"

namespace hbbp {

// A participant has locks of its own, which no thread that fork leaves behind may hold in the
// child.
class ForkParticipant {
 public:
  virtual ~ForkParticipant() = default;
  virtual void LockForFork() = 0;
  virtual void UnlockAfterFork() = 0;
  // Is called in the child, while it is locked.
  virtual void ResetInChild() = 0;
  // Is called in the child of a bare fork, while it is not locked; it is not used again. Frees
  // nothing.
  virtual void AbandonInChild() {}
};

class SessionRegistry {
 public:
  static SessionRegistry& Get();

  void Add(ForkParticipant* session);
  void Remove(ForkParticipant* session);

  // While it is set, forks take no locks of sessions, and the child loses all sessions. It is meant
  // for a fork in a signal handler, which may have interrupted malloc, of a program with no thread
  // but the caller's: forks of other threads would skip the locks as well. Async-signal-safe.
  void SetBareFork(bool is_bare) { is_bare_fork_ = is_bare; }
  bool IsBareFork() const { return is_bare_fork_; }
  void AbandonInChild();

  // What wakes a worker. A handler of a session that has ended may still call it, so that the
  // memory is never freed, and only another session has it next.
  Wakeup* TakeWakeup();
  void ReturnWakeup(Wakeup* wakeup);

  // The registry keeps the thread IDs of workers, also of ended ones, whose samples may still wait.
  void AddWorker(pid_t tid);
  std::vector<pid_t> Workers();

  // Returns true if the main thread ended by pthread_exit and of the others only workers are left:
  // then nothing but their end can end the process.
  bool ProgramHasEnded();

  // A worker calls this after that, as the last thing that it does. It does not return where the
  // process would get another exit status than without workers: the kernel takes that of the last
  // thread (before Linux 6.0: that of the main thread), and the program's last one ended by exit(2)
  // or was killed alone, by a seccomp filter.
  void EndWorkerOfEndedProgram();

  // The main thread ends now, and there are others of the program. Async-signal-safe.
  void SetOthersOutliveMainThread() { main_thread_was_last_ = false; }

  // The last thread of the program, and not its main thread, ends now with this status. Nothing
  // else would know: the kernel keeps no status of other threads. Async-signal-safe.
  void SetStatusOfLastThread(int status) { status_of_last_thread_ = status & 0xff; }
  // Returns -1 if it is not known to end with one.
  int StatusOfLastThread() const { return status_of_last_thread_; }

  // The last thread of the program calls it before it ends, and wakes the worker.
  // Async-signal-safe.
  void SetProgramEndsNow() { program_ends_now_ = true; }
  bool ProgramEndsNow() const { return program_ends_now_; }

 private:
  SessionRegistry();

  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();

  Mutex mutex_;
  std::vector<ForkParticipant*> sessions_;
  Wakeup* spare_wakeups_ = nullptr;
  Mutex workers_mutex_;  // the last one to be taken: sessions ask while they hold theirs
  std::vector<pid_t> workers_;
  std::atomic<bool> is_bare_fork_{false};
  std::atomic<bool> main_thread_was_last_{true};  // of those of the program
  std::atomic<int> status_of_last_thread_{-1};
  std::atomic<bool> program_ends_now_{false};
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_REGISTRY_H_
