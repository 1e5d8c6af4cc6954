// The functions by which a program sets the actions of signals. Some signals are shared with
// software branch tracing (trace/signal_chain.h): the program sees and sets its own actions of
// these, and ours stay installed. And the signals of samples stay unblocked, because a sample that
// waits until a program unblocks it is not a sample of what ran. Each function calls the one of the
// C library for all other signals.

#include "preload/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>

#include "backends/threads.h"
#include "preload/image_profile.h"
#include "preload/next_function.h"
#include "preload/own_process.h"
#include "preload/seccomp_filter.h"
#include "trace/signal_chain.h"
#include "trace/signal_data.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

using Handler = void (*)(int);

struct NextFunctions {
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  Handler (*signal)(int, Handler);
  Handler (*sysv_signal)(int, Handler);
  int (*sigprocmask)(int, const sigset_t*, sigset_t*);
  int (*pthread_sigmask)(int, const sigset_t*, sigset_t*);
  int (*signalfd)(int, const sigset_t*, int);
  int (*sigtimedwait)(const sigset_t*, siginfo_t*, const timespec*);
};

NextFunctions next;

__attribute__((constructor(101))) void LookUpAll() {
  using hbbp::preload::LookUp;
  if (next.sigaction != nullptr) return;
  LookUp("signal", &next.signal);
  LookUp("__sysv_signal", &next.sysv_signal);
  LookUp("sigprocmask", &next.sigprocmask);
  LookUp("pthread_sigmask", &next.pthread_sigmask);
  LookUp("signalfd", &next.signalfd);
  LookUp("sigtimedwait", &next.sigtimedwait);
  LookUp("sigaction", &next.sigaction);
}

// If constructors of other libraries call the functions, they may run before LookUpAll.
const NextFunctions& Next() {
  LookUpAll();
  return next;
}

// Returns whether we keep the action of `signal`, instead of the kernel.
bool IsKept(int signal) {
  return hbbp::trace::IsChained(signal) && hbbp::preload::HasOwnHandlers();
}

// Records whether the program has blocked SIGTRAP in this thread. A thread that has never set its
// mask has that of its creator, which is assumed to be the newest mask that was set.
enum class Blocked : uint8_t { kAsNewest, kNo, kYes };
[[gnu::tls_model("initial-exec")]] constinit thread_local Blocked traps = Blocked::kAsNewest;
std::atomic<bool> newest_blocks_traps{false};

bool TrapIsBlocked() {
  return traps == Blocked::kAsNewest ? newest_blocks_traps.load(std::memory_order_relaxed)
                                     : traps == Blocked::kYes;
}

void SetTrapIsBlocked(bool is_blocked) {
  traps = is_blocked ? Blocked::kYes : Blocked::kNo;
  newest_blocks_traps.store(is_blocked, std::memory_order_relaxed);
}

constexpr uint64_t BitOf(int signal) { return uint64_t{1} << (signal - 1); }

// Neither the kernel nor the C library blocks these for a program, and SIGTRAP is not blocked here.
constexpr uint64_t kNotInMasks =
    BitOf(SIGKILL) | BitOf(SIGSTOP) | BitOf(32) | BitOf(33) | BitOf(SIGTRAP);

uint64_t BitsOf(const sigset_t& set) {
  uint64_t bits;
  std::memcpy(&bits, &set, sizeof(bits));
  return bits & ~kNotInMasks;
}

// What this thread had blocked in the kernel behind its last changes of its mask, the newest first,
// and whether it had blocked SIGTRAP. Behind a handler the kernel restores what was blocked in
// front of it, and siglongjmp does so too, but they know nothing of SIGTRAP.
struct KnownMask {
  uint64_t blocked;
  bool blocks_traps;
};
constexpr unsigned kKnownMasks = 8;
[[gnu::tls_model("initial-exec")]] constinit thread_local KnownMask known_masks[kKnownMasks] = {};
[[gnu::tls_model("initial-exec")]] constinit thread_local unsigned known_mask_count = 0;

