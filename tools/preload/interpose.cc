// The C library functions that end a program image without running its destructors. Each saves
// the profile and calls the one that it stands in front of. And pthread_exit, because a program
// whose main thread ended goes on until its last thread ends, and the worker is one.
//
// All but that one may be called in a child made by vfork, which shares the memory of its parent,
// and some in signal handlers: so they allocate nothing and look up beforehand what they call.

#include <alloca.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/image_profile.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

using Arguments = char* const*;

struct NextFunctions {
  void (*quick_exit)(int);
  int (*execve)(const char*, Arguments, Arguments);
  int (*execv)(const char*, Arguments);
  int (*execvp)(const char*, Arguments);
  int (*execvpe)(const char*, Arguments, Arguments);
  int (*fexecve)(int, Arguments, Arguments);
  int (*execveat)(int, const char*, Arguments, Arguments, int);
  void (*pthread_exit)(void*);
};

NextFunctions next;

template <typename Function>
void LookUp(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((constructor(101))) void LookUpAll() {
  if (next.execve != nullptr) return;
  LookUp("quick_exit", &next.quick_exit);
  LookUp("execv", &next.execv);
  LookUp("execvp", &next.execvp);
  LookUp("execvpe", &next.execvpe);
  LookUp("fexecve", &next.fexecve);
  LookUp("execveat", &next.execveat);
  LookUp("pthread_exit", &next.pthread_exit);
  LookUp("execve", &next.execve);
}

// Called by constructors of other libraries, these may come before LookUpAll.
const NextFunctions& Prepare() {
  LookUpAll();
  hbbp::preload::SaveImage();
  return next;
}

[[noreturn]] void EndProcess(int status) {
  hbbp::preload::SaveImage();
  for (;;) ::syscall(SYS_exit_group, status);
}

size_t CountArguments(va_list list) {
  size_t count = 1;
  while (va_arg(list, const char*) != nullptr) ++count;
  return count;
}

}  // namespace

// An array of the arguments of execl and its kin, with the null pointer at its end, on the stack
// of the caller. Leaves `list` behind that null pointer.
#define HBBP_COLLECT_ARGUMENTS(first, list, arguments)                         \
  va_list counting;                                                            \
  va_copy(counting, list);                                                     \
  const size_t count = CountArguments(counting);                               \
  va_end(counting);                                                            \
  char** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                     \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

extern "C" {

HBBP_INTERPOSE void _exit(int status) { EndProcess(status); }
HBBP_INTERPOSE void _Exit(int status) { EndProcess(status); }

HBBP_INTERPOSE void pthread_exit(void* result) {
  LookUpAll();
  if (::gettid() == ::getpid()) hbbp::preload::EndProgramAfterItsThreads();
  next.pthread_exit(result);
  __builtin_unreachable();
}

HBBP_INTERPOSE void quick_exit(int status) {
  Prepare().quick_exit(status);
  __builtin_unreachable();
}

HBBP_INTERPOSE int execve(const char* path, Arguments arguments, Arguments environment) {
  return Prepare().execve(path, arguments, environment);
}

HBBP_INTERPOSE int execv(const char* path, Arguments arguments) {
  return Prepare().execv(path, arguments);
}

HBBP_INTERPOSE int execvp(const char* file, Arguments arguments) {
  return Prepare().execvp(file, arguments);
}

HBBP_INTERPOSE int execvpe(const char* file, Arguments arguments, Arguments environment) {
  return Prepare().execvpe(file, arguments, environment);
}

HBBP_INTERPOSE int fexecve(int fd, Arguments arguments, Arguments environment) {
  return Prepare().fexecve(fd, arguments, environment);
}

HBBP_INTERPOSE int execveat(int folder, const char* path, Arguments arguments,
                            Arguments environment, int flags) {
  return Prepare().execveat(folder, path, arguments, environment, flags);
}

HBBP_INTERPOSE int execl(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  HBBP_COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  return execv(path, arguments);
}

HBBP_INTERPOSE int execlp(const char* file, const char* first, ...) {
  va_list list;
  va_start(list, first);
  HBBP_COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  return execvp(file, arguments);
}

HBBP_INTERPOSE int execle(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  HBBP_COLLECT_ARGUMENTS(first, list, arguments);
  char** environment = va_arg(list, char**);
  va_end(list);
  return execve(path, arguments, environment);
}

}  // extern "C"
