// Steps through a program. Stepper::Run starts it and then waits for the next stop of any thread:
// it reports the instruction that has completed, follows new threads, forks and execs, hides the
// trap flag and the blocked SIGTRAP from the program, and resumes the thread by a step, or to the
// next system call. It ends when the last process has ended or the limit is exceeded. hbbp count
// and hbbp probe call StepThrough.
#include "count/stepper.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "base/files.h"
#include "count/traced_child.h"

namespace hbbp::tools {
namespace {

constexpr uint64_t kStepsBetweenProgress = 1 << 14;
constexpr uint64_t kTrapFlag = 0x100;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

// Trap is the state of a tracee that was stopped by SIGTRAP.
enum class Trap {
  kInstruction,    // an instruction has completed
  kAmbiguous,      // a system call has completed, or an instruction: the hypervisor hides which
  kSignalHandler,  // at the first instruction of a handler, none completed
  kSignal,         // the program's own SIGTRAP
};

Trap TrapFromCode(int si_code) {
  switch (si_code) {
    case TRAP_TRACE:
      return Trap::kInstruction;
    case TRAP_BRKPT:
      return Trap::kAmbiguous;
    case SIGTRAP:  // of ptrace_notify, which the kernel calls when it has built the frame
      return Trap::kSignalHandler;
    default:
      return Trap::kSignal;
  }
}

bool IsGroupStop(int signal_number) {
  return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
         signal_number == SIGTTOU;
}

// Returns the process of a thread, or 0 if the thread is gone.
pid_t ProcessOf(pid_t tid) {
  const StatusOr<std::string> text = ReadTextFile("/proc/" + std::to_string(tid) + "/status");
  const size_t at = text.ok() ? text->find("\nTgid:") : std::string::npos;
  return at == std::string::npos ? 0 : std::atoi(text->c_str() + at + 6);
}

uint64_t InstructionPointer(pid_t tid) {
  return static_cast<uint64_t>(
      ::ptrace(PTRACE_PEEKUSER, tid, offsetof(user, regs) + offsetof(user_regs_struct, rip), 0));
}

// Keeps the state of live processes and threads.
class Stepper {
 public:
  explicit Stepper(const StepRequest& request) : request_(request) {}

  StatusOr<StepResult> Run();

 private:
  struct Process {
    pid_t pid = 0;
    std::unique_ptr<SteppedProcess> stepped;  // null if it runs freely
    uint32_t threads = 0;
    bool steps = true;  // false until the program is executed, or if it runs freely
  };

  struct Thread {
    Process* process = nullptr;
    uint64_t address = 0;  // address of the instruction that it executes next
    InstructionKind kind = InstructionKind::kOrdinary;
    bool has_address = false;
    bool in_system_call = false;  // stopped at its entry; the exit follows
  };

  Thread& ThreadOf(pid_t tid);
  Status Stopped(pid_t tid, int status);
  Status Ended(pid_t tid, int status);
  void Executed(pid_t tid);
  void Trapped(pid_t tid, Thread* thread, int* signal_number);
  void Completed(pid_t tid, Thread* thread, uint64_t next);
  void BeforeSystemCall(pid_t tid, SteppedProcess* process);
  void AtSystemCallStop(pid_t tid, Thread* thread);
  void HideTrapFlag(pid_t tid);
  void UnblockTrap(pid_t tid);
  void Resume(pid_t tid, Thread* thread, int signal_number);
  void KillAll();