void AddKnownMask(KnownMask mask) {
  unsigned last = 0;
  while (last < known_mask_count && (known_masks[last].blocked != mask.blocked ||
                                     known_masks[last].blocks_traps != mask.blocks_traps)) {
    ++last;
  }
  if (last == known_mask_count) {
    if (known_mask_count < kKnownMasks) ++known_mask_count;
    last = known_mask_count - 1;
  }
  for (; last > 0; --last) known_masks[last] = known_masks[last - 1];
  known_masks[0] = mask;
}

// The same where the thread has so many signals blocked in the kernel. A mask that has more than
// these was left.
bool TrapIsBlockedWith(uint64_t blocked) {
  if (traps != Blocked::kYes) return TrapIsBlocked();
  for (unsigned i = 0; i < known_mask_count; ++i) {
    if ((known_masks[i].blocked & ~blocked) != 0) continue;
    if (!known_masks[i].blocks_traps) SetTrapIsBlocked(false);
    return known_masks[i].blocks_traps;
  }
  SetTrapIsBlocked(false);
  return false;
}

bool TrapIsBlockedNow() {
  if (traps != Blocked::kYes) return TrapIsBlocked();
  uint64_t blocked = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof(blocked));
  return TrapIsBlockedWith(blocked);
}

// The child of vfork that has set its mask, on the thread of its parent: it has the variables of
// that, but a mask of its own, and no samples.
[[gnu::tls_model("initial-exec")]] constinit thread_local pid_t child_with_mask = 0;

bool HasMaskOfChild() { return child_with_mask != 0 && child_with_mask == ::getpid(); }

// Runs also in a child of vfork, whose handlers are its own. Those from its parent are ours.
int SetInKernel(int signal, const struct sigaction* action, struct sigaction* previous) {
  struct sigaction before;
  const int result = Next().sigaction(signal, action, &before);
  if (result != 0 || previous == nullptr) return result;
  const bool is_ours = hbbp::trace::IsChained(signal) && hbbp::trace::IsActionOfChain(before);
  *previous = is_ours ? hbbp::trace::ProgramAction(signal) : before;
  return 0;
}

Handler SetHandler(int signal, Handler handler, int flags, bool blocks_itself) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (blocks_itself) sigaddset(&action.sa_mask, signal);
  const Handler previous = hbbp::trace::ProgramAction(signal).sa_handler;
  hbbp::trace::SetProgramAction(signal, action);
  return previous;
}

// Removes the signals that must stay unblocked: all but the faults, which a program blocks at its
// own risk. Tracing begins while the program already runs, so SIGTRAP is included before it is
// known whether it will be needed.
void RemoveOwnSignals(sigset_t* set) {
  using hbbp::trace::kBreakpointSignal, hbbp::trace::kSampleSignal;
  sigdelset(set, SIGTRAP);
  if (hbbp::trace::IsChained(kSampleSignal)) sigdelset(set, kSampleSignal);
  if (hbbp::trace::IsChained(kBreakpointSignal)) sigdelset(set, kBreakpointSignal);
}

constexpr uint64_t kTrapMask = BitOf(SIGTRAP);

// Returns what was blocked before.
uint64_t SetTrapInKernel(int how) {
  uint64_t previous = 0;
  ::syscall(SYS_rt_sigprocmask, how, &kTrapMask, &previous, sizeof(kTrapMask));
  return previous;
}

// Returns whether a SIGTRAP that a thread waited for is ours, which came while it was blocked.
bool IsOfTracer(int signal, const siginfo_t& info) {
  return signal == SIGTRAP &&
         (hbbp::trace::SignalDataOf(info) & hbbp::trace::kCookieMask) == hbbp::trace::kSignalCookie;
}

