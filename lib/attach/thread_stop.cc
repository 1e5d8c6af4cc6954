// Stop seizes the thread, interrupts it and waits (Poll, Judge). Judge reads the registers and has
// a system call go on that the interruption has ended (GoOnWithSystemCall). LoadGeneral and
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
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/proc_path.h"
#include "image/process_memory.h"
#include "trace/native/signal_context.h"
#include "trace/restartable_sequence.h"

namespace hbbp {
namespace {

constexpr uint64_t kPatienceNs = 250'000'000;
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
// (signal(7)); those of sockets where these have a time limit (SO_RCVTIMEO). Without a signal, a
// thread that waits goes on waiting.
constexpr uint64_t kEndedByStops[] = {
    SYS_epoll_wait,     SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_io_getevents, SYS_io_pgetevents,
    SYS_io_uring_enter, SYS_rt_sigtimedwait, SYS_semop,        SYS_semtimedop,   SYS_accept,
    SYS_accept4,        SYS_connect,         SYS_recvfrom,     SYS_recvmsg,      SYS_recvmmsg,
    SYS_sendto,         SYS_sendmsg,         SYS_sendmmsg,     SYS_read,         SYS_readv,
    SYS_preadv2,        SYS_write,           SYS_writev,       SYS_pwritev2};
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

// The request and the struct of ptrace(2), which libraries before glibc 2.34 do not have.
constexpr auto kGetRseqConfiguration = static_cast<__ptrace_request>(0x420f);
struct RseqConfiguration {
  uint64_t area;
  uint32_t area_size;
  uint32_t signature;
  uint32_t flags;
  uint32_t padding;
};

template <typename Value>
bool ReadValue(pid_t pid, uint64_t address, Value* value) {
  const std::span bytes(reinterpret_cast<uint8_t*>(value), sizeof(Value));
  return ReadProcessMemory(pid, RuntimeAddress{address}, bytes) == sizeof(Value);
}

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

// Such a thread is refused like one of another user. proc(5): "7 (name) Z ...".
bool IsZombie(pid_t pid, pid_t tid) {
  const StatusOr<std::string> stat = ReadTextFile(ProcPath(pid, tid, "stat"));
  if (!stat.ok()) return true;
  const size_t end = stat->rfind(')');
  return end != std::string::npos && end + 2 < stat->size() && (*stat)[end + 2] == 'Z';
}

}  // namespace

void ThreadStop::LetGo() {
  if (!is_stopped_) return;
  is_stopped_ = false;
  // It fails if the thread was killed: then it is to be waited for.
  if (::ptrace(PTRACE_DETACH, tid_, nullptr, signal_) == 0) is_traced_ = false;
}

StopOutcome ThreadStop::Stop() {
  if (::ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr) != 0) {
    const bool is_gone = errno == ESRCH || IsZombie(pid_, tid_);
    return is_gone ? StopOutcome::kGone : StopOutcome::kRefused;
  }
  is_traced_ = true;
  tracer_ = ::gettid();
  stopped_since_ns_ = ClockNs(CLOCK_MONOTONIC);
  if (::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) (void)FollowExec();
  const Patience patience(kPatienceNs);
  for (;;) {
    const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
    const StopOutcome outcome = Poll();
    if (outcome != StopOutcome::kLate) return outcome;
    stopped_since_ns_ = now_ns;
    if (!patience.Pause()) return outcome;
  }
}

// A thread that executes another program takes the number of the first thread of its
// process, and stays traced. Returns whether it did.
bool ThreadStop::FollowExec() {
  if (tid_ == pid_ || ::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) != 0) return false;
  tid_ = pid_;
  return true;
}

StopOutcome ThreadStop::Poll() {
  siginfo_t news = {};
  // The end of a child belongs to the thread that waits for it.
  const bool reaps = tid_ != pid_ || !is_child_;
  const int options = WSTOPPED | (reaps ? WEXITED : 0) | WNOHANG | __WALL | __WNOTHREAD;
  if (::waitid(P_PID, static_cast<id_t>(tid_), &news, options) != 0) {
    if (errno == EINTR || FollowExec()) return StopOutcome::kLate;
    is_traced_ = false;
    return StopOutcome::kGone;
  }
  if (news.si_pid == 0) return StopOutcome::kLate;
  if (news.si_code == CLD_TRAPPED || news.si_code == CLD_STOPPED) return Judge(news.si_status);
  is_traced_ = false;
  return StopOutcome::kGone;
}