  const StepRequest& request_;
  std::unordered_map<pid_t, std::unique_ptr<Process>> processes_;
  std::unordered_map<pid_t, Thread> threads_;
  StepResult result_;
};

Stepper::Thread& Stepper::ThreadOf(pid_t tid) {
  const auto [entry, is_new] = threads_.try_emplace(tid);
  Thread& thread = entry->second;
  if (!is_new) return thread;
  pid_t pid = ProcessOf(tid);
  if (pid == 0) pid = tid;
  std::unique_ptr<Process>& process = processes_[pid];
  if (process == nullptr) {
    process = std::make_unique<Process>();
    process->pid = pid;
    process->stepped = request_.start_process(pid);
    process->steps = process->stepped != nullptr;
    ++result_.processes;
  }
  ++result_.threads;
  ++process->threads;
  thread.process = process.get();
  return thread;
}

void Stepper::HideTrapFlag(pid_t tid) {
  const auto top = static_cast<uint64_t>(
      ::ptrace(PTRACE_PEEKUSER, tid, offsetof(user, regs) + offsetof(user_regs_struct, rsp), 0));
  errno = 0;
  const long word = ::ptrace(PTRACE_PEEKDATA, tid, top, 0);
  if (errno == 0) {
    ::ptrace(PTRACE_POKEDATA, tid, top, static_cast<uint64_t>(word) & ~kTrapFlag);
  }
}

// A step while SIGTRAP is blocked makes the kernel reset the program's handler of SIGTRAP.
void Stepper::UnblockTrap(pid_t tid) {
  constexpr uint64_t kTrap = uint64_t{1} << (SIGTRAP - 1);
  uint64_t mask = 0;
  if (::ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) != 0 || (mask & kTrap) == 0) return;
  mask &= ~kTrap;
  ::ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

void Stepper::Completed(pid_t tid, Thread* thread, uint64_t next) {
  thread->process->stepped->Completed(tid, thread->address, next);
  ++result_.instructions;
  if (thread->kind == InstructionKind::kPushFlags) HideTrapFlag(tid);
}

// A system call that replaces or removes mappings is seen before it runs.
void Stepper::BeforeSystemCall(pid_t tid, SteppedProcess* process) {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return;
  switch (registers.rax) {
    case SYS_munmap:
      process->Unmap(registers.rdi, registers.rsi);
      break;
    case SYS_mmap:
      if ((registers.r10 & MAP_FIXED) != 0) process->Unmap(registers.rdi, registers.rsi);
      break;
    case SYS_mremap:
      process->Unmap(registers.rdi, registers.rsi);
      if ((registers.r10 & MREMAP_FIXED) != 0) process->Unmap(registers.r8, registers.rdx);
      break;
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
      process->UnmapAll();
      break;
    default:
      break;
  }
}

void Stepper::Trapped(pid_t tid, Thread* thread, int* signal_number) {
  siginfo_t info = {};
  if (::ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) != 0) return;  // killed meanwhile
  const uint64_t address = InstructionPointer(tid);
  const bool moved = address != thread->address;
  bool completed = false;
  switch (TrapFromCode(info.si_code)) {
    case Trap::kInstruction:
      completed = moved || thread->kind != InstructionKind::kRepeatedString;
      *signal_number = 0;
      break;
    case Trap::kAmbiguous:
      completed = moved;
      *signal_number = 0;
      break;
    case Trap::kSignalHandler:
      UnblockTrap(tid);
      *signal_number = 0;
      break;
    case Trap::kSignal:
      completed = moved;  // int3, or a SIGTRAP that stands for that of the step as well
      break;
  }
  if (completed && thread->has_address) Completed(tid, thread, address);
}

// The first instruction of a new program is next; other threads of the process are gone.
void Stepper::Executed(pid_t tid) {
  unsigned long former = 0;
  ::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &former);
  Thread& thread = ThreadOf(tid);
  const auto caller = threads_.find(static_cast<pid_t>(former));
  if (caller != threads_.end() && caller->second.has_address) Completed(tid, &caller->second, 0);
  Process* process = thread.process;
  if (process->stepped != nullptr) {
    process->stepped->Executed();
    process->steps = true;
  }
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.first != tid && entry.second.process == process;
  });
  process->threads = 1;
  thread.has_address = false;
  thread.in_system_call = false;
}

void Stepper::AtSystemCallStop(pid_t tid, Thread* thread) {
  if (thread->has_address && !thread->in_system_call) {
    thread->in_system_call = true;
    ::ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr);
    return;
  }
  if (thread->has_address) Completed(tid, thread, InstructionPointer(tid));
  thread->in_system_call = false;
  thread->has_address = true;
  UnblockTrap(tid);
  Resume(tid, thread, 0);
}