void DropWaitingSamples() {
  constexpr timespec kNoTime = {};
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  const int saved_errno = errno;
  siginfo_t info;
  int signal;
  do {
    signal = Next().sigtimedwait(&trap, &info, &kNoTime);
  } while (signal > 0 && IsOfTracer(signal, info));
  if (signal > 0) hbbp::trace::SendAgain(info);
  errno = saved_errno;
}

// The image before this one may have left a sample that came while it blocked SIGTRAP for exec:
// where that is unblocked before there is a handler, it would end the process.
void DropSamplesOfLastImage() {
  static std::atomic<bool> are_dropped{false};
  if (are_dropped.load(std::memory_order_relaxed)) return;
  are_dropped.store(true, std::memory_order_relaxed);
  if (!hbbp::preload::HasFilterFromTheStart()) DropWaitingSamples();
}

// Calls sigprocmask or pthread_sigmask, `next`, with the mask that the program sees.
int SetMask(int (*next_function)(int, const sigset_t*, sigset_t*), int how, const sigset_t* set,
            sigset_t* previous) {
  DropSamplesOfLastImage();
  const bool was_blocked = TrapIsBlockedNow();
  if (set != nullptr && !hbbp::preload::IsOwnProcess() && !HasMaskOfChild()) {
    if (was_blocked) SetTrapInKernel(SIG_BLOCK);
    child_with_mask = ::getpid();
  }
  if (HasMaskOfChild()) return next_function(how, set, previous);
  sigset_t copy;
  const sigset_t* adjusted = set;
  if (set != nullptr && how != SIG_UNBLOCK) {
    copy = *set;
    RemoveOwnSignals(&copy);
    adjusted = &copy;
  }
  const bool has_trap = set != nullptr && sigismember(set, SIGTRAP) == 1;
  const bool is_blocked = set == nullptr       ? was_blocked
                          : how == SIG_SETMASK ? has_trap
                          : how == SIG_BLOCK   ? was_blocked || has_trap
                                               : was_blocked && !has_trap;
  // A signal that waits comes in the call.
  const bool unblocks = was_blocked && !is_blocked;
  if (unblocks) SetTrapIsBlocked(false);
  const uint64_t changed = adjusted == nullptr ? 0 : BitsOf(*adjusted);
  sigset_t own;
  sigset_t* const before = previous == nullptr ? &own : previous;
  const int result = next_function(how, adjusted, before);
  if (result != 0 && unblocks) SetTrapIsBlocked(true);
  if (result != 0) return result;
  if (set != nullptr && !unblocks) SetTrapIsBlocked(is_blocked);
  if (set != nullptr) {
    const uint64_t blocked = how == SIG_SETMASK ? changed
                             : how == SIG_BLOCK ? BitsOf(*before) | changed
                                                : BitsOf(*before) & ~changed;
    AddKnownMask({blocked, is_blocked});
  }
  if (previous != nullptr && was_blocked) sigaddset(previous, SIGTRAP);
  return 0;
}

// For the functions of BSD, whose masks have a bit for each of the signals 1 to 32.
int SetOldMask(int how, int mask) {
  constexpr int kSignals = 32;
  sigset_t set, previous;
  sigemptyset(&set);
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((static_cast<unsigned>(mask) >> (signal - 1) & 1) != 0) sigaddset(&set, signal);
  }
  if (::sigprocmask(how, &set, &previous) != 0) return -1;
  unsigned blocked = 0;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (sigismember(&previous, signal) == 1) blocked |= 1u << (signal - 1);
  }
  return static_cast<int>(blocked);
}

__attribute__((constructor)) void AnswerTracer() {
  DropSamplesOfLastImage();
  hbbp::trace::SetTrapBlockedQuery(&TrapIsBlockedWith);
}

}  // namespace

// A thread that still runs may get a SIGTRAP from a sample or a breakpoint before they ended. Our
// handler takes it, and makes no system call for it.
void hbbp::preload::ReleaseSignals() {
  bool is_alone = false;
  try {
    const auto threads = hbbp::ListThreads();
    is_alone = threads.ok() && threads->size() == 1;
  } catch (const std::bad_alloc&) {
    // It behaves as if there were other threads.
  }
  hbbp::trace::ReleaseSignals(is_alone);
}

