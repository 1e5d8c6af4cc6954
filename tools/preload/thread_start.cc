// The C library functions that start a thread. The thread gets an alternate signal stack before it
// runs anything of the program, because its first sample may arrive on the stack of a coroutine,
// where the frame of a signal overwrites what is below.

#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include <cstdint>

#include "backends/observer_request.h"
#include "backends/thread_starts.h"
#include "preload/alternate_stack.h"
#include "preload/own_process.h"
#include "preload/seccomp_filter.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

extern "C" {
// The linker defines the bounds of this library.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): their names
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace {

using PosixFunction = void*(void*);
using PosixCreate = int(pthread_t*, const pthread_attr_t*, PosixFunction*, void*);
using StandardCreate = int(thrd_t*, thrd_start_t, void*);

PosixCreate* next_pthread_create;
StandardCreate* next_thrd_create;

// Constructors of other libraries may start threads before this one.
__attribute__((constructor(101))) void LookUpNext() {
  if (next_thrd_create != nullptr) return;
  next_pthread_create = reinterpret_cast<PosixCreate*>(::dlsym(RTLD_NEXT, "pthread_create"));
  next_thrd_create = reinterpret_cast<StandardCreate*>(::dlsym(RTLD_NEXT, "thrd_create"));
  hbbp::ThreadStarts::Get().SetAreSeen();
}

// It is the lowest part of the stack that it gives to the thread.
template <typename Function>
struct Start {
  Function* function;
  void* argument;
};

template <typename Function>
auto Run(void* stack) {
  const auto start = *static_cast<const Start<Function>*>(stack);
  hbbp::preload::InstallAlternateStack(stack);
  return start.function(start.argument);
}

// Threads of this library block all signals.
bool IsOwn(const void* function) {
  const auto address = reinterpret_cast<uintptr_t>(function);
  return address >= reinterpret_cast<uintptr_t>(&__ehdr_start) &&
         address < reinterpret_cast<uintptr_t>(&_end);
}

// Calls create(function, argument), with a function that installs a stack first. `created` is what
// it returns then.
template <typename Function, typename Create>
int StartWithStack(Function* function, void* argument, int created, const Create& create) {
  LookUpNext();
  const bool is_wanted = !IsOwn(reinterpret_cast<const void*>(function)) &&
                         !hbbp::preload::HasFilter() && hbbp::preload::IsOwnProcess();
  if (is_wanted) hbbp::ObserverRequest::Get().MakeAndWait();
  void* const stack = is_wanted ? hbbp::preload::MapAlternateStack() : nullptr;
  const bool has_stack = stack != nullptr;
  if (has_stack) *static_cast<Start<Function>*>(stack) = {function, argument};
  const int result = has_stack ? create(&Run<Function>, stack) : create(function, argument);
  if (is_wanted) hbbp::ThreadStarts::Get().Report();
  if (has_stack && result != created) hbbp::preload::UnmapAlternateStack(stack);
  return result;
}

}  // namespace

extern "C" {

HBBP_INTERPOSE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  PosixFunction* function, void* argument) noexcept {
  return StartWithStack(function, argument, 0, [&](PosixFunction* run, void* given) {
    return next_pthread_create(thread, attributes, run, given);
  });
}

HBBP_INTERPOSE int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  return StartWithStack(function, argument, thrd_success, [&](thrd_start_t run, void* given) {
    return next_thrd_create(thread, run, given);
  });
}

}  // extern "C"
