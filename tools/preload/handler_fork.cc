// fork() in a signal handler. A program with one thread may call it wherever the signal arrives, in
// malloc too: the C library takes no locks then. But with our worker it has two threads, and fork
// would wait for ever for the lock of malloc that the interrupted code holds. So fork here stops
// the worker where it uses nothing of the C library, and makes the C library believe that there is
// one thread.
//
// The child is not profiled until it runs another program: starting that needs memory.

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/types.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdlib>

#include "preload/image_profile.h"
#include "session/session_registry.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace hbbp::preload {
namespace {

using ForkFunction = pid_t (*)();

struct {
  ForkFunction fork;
  ForkFunction bare_fork;  // calls no handlers of pthread_atfork; null before glibc 2.34
  char* single_threaded;   // the flag by which fork knows that; null before glibc 2.36
} c_library;

bool HasFlagOfThreads() {
  char* end;
  const long major = std::strtol(::gnu_get_libc_version(), &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return major > 2 || (major == 2 && minor >= 36);
}

// Finds the C library's own flag, where the program has a copy of it.
char* FindFlagOfThreads() {
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const flag = ::dlsym(library, "__libc_single_threaded");
  ::dlclose(library);
  return static_cast<char*>(flag);
}

__attribute__((constructor(101))) void LookUpAll() {
  if (c_library.fork != nullptr) return;
  c_library.bare_fork = reinterpret_cast<ForkFunction>(::dlsym(RTLD_NEXT, "_Fork"));
  if (HasFlagOfThreads()) c_library.single_threaded = FindFlagOfThreads();
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
  registry.SetBareFork(true);
  const pid_t child = fork();
  const int saved_errno = errno;
  if (child == 0) AbandonImageInChild();
  registry.SetBareFork(false);
  errno = saved_errno;
  return child;
}

pid_t ForkAsOneThread() {
  const char before = *c_library.single_threaded;
  *c_library.single_threaded = 1;
  const pid_t child = ForkQuietly(c_library.fork);
  if (child != 0) *c_library.single_threaded = before;
  return child;
}

pid_t ForkInHandler() {
  constexpr int kParkTimeoutMs = 5000;
  const bool is_parked = c_library.single_threaded != nullptr && ParkImage(kParkTimeoutMs);
  if (is_parked) {
    const pid_t child = ForkAsOneThread();
    if (child != 0) UnparkImage();
    return child;
  }
  // The worker may wait for the same lock.
  return ForkQuietly(c_library.bare_fork != nullptr ? c_library.bare_fork : c_library.fork);
}

}  // namespace
}  // namespace hbbp::preload

extern "C" HBBP_INTERPOSE pid_t fork() noexcept {
  using namespace hbbp::preload;  // NOLINT(google-build-using-namespace): C functions are global
  LookUpAll();
  return HasOneThreadBesidesWorker() && IsInSignalHandler() ? ForkInHandler() : c_library.fork();
}