void hbbp::preload::PrepareSignalsForExec() {
  if (HasFilter()) return;
  hbbp::trace::IgnoreForExec(IsOwnProcess());
  if (!TrapIsBlockedNow() || HasMaskOfChild()) return;
  SetTrapInKernel(SIG_BLOCK);
  if (IsOwnProcess()) DropWaitingSamples();
}

bool hbbp::preload::PrepareSignalsForSpawn() {
  if (HasFilter() || !TrapIsBlockedNow() || !IsOwnProcess()) return false;
  return (SetTrapInKernel(SIG_BLOCK) & kTrapMask) == 0;
}

void hbbp::preload::RestoreSignalsAfterSpawn() {
  const int saved_errno = errno;
  if (!HasFilter()) SetTrapInKernel(SIG_UNBLOCK);
  errno = saved_errno;
}

bool hbbp::preload::IsIgnoredHere(int signal) {
  return IsKept(signal) && hbbp::trace::ProgramAction(signal).sa_handler == SIG_IGN;
}

void hbbp::preload::IgnoreInKernel(int signal) { Next().signal(signal, SIG_IGN); }

// A sample that waits would end the wait.
bool hbbp::preload::PrepareForTrapInWait() {
  if (HasFilter() || !TrapIsBlockedNow() || !IsOwnProcess()) return false;
  DropWaitingSamples();
  traps = Blocked::kNo;
  return true;
}

void hbbp::preload::BlockTrapAfterWait() { traps = Blocked::kYes; }

// Chromium's processes set all signals to their defaults so, between fork and exec: the next sample
// would end them.
bool hbbp::preload::SetRawAction(int signal, const void* action, void* previous, size_t set_bytes) {
  using hbbp::trace::KernelAction;
  if (set_bytes != sizeof(KernelAction::mask) || !IsKept(signal)) return false;
  const KernelAction before = hbbp::trace::ToKernel(hbbp::trace::ProgramAction(signal));
  if (action != nullptr) {
    const struct sigaction wanted =
        hbbp::trace::FromKernel(*static_cast<const KernelAction*>(action));
    hbbp::trace::SetProgramAction(signal, wanted);
  }
  if (previous != nullptr) *static_cast<KernelAction*>(previous) = before;
  return true;
}

void hbbp::preload::RestoreSignalsAfterExec() {
  if (HasFilter()) return;
  const int saved_errno = errno;
  if (TrapIsBlocked() && IsOwnProcess()) SetTrapInKernel(SIG_UNBLOCK);
  if (HasOwnHandlers()) hbbp::trace::TakeBackAfterExec(IsOwnProcess());
  errno = saved_errno;
}

extern "C" {

HBBP_INTERPOSE int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* previous) noexcept {
  if (!IsKept(signal)) {
    if (action == nullptr) return SetInKernel(signal, action, previous);
    struct sigaction adjusted = *action;
    RemoveOwnSignals(&adjusted.sa_mask);
    return SetInKernel(signal, &adjusted, previous);
  }
  // The order matters: both may be the same object.
  const struct sigaction before = hbbp::trace::ProgramAction(signal);
  if (action != nullptr) hbbp::trace::SetProgramAction(signal, *action);
  if (previous != nullptr) *previous = before;
  return 0;
}

HBBP_INTERPOSE Handler signal(int number, Handler handler) noexcept {
  if (!IsKept(number)) return Next().signal(number, handler);
  return SetHandler(number, handler, SA_RESTART, true);
}

HBBP_INTERPOSE Handler bsd_signal(int number, Handler handler) noexcept {
  return signal(number, handler);
}

HBBP_INTERPOSE Handler __sysv_signal(int number, Handler handler) noexcept {
  if (!IsKept(number)) return Next().sysv_signal(number, handler);
  return SetHandler(number, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER), false);
}

