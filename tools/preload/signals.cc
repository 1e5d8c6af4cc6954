// The functions by which a program sets what signals do. Some signals are shared with software
// branch tracing (trace/signal_chain.h): the program sees and sets its own actions of these, and
// ours stay in place. And those of samples stay unblocked, because a sample that waits until a
// program unblocks it is no sample of what ran.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <initializer_list>

#include "preload/own_process.h"
#include "trace/signal_chain.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

using Handler = void (*)(int);

struct NextFunctions {
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  Handler (*signal)(int, Handler);
  Handler (*sysv_signal)(int, Handler);
  int (*sigprocmask)(int, const sigset_t*, sigset_t*);
  int (*pthread_sigmask)(int, const sigset_t*, sigset_t*);
};

NextFunctions next;

template <typename Function>
void LookUp(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((constructor(101))) void LookUpAll() {
  if (next.sigaction != nullptr) return;
  LookUp("signal", &next.signal);
  LookUp("__sysv_signal", &next.sysv_signal);
  LookUp("sigprocmask", &next.sigprocmask);
  LookUp("pthread_sigmask", &next.pthread_sigmask);
  LookUp("sigaction", &next.sigaction);
}

// Called by constructors of other libraries, these may come before LookUpAll.
const NextFunctions& Next() {
  LookUpAll();
  return next;
}

// Is the action of `signal` in our keeping, and not in the kernel's?
bool IsKept(int signal) { return hbbp::trace::IsChained(signal) && hbbp::preload::IsOwnProcess(); }

// In a child of vfork, whose handlers are its own. What it has from its parent is ours.
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

// All but the faults, which a program blocks at its own risk. Tracing begins while the program
// already runs, so SIGTRAP before it is known whether it will be needed.
void LeaveUnblocked(sigset_t* set) {
  using hbbp::trace::kBreakpointSignal, hbbp::trace::kSampleSignal;
  sigdelset(set, SIGTRAP);
  if (hbbp::trace::IsChained(kSampleSignal)) sigdelset(set, kSampleSignal);
  if (hbbp::trace::IsChained(kBreakpointSignal)) sigdelset(set, kBreakpointSignal);
}

const sigset_t* Adjust(int how, const sigset_t* set, sigset_t* copy) {
  if (set == nullptr || how == SIG_UNBLOCK) return set;
  *copy = *set;
  LeaveUnblocked(copy);
  return copy;
}

}  // namespace

extern "C" {

HBBP_INTERPOSE int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* previous) noexcept {
  if (!IsKept(signal)) {
    if (action == nullptr) return SetInKernel(signal, action, previous);
    struct sigaction adjusted = *action;
    LeaveUnblocked(&adjusted.sa_mask);
    return SetInKernel(signal, &adjusted, previous);
  }
  // In this order: both may be the same object.
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
  sigset_t copy;
  return Next().sigprocmask(how, Adjust(how, set, &copy), previous);
}

HBBP_INTERPOSE int pthread_sigmask(int how, const sigset_t* set, sigset_t* previous) noexcept {
  sigset_t copy;
  return Next().pthread_sigmask(how, Adjust(how, set, &copy), previous);
}

}  // extern "C"
