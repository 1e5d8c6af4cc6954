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
  // `reaps` says that no other thread of this process waits for the end of this one, as it does for
  // that of a child.
  ThreadStop(pid_t tid, bool reaps) : tid_(tid), reaps_(reaps) {}
  // Lets the thread run. One that was late is let go when it stops or this thread ends.
  ~ThreadStop() { LetGo(); }
  ThreadStop(const ThreadStop&) = delete;
  ThreadStop& operator=(const ThreadStop&) = delete;

  // Waits for at most a second. A thread that runs stops within some microseconds.
  StopOutcome Stop();
  // Asks once again whether a late thread has stopped. Waits for nothing.
  StopOutcome StopLater();
  void LetGo();

  // The functions below require that it is stopped.

  // A step while SIGTRAP is blocked makes the kernel reset the program's handler of it. Only system
  // calls and signals change what is blocked.
  bool MayStep() const;
  // Executes one instruction. Returns false if something else happened, such as a signal: then the
  // thread cannot be stepped any more.
  bool Step();
  const user_regs_struct& registers() const { return registers_; }
  // Returns whether it was in a system call, or at its end.
  bool IsInSystemCall() const { return static_cast<int64_t>(registers_.orig_rax) >= 0; }
  // Returns whether it executes 32-bit code.
  bool IsOf32Bit() const { return registers_.cs == 0x23; }
  // The object must outlive it.
  trace::RegisterReader reader() const;

 private:
  // With AMX it has some 11 KB.
  static constexpr size_t kXsaveBytes = 16 * 1024;

  StopOutcome Judge(int status);
  bool Wait(int* status);
  void GoOnWithSystemCall();
  void LoadVector(trace::MachineState* state) const;

  const pid_t tid_;
  const bool reaps_;
  pid_t tracer_ = 0;  // the thread of this process that has called Stop
  bool is_traced_ = false;
  bool is_stopped_ = false;
  int signal_ = 0;  // to deliver when it goes on
  user_regs_struct registers_ = {};
  // Not on the stack of the LookAhead, which is small.
  alignas(64) mutable uint8_t xsave_area_[kXsaveBytes];
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_THREAD_STOP_H_