HBBP_INTERPOSE Handler sysv_signal(int number, Handler handler) noexcept {
  return __sysv_signal(number, handler);
}

HBBP_INTERPOSE int sigprocmask(int how, const sigset_t* set, sigset_t* previous) noexcept {
  return SetMask(Next().sigprocmask, how, set, previous);
}

HBBP_INTERPOSE int pthread_sigmask(int how, const sigset_t* set, sigset_t* previous) noexcept {
  return SetMask(Next().pthread_sigmask, how, set, previous);
}

// dash calls sigsetmask in the children that execute its commands.
HBBP_INTERPOSE int sigblock(int mask) noexcept { return SetOldMask(SIG_BLOCK, mask); }
HBBP_INTERPOSE int sigsetmask(int mask) noexcept { return SetOldMask(SIG_SETMASK, mask); }

HBBP_INTERPOSE Handler ssignal(int number, Handler handler) noexcept {
  return signal(number, handler);
}

HBBP_INTERPOSE int sigignore(int number) noexcept {
  const struct sigaction action = {};
  struct sigaction ignoring = action;
  ignoring.sa_handler = SIG_IGN;
  return sigaction(number, &ignoring, nullptr);
}

HBBP_INTERPOSE int siginterrupt(int number, int interrupts) noexcept {
  struct sigaction action;
  if (sigaction(number, nullptr, &action) != 0) return -1;
  if (interrupts) {
    action.sa_flags &= ~SA_RESTART;
  } else {
    action.sa_flags |= SA_RESTART;
  }
  return sigaction(number, &action, nullptr);
}

HBBP_INTERPOSE int sighold(int number) noexcept {
  sigset_t set;
  sigemptyset(&set);
  if (sigaddset(&set, number) != 0) return -1;
  return sigprocmask(SIG_BLOCK, &set, nullptr);
}

HBBP_INTERPOSE int sigrelse(int number) noexcept {
  sigset_t set;
  sigemptyset(&set);
  if (sigaddset(&set, number) != 0) return -1;
  return sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

HBBP_INTERPOSE Handler sigset(int number, Handler handler) noexcept {
  sigset_t set, blocked;
  struct sigaction before;
  sigemptyset(&set);
  if (handler == SIG_ERR || sigaddset(&set, number) != 0) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  const bool holds = handler == SIG_HOLD;
  if (sigaction(number, holds ? nullptr : &action, &before) != 0) return SIG_ERR;
  if (sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &blocked) != 0) return SIG_ERR;
  return sigismember(&blocked, number) == 1 ? SIG_HOLD : before.sa_handler;
}

HBBP_INTERPOSE int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  siginfo_t found;
  for (;;) {
    const int signal = Next().sigtimedwait(set, &found, timeout);
    if (IsOfTracer(signal, found)) continue;
    if (signal > 0 && info != nullptr) *info = found;
    return signal;
  }
}

// The file would contain samples too, which wait because the program blocks SIGTRAP, and these
// cannot be filtered out there.
HBBP_INTERPOSE int signalfd(int fd, const sigset_t* mask, int flags) noexcept {
  if (sigismember(mask, SIGTRAP) == 1 && IsKept(SIGTRAP)) {
    const int saved_errno = errno;
    hbbp::preload::EndImage(
        "sampling ended early: the program takes SIGTRAP, which branch tracing needs, from a "
        "descriptor (signalfd)");
    errno = saved_errno;
  }
  return Next().signalfd(fd, mask, flags);
}

HBBP_INTERPOSE int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return sigtimedwait(set, info, nullptr);
}

HBBP_INTERPOSE int sigwait(const sigset_t* set, int* number) {
  const int saved_errno = errno;
  for (;;) {
    const int signal = sigtimedwait(set, nullptr, nullptr);
    const int error_number = errno;
    errno = saved_errno;
    if (signal > 0) {
      *number = signal;
      return 0;
    }
    if (error_number != EINTR) return error_number;
  }
}

}  // extern "C"
