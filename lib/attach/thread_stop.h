// ThreadStop stops a thread of another process by ptrace for as long as it lives, and has its
// registers.
//
// The thread is traced from Stop to the end of the object only, so that its signals, its end and
// its debugger are as without us at all other times. Nothing of the thread is changed: when this
// process dies meanwhile, the kernel lets the thread run on. A system call that was interrupted
// goes on.
//
// Contract: ptrace belongs to a thread, so the one that has called Stop calls the other functions.
// For another one a late thread stays late.
#ifndef HBBP_LIB_ATTACH_THREAD_STOP_H_
#define HBBP_LIB_ATTACH_THREAD_STOP_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "trace/interpreter/program_reader.h"

namespace hbbp {

enum class StopOutcome {
  kStopped,
  kGone,      // it has ended
  kRefused,   // a debugger traces it, or this process may not
  kLate,      // it sleeps where nothing interrupts it; StopLater continues
  kInSignal,  // a signal is about to be delivered, or it is stopped by one (SIGSTOP)
};

class ThreadStop {
 public:
  // `is_child` says that another thread of this process waits for the end of process `pid`.
  ThreadStop(pid_t pid, pid_t tid, bool is_child) : pid_(pid), is_child_(is_child), tid_(tid) {}
  // Lets the thread run, if it is stopped.
  ~ThreadStop() { LetGo(); }
  ThreadStop(const ThreadStop&) = delete;
  ThreadStop& operator=(const ThreadStop&) = delete;

  // Waits for at most a quarter of a second. A thread that runs stops within some microseconds.
  StopOutcome Stop();
  // Asks once again whether a late thread has stopped, or one that was killed has ended. Waits for
  // nothing.
  StopOutcome StopLater();
  void LetGo();
  // Returns whether the thread is late, or was killed while it was stopped. As long as it is, its
  // process can neither end nor execute another program, and whoever attaches to a thread of a
  // process that tries to waits for ever; so nothing else may be stopped, and StopLater and LetGo
  // are to be called again. It is let go when the thread ends that has called Stop.
  bool is_traced() const { return is_traced_; }

  // The functions below require that it is stopped.

  // Returns the earliest time (CLOCK_MONOTONIC) at which it may have stopped.
  uint64_t stopped_since_ns() const { return stopped_since_ns_; }
  // A step while SIGTRAP is blocked or ignored makes the kernel reset what the program does with
  // it. Only system calls and signals change what is blocked.
  bool MayStep() const;
  // Executes one instruction. Returns false if something else happened, such as a signal: then the
  // thread cannot be stepped any more.
  bool Step();
  const user_regs_struct& registers() const { return registers_; }
  // Returns whether it was in a system call, or at its end.
  bool IsInSystemCall() const { return static_cast<int64_t>(registers_.orig_rax) >= 0; }
  // Returns whether it is in a restartable sequence (rseq), which the kernel aborts when the thread
  // goes on. Before Linux 5.13 it never is.
  bool IsInRestartableSequence();
  // Returns whether it executes 32-bit code.
  bool IsOf32Bit() const { return registers_.cs == 0x23; }
  // The object must outlive it.
  trace::RegisterReader reader() const;

 private:
  // With AMX it has some 11 KB.
  static constexpr size_t kXsaveBytes = 16 * 1024;

  StopOutcome Poll();
  StopOutcome Judge(int status);
  bool FollowExec();
  bool HasTrapOfStep() const;
  bool GoOnToTrap(int request);
  void GoOnWithSystemCall();
  uint64_t FindSequenceSlot() const;
  void LoadVector(trace::MachineState* state) const;

  const pid_t pid_;
  const bool is_child_;
  pid_t tid_;
  pid_t tracer_ = 0;  // the thread of this process that has called Stop
  bool is_traced_ = false;
  bool is_stopped_ = false;
  bool is_stepping_ = false;
  int signal_ = 0;  // to deliver when it goes on
  uint64_t stopped_since_ns_ = 0;
  // Where the thread stores which restartable sequence it enters; 0 if it has none.
  std::optional<uint64_t> sequence_slot_;
  user_regs_struct registers_ = {};
  // Not on the stack of the LookAhead, which is small.
  alignas(64) mutable uint8_t xsave_area_[kXsaveBytes];
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_THREAD_STOP_H_