void Stepper::Resume(pid_t tid, Thread* thread, int signal_number) {
  if (!thread->process->steps) {
    ::ptrace(PTRACE_CONT, tid, nullptr, signal_number);
    return;
  }
  if (thread->has_address) {
    thread->address = InstructionPointer(tid);
    SteppedProcess* const process = thread->process->stepped.get();
    thread->kind = process->Before(tid, thread->address);
    if (thread->kind == InstructionKind::kSystemCall) {
      BeforeSystemCall(tid, process);
    } else if (thread->kind == InstructionKind::kOtherKernelEntry) {
      process->UnmapAll();
      // If it does not return, the address is still known.
      process->Before(tid, thread->address);
    }
  }
  // A step into a system call would end with a SIGTRAP that the call may just have blocked. But
  // only a step stops at the start of a signal handler.
  const bool may_call = thread->has_address && signal_number == 0 &&
                        (thread->kind == InstructionKind::kSystemCall ||
                         thread->kind == InstructionKind::kOtherKernelEntry);
  ::ptrace(may_call ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, tid, nullptr, signal_number);
}

Status Stepper::Stopped(pid_t tid, int status) {
  const int event = status >> 16;
  int signal_number = WSTOPSIG(status);
  Thread& thread = ThreadOf(tid);
  if (event == PTRACE_EVENT_STOP && IsGroupStop(signal_number)) {
    ::ptrace(PTRACE_LISTEN, tid, nullptr, nullptr);
    return OkStatus();
  }
  if (event == PTRACE_EVENT_EXEC) Executed(tid);
  if (event == PTRACE_EVENT_EXEC || event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
      event == PTRACE_EVENT_VFORK) {
    // The thread is in the middle of a system call, which still has to complete.
    ::ptrace(thread.process->steps ? PTRACE_SYSCALL : PTRACE_CONT, tid, nullptr, nullptr);
    return OkStatus();
  }
  if (signal_number == kSystemCallStop) {
    AtSystemCallStop(tid, &thread);
    return OkStatus();
  }
  if (event != 0) {
    signal_number = 0;
  } else if (thread.process->steps) {
    if (signal_number == SIGTRAP) {
      Trapped(tid, &thread, &signal_number);
    } else if (thread.has_address) {
      const uint64_t next = InstructionPointer(tid);
      if (next != thread.address) Completed(tid, &thread, next);
    }
  }
  thread.has_address = thread.process->steps;
  Resume(tid, &thread, signal_number);
  return OkStatus();
}

Status Stepper::Ended(pid_t tid, int status) {
  if (tid == result_.pid) {
    result_.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  const auto entry = threads_.find(tid);
  if (entry == threads_.end()) return OkStatus();
  Thread& thread = entry->second;
  Process* process = thread.process;
  if (thread.in_system_call) Completed(tid, &thread, 0);
  threads_.erase(entry);
  if (process->stepped != nullptr) process->stepped->ThreadEnded(tid);
  if (--process->threads != 0) return OkStatus();
  const Status ended = process->stepped != nullptr ? process->stepped->Ended() : OkStatus();
  processes_.erase(process->pid);
  return ended;
}

void Stepper::KillAll() {
  for (const auto& [pid, process] : processes_) ::kill(pid, SIGKILL);
  int status;
  while (::waitpid(-1, &status, __WALL) > 0 || errno == EINTR) {
  }
}

StatusOr<StepResult> Stepper::Run() {
  HBBP_ASSIGN_OR_RETURN(TracedChild child, TracedChild::Start(request_.command));
  result_.pid = child.pid();
  if (request_.started) request_.started(child.pid());
  ThreadOf(child.pid()).process->steps = false;
  child.Go();
  uint64_t next_progress = kStepsBetweenProgress;
  while (true) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL);
    if (tid < 0 && errno == EINTR) continue;
    if (tid < 0) break;
    const Status handled = WIFSTOPPED(status) ? Stopped(tid, status) : Ended(tid, status);
    if (!handled.ok()) {
      KillAll();
      return handled;
    }
    if (request_.max_instructions != 0 && result_.instructions > request_.max_instructions) {
      KillAll();
      return MakeStatus(StatusCode::kUnsupported, "%s executed more than %llu instructions",
                        request_.command[0].c_str(),
                        static_cast<unsigned long long>(request_.max_instructions));
    }
    if (result_.instructions < next_progress) continue;
    next_progress = result_.instructions + kStepsBetweenProgress;
    if (request_.progress) request_.progress(result_.instructions);
  }
  HBBP_RETURN_IF_ERROR(child.ExecFailure(request_.command[0]));
  return std::move(result_);
}

}  // namespace

StatusOr<StepResult> StepThrough(const StepRequest& request) { return Stepper(request).Run(); }

}  // namespace hbbp::tools
