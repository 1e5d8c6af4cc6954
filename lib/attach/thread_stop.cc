// Stop seizes the thread, interrupts it and waits (StopLater, Judge). Judge reads the registers and
// has a system call go on that the interruption has ended (GoOnWithSystemCall). LoadGeneral and
// LoadVector give registers to a LookAhead.
#include "attach/thread_stop.h"

#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/clock.h"
#include "trace/native/signal_context.h"

namespace hbbp {
namespace {

constexpr uint64_t kPatienceNs = 1'000'000'000;
// A thread that runs stops within some microseconds.
constexpr uint64_t kBusyNs = 200'000;
constexpr timespec kPause = {0, 50'000};
constexpr int kInterrupted = PTRACE_EVENT_STOP << 8 | SIGTRAP;

// Patience waits for a thread: at first without sleeping, if need be behind it on its CPU.
class Patience {
 public:
  explicit Patience(uint64_t ns) : begin_ns_(ClockNs(CLOCK_MONOTONIC)), ns_(ns) {}

  // Returns false when it is at its end.
  bool Pause() const {
    const uint64_t waited_ns = ClockNs(CLOCK_MONOTONIC) - begin_ns_;
    if (waited_ns > ns_) return false;
    if (waited_ns < kBusyNs) {
      ::sched_yield();
    } else {
      ::nanosleep(&kPause, nullptr);
    }
    return true;
  }

 private:
  const uint64_t begin_ns_;
  const uint64_t ns_;
};

// The kernel ends these by EINTR when the thread was stopped, and does not restart them
// (signal(7)). Without a signal, a thread that waits goes on waiting.
constexpr uint64_t kEndedByStops[] = {
    SYS_epoll_wait,    SYS_epoll_pwait,    SYS_epoll_pwait2,    SYS_io_getevents,
    SYS_io_pgetevents, SYS_io_uring_enter, SYS_rt_sigtimedwait, SYS_semop,
    SYS_semtimedop,    SYS_accept,         SYS_accept4,         SYS_recvfrom,
    SYS_recvmsg,       SYS_recvmmsg,       SYS_sendto,          SYS_sendmsg};
constexpr int64_t kRestartWithoutHandler = 514;  // ERESTARTNOHAND of the kernel

// The kernel's struct _fpx_sw_bytes, in the XSAVE area of a signal's frame.
constexpr size_t kSoftwareBytes = 464;
constexpr uint32_t kFrameMagic = 0x46505853;  // FP_XSTATE_MAGIC1
struct SoftwareBytes {
  uint32_t magic;
  uint32_t extended_size;
  uint64_t features;
  uint32_t xstate_size;
};
constexpr uint32_t kInitialMxcsr = 0x1f80;

void LoadGeneral(const void* thread, trace::MachineState* state) {
  const user_regs_struct& from = static_cast<const ThreadStop*>(thread)->registers();
  const uint64_t gpr[] = {from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp,
                          from.rsi, from.rdi, from.r8,  from.r9,  from.r10, from.r11,
                          from.r12, from.r13, from.r14, from.r15};
  static_assert(std::size(gpr) == trace::kNoGpr);
  std::copy(std::begin(gpr), std::end(gpr), state->gpr);
  state->gpr[trace::kNoGpr] = 0;
  state->rip = from.rip;
  state->flags = from.eflags & (trace::kArithmeticFlags | trace::kFlagDf);
  state->fs_base = from.fs_base;
  state->gs_base = from.gs_base;
  state->poison = 0;
  state->has_vector_state = 0;
}

}  // namespace

void ThreadStop::LetGo() {
  if (is_stopped_) ::ptrace(PTRACE_DETACH, tid_, nullptr, signal_);
  is_stopped_ = is_traced_ = false;
}

StopOutcome ThreadStop::Stop() {
  if (::ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr) != 0) {
    return errno == ESRCH ? StopOutcome::kGone : StopOutcome::kRefused;
  }
  is_traced_ = true;
  tracer_ = ::gettid();
  ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
  StopOutcome outcome = StopOutcome::kLate;
  const Patience patience(kPatienceNs);
  do {
    outcome = StopLater();
  } while (outcome == StopOutcome::kLate && patience.Pause());
  return outcome;
}

// Returns whether there is news of the thread: the kernel's word for a stop, or 0 for its end.
bool ThreadStop::Wait(int* status) {
  siginfo_t news = {};
  const int options = WSTOPPED | (reaps_ ? WEXITED : 0) | WNOHANG | __WALL | __WNOTHREAD;
  *status = 0;
  if (::waitid(P_PID, static_cast<id_t>(tid_), &news, options) != 0) return errno != EINTR;
  if (news.si_pid == 0) return false;
  const bool is_stop = news.si_code == CLD_TRAPPED || news.si_code == CLD_STOPPED;
  if (is_stop) *status = news.si_status;
  return true;
}

StopOutcome ThreadStop::StopLater() {
  int status = 0;
  if (!is_traced_) return StopOutcome::kGone;
  if (::gettid() != tracer_) return StopOutcome::kLate;
  return Wait(&status) ? Judge(status) : StopOutcome::kLate;
}

StopOutcome ThreadStop::Judge(int status) {
  if (status == 0) {
    is_traced_ = false;
    return StopOutcome::kGone;
  }
  is_stopped_ = true;
  const bool is_event = status >> 8 == PTRACE_EVENT_STOP;
  if (!is_event) signal_ = status;
  if (status != kInterrupted) return StopOutcome::kInSignal;
  if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers_) != 0) {
    is_stopped_ = is_traced_ = false;  // it was killed
    return StopOutcome::kGone;
  }
  GoOnWithSystemCall();
  return StopOutcome::kStopped;
}