StopOutcome ThreadStop::StopLater() {
  if (!is_traced_) return StopOutcome::kGone;
  if (::gettid() != tracer_) return StopOutcome::kLate;
  const StopOutcome outcome = Poll();
  // The first thread of a child has no news if another one has its number now.
  const bool may_be_replaced = outcome == StopOutcome::kLate && tid_ == pid_;
  if (may_be_replaced && ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0 &&
      errno == ESRCH) {
    is_traced_ = false;
    return StopOutcome::kGone;
  }
  return outcome;
}

// `status` is the kernel's word for a stop.
StopOutcome ThreadStop::Judge(int status) {
  is_stopped_ = true;
  const bool was_stepping = std::exchange(is_stepping_, false);
  const bool has_stepped = was_stepping && status == SIGTRAP;
  if (!has_stepped) {
    const bool is_event = status >> 8 == PTRACE_EVENT_STOP;
    if (!is_event) signal_ = status;
    // The trap of the step would end the process once the thread is let go.
    if (was_stepping && is_event && HasTrapOfStep()) (void)GoOnToTrap(PTRACE_CONT);
    if (was_stepping || status != kInterrupted) return StopOutcome::kInSignal;
  }
  if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers_) != 0) {
    is_stopped_ = false;
    return StopOutcome::kLate;  // it was killed
  }
  if (!has_stepped) GoOnWithSystemCall();
  return StopOutcome::kStopped;
}

// Returns whether a stop of the process is reported in front of the trap of a step that was made at
// the same time.
bool ThreadStop::HasTrapOfStep() const {
  constexpr size_t kMaxSignals = 32;
  __ptrace_peeksiginfo_args which = {0, 0, kMaxSignals};  // those of the thread
  siginfo_t waiting[kMaxSignals];
  const long count = ::ptrace(PTRACE_PEEKSIGINFO, tid_, &which, waiting);
  return std::any_of(waiting, waiting + std::max(count, 0L), [](const siginfo_t& signal) {
    return signal.si_signo == SIGTRAP &&
           (signal.si_code == TRAP_TRACE || signal.si_code == TRAP_BRKPT);
  });
}

bool ThreadStop::MayStep() const {
  constexpr uint64_t kTrap = uint64_t{1} << (SIGTRAP - 1);
  constexpr uint64_t kMaxStatusBytes = 16 * 1024;
  uint64_t mask = 0;
  const bool is_known = ::ptrace(PTRACE_GETSIGMASK, tid_, sizeof(mask), &mask) == 0;
  if (!is_known || (mask & kTrap) != 0) return false;
  const StatusOr<std::string> status = ReadTextFile(ProcPath(pid_, "status"), kMaxStatusBytes);
  constexpr std::string_view kIgnored = "\nSigIgn:";
  const size_t ignored = status.ok() ? status->find(kIgnored) : std::string::npos;
  if (ignored == std::string::npos) return false;
  return (std::strtoull(status->c_str() + ignored + kIgnored.size(), nullptr, 16) & kTrap) == 0;
}

bool ThreadStop::Step() { return GoOnToTrap(PTRACE_SINGLESTEP); }

bool ThreadStop::GoOnToTrap(int request) {
  is_stopped_ = false;
  const auto how = static_cast<__ptrace_request>(request);
  if (::ptrace(how, tid_, nullptr, nullptr) != 0) return false;  // it was killed
  is_stepping_ = true;
  const Patience patience(kPatienceNs);
  for (;;) {
    const StopOutcome outcome = Poll();
    if (outcome != StopOutcome::kLate) return outcome == StopOutcome::kStopped;
    if (!patience.Pause()) return false;
  }
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

uint64_t ThreadStop::FindSequenceSlot() const {
  RseqConfiguration registered = {};
  void* const size = reinterpret_cast<void*>(sizeof(registered));
  if (::ptrace(kGetRseqConfiguration, tid_, size, &registered) < 0) return 0;
  return registered.area == 0 ? 0 : registered.area + trace::kOffsetOfDescriptorAddress;
}

bool ThreadStop::IsInRestartableSequence() {
  if (!sequence_slot_) sequence_slot_ = FindSequenceSlot();
  uint64_t address = 0;
  trace::SequenceDescriptor sequence;
  const bool is_set =
      *sequence_slot_ != 0 && ReadValue(pid_, *sequence_slot_, &address) && address != 0;
  if (!is_set || !ReadValue(pid_, address, &sequence)) return false;
  return registers_.rip - sequence.start_ip < sequence.post_commit_offset;
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
