// The functions by which a program sets what signals do. Three signals are shared with software
// branch tracing (trace/signal_chain.h): the program sees and sets its own actions of these, and
// ours stay in place. And SIGTRAP stays unblocked, because a sample that waits until a program
// unblocks it is no sample of what ran.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "trace/signal_chain.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

using hbbp::trace::IsChained;
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

Handler SetHandler(int signal, Handler handler, int flags, bool blocks_itself) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (blocks_itself) sigaddset(&action.sa_mask, signal);
  const Handler previous = hbbp::trace::ProgramAction(signal).sa_handler;
  hbbp::trace::SetProgramAction(signal, action);
  return previous;
}

// Without SIGTRAP, unless that is unblocked.
const sigset_t* Adjust(int how, const sigset_t* set, sigset_t* copy) {
  if (set == nullptr || how == SIG_UNBLOCK || !IsChained(SIGTRAP)) return set;
  *copy = *set;
  sigdelset(copy, SIGTRAP);
  return copy;
}

}  // namespace

extern "C" {

HBBP_INTERPOSE int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* previous) noexcept {
  if (!IsChained(signal)) {
    if (action == nullptr || !IsChained(SIGTRAP)) return Next().sigaction(signal, action, previous);
    struct sigaction adjusted = *action;
    sigdelset(&adjusted.sa_mask, SIGTRAP);
    return Next().sigaction(signal, &adjusted, previous);
  }
  // In this order: both may be the same object.
  const struct sigaction before = hbbp::trace::ProgramAction(signal);
  if (action != nullptr) hbbp::trace::SetProgramAction(signal, *action);
  if (previous != nullptr) *previous = before;
  return 0;
}

HBBP_INTERPOSE Handler signal(int number, Handler handler) noexcept {
  if (!IsChained(number)) return Next().signal(number, handler);
  return SetHandler(number, handler, SA_RESTART, true);
}

HBBP_INTERPOSE Handler bsd_signal(int number, Handler handler) noexcept {
  return signal(number, handler);
}

HBBP_INTERPOSE Handler __sysv_signal(int number, Handler handler) noexcept {
  if (!IsChained(number)) return Next().sysv_signal(number, handler);
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