bool ThreadStop::MayStep() const {
  constexpr uint64_t kTrap = uint64_t{1} << (SIGTRAP - 1);
  uint64_t mask = 0;
  return ::ptrace(PTRACE_GETSIGMASK, tid_, sizeof(mask), &mask) == 0 && (mask & kTrap) == 0;
}

bool ThreadStop::Step() {
  if (::ptrace(PTRACE_SINGLESTEP, tid_, nullptr, nullptr) != 0) return false;
  is_stopped_ = false;
  int status = 0;
  const Patience patience(kPatienceNs);
  while (!Wait(&status)) {
    if (!patience.Pause()) return false;
  }
  if (status == SIGTRAP) {
    is_stopped_ = true;
    return ::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers_) == 0;
  }
  (void)Judge(status);
  return false;
}

// The kernel takes the result as if the call had given it by itself: it executes the call again if
// there is no signal to handle, and otherwise returns EINTR behind the handler.
void ThreadStop::GoOnWithSystemCall() {
  if (!IsInSystemCall() || static_cast<int64_t>(registers_.rax) != -EINTR) return;
  const bool is_ended_by_stops = std::find(std::begin(kEndedByStops), std::end(kEndedByStops),
                                           registers_.orig_rax) != std::end(kEndedByStops);
  if (!is_ended_by_stops) return;
  user_regs_struct again = registers_;
  again.rax = static_cast<uint64_t>(-kRestartWithoutHandler);
  ::ptrace(PTRACE_SETREGS, tid_, nullptr, &again);
}

// The kernel writes to the area what it writes to the frame of a signal, but for the words of
// software. Of these it gives the components.
void ThreadStop::LoadVector(trace::MachineState* state) const {
  iovec into = {xsave_area_, sizeof(xsave_area_)};
  if (::ptrace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &into) != 0) {
    state->has_vector_state = 1;
    state->mxcsr = kInitialMxcsr;
    state->poison |= trace::kVectorStateBits;
    return;
  }
  SoftwareBytes software = {kFrameMagic, static_cast<uint32_t>(into.iov_len), 0,
                            static_cast<uint32_t>(into.iov_len)};
  std::memcpy(&software.features, xsave_area_ + kSoftwareBytes, sizeof(software.features));
  std::memcpy(xsave_area_ + kSoftwareBytes, &software, sizeof(software));
  ucontext_t context = {};
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(xsave_area_);
  trace::LoadVectorState(context, state);
}

trace::RegisterReader ThreadStop::reader() const {
  return {this, &LoadGeneral, [](const void* thread, trace::MachineState* state) {
            static_cast<const ThreadStop*>(thread)->LoadVector(state);
          }};
}

}  // namespace hbbp
