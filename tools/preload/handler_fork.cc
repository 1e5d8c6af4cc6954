// fork(). In a signal handler a program with one thread may call it wherever the signal arrives, in
// malloc too: the C library takes no locks then. With our worker it has two threads, and fork would
// wait for ever for the lock of malloc that the interrupted code holds. So the C library is made to
// believe there that there is one thread. The worker holds none of its locks.
//
// The child is not profiled until it runs another program: starting that needs memory.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>

#include "preload/image_profile.h"
#include "preload/libc_threads.h"
#include "preload/own_memory.h"
#include "session/session_registry.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace hbbp::preload {
namespace {

using ForkFunction = pid_t (*)();

struct {
  ForkFunction fork;
  ForkFunction bare_fork;  // calls no handlers of pthread_atfork; null before glibc 2.34
} c_library;

__attribute__((constructor(101))) void LookUpAll() {
  if (c_library.fork != nullptr) return;
  c_library.bare_fork = reinterpret_cast<ForkFunction>(::dlsym(RTLD_NEXT, "_Fork"));
  c_library.fork = reinterpret_cast<ForkFunction>(::dlsym(RTLD_NEXT, "fork"));
}

struct Walk {
  int frames = 0;
  bool has_signal_frame = false;
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* argument) {
  // A handler and the functions that it calls are among the first frames.
  constexpr int kMaxFrames = 64;
  auto* const walk = static_cast<Walk*>(argument);
  // It is true for the frame that a signal interrupted.
  int is_at_instruction = 0;
  (void)_Unwind_GetIPInfo(context, &is_at_instruction);
  walk->has_signal_frame = is_at_instruction != 0;
  const bool goes_on = !walk->has_signal_frame && ++walk->frames < kMaxFrames;
  return goes_on ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool IsInSignalHandler() {
  Walk walk;
  _Unwind_Backtrace(&VisitFrame, &walk);
  return walk.has_signal_frame;
}

// Forks without our handlers, which free memory and start the profile of the child.
pid_t ForkQuietly(ForkFunction fork) {
  SessionRegistry& registry = SessionRegistry::Get();
  const ForkAtAnyPoint memory;
  registry.SetBareFork(true);
  const pid_t child = fork();
  const int saved_errno = errno;
  if (child == 0) AbandonImageInChild();
  registry.SetBareFork(false);
  errno = saved_errno;
  return child;
}

pid_t ForkInHandler() {
  const ScopedThreadBelief belief(true);
  const bool is_bare = !ScopedThreadBelief::IsPossible() && c_library.bare_fork != nullptr;
  return ForkQuietly(is_bare ? c_library.bare_fork : c_library.fork);
}

pid_t ForkInProgram() {
  const ScopedThreadBelief belief(false);
  return c_library.fork();
}

}  // namespace
}  // namespace hbbp::preload

extern "C" HBBP_INTERPOSE pid_t fork() noexcept {
  using namespace hbbp::preload;  // NOLINT(google-build-using-namespace): C functions are global
  LookUpAll();
  return HasOneThreadBesidesWorker() && IsInSignalHandler() ? ForkInHandler() : ForkInProgram();
}
