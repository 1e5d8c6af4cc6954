// The C library functions that end a program image without running its destructors. Each saves the
// profile and calls the function that it interposes. unshare and setns are here too, because the
// kernel refuses them to a process with a second thread.
//
// Functions that run another program run it with the library, or without where the library would
// harm it.
//
// The functions that end an image may be called in a child made by vfork, which shares the memory
// of its parent, and some in signal handlers. So they allocate nothing, and call functions that
// were looked up before.

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/exec_target.h"
#include "preload/ignored_signals.h"
#include "preload/image_profile.h"
#include "preload/next_function.h"
#include "preload/preload_variable.h"
#include "preload/seccomp_filter.h"
#include "preload/signals.h"
#include "preload/unprofiled.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

using hbbp::preload::ExecTarget;
using Arguments = char* const*;

struct NextFunctions {
  void (*quick_exit)(int);
  int (*execve)(const char*, Arguments, Arguments);
  int (*execvpe)(const char*, Arguments, Arguments);
  int (*fexecve)(int, Arguments, Arguments);
  int (*execveat)(int, const char*, Arguments, Arguments, int);
  int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                     const posix_spawnattr_t*, Arguments, Arguments);
  int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, Arguments, Arguments);
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
  int (*unshare)(int);
  int (*setns)(int, int);
};

NextFunctions next;

__attribute__((constructor(101))) void LookUpAll() {
  using hbbp::preload::LookUp;
  if (next.execve != nullptr) return;
  LookUp("quick_exit", &next.quick_exit);
  LookUp("execvpe", &next.execvpe);
  LookUp("fexecve", &next.fexecve);
  LookUp("execveat", &next.execveat);
  LookUp("posix_spawn", &next.posix_spawn);
  LookUp("posix_spawnp", &next.posix_spawnp);
  LookUp("system", &next.system);
  LookUp("popen", &next.popen);
  LookUp("unshare", &next.unshare);
  LookUp("setns", &next.setns);
  LookUp("execve", &next.execve);
}

// While it lives, the image is ready for exec. These functions may be called by constructors of
// other libraries, before LookUpAll.
class Prepare {
 public:
  Prepare() {
    LookUpAll();
    hbbp::preload::SaveImage();
    hbbp::preload::PrepareSignalsForExec();
  }
  ~Prepare() { hbbp::preload::RestoreSignalsAfterExec(); }
  Prepare(const Prepare&) = delete;
  Prepare& operator=(const Prepare&) = delete;

  const NextFunctions* operator->() const { return &next; }
};

// Does the same for functions that run a program in a child, by system calls of their own. The
// environment then names the signals that the program ignores: if the kernel ignored them here too,
// a sample of another thread would end the process in the meantime.
class PrepareSpawn {
 public:
  PrepareSpawn() {
    LookUpAll();
    hbbp::preload::SetImageHasForked();
    is_changed_ = hbbp::preload::PrepareSignalsForSpawn();
  }
  ~PrepareSpawn() {
    if (is_changed_) hbbp::preload::RestoreSignalsAfterSpawn();
  }
  PrepareSpawn(const PrepareSpawn&) = delete;
  PrepareSpawn& operator=(const PrepareSpawn&) = delete;

  const NextFunctions* operator->() const { return &next; }

 private:
  bool is_changed_ = false;
};

[[noreturn]] void EndProcess(int status) {
  hbbp::preload::SaveImageAtEnd();
  for (;;) ::syscall(SYS_exit_group, status);
}

ExecTarget TargetAt(int directory, const char* path, int flags) {
  if ((flags & AT_EMPTY_PATH) != 0 && *path == '\0') {
    return hbbp::preload::ClassifyFile(directory, nullptr);
  }
  const int fd = ::openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ExecTarget::kOrdinary;
  const ExecTarget target = hbbp::preload::ClassifyFile(fd, path);
  ::close(fd);
  return target;
}

ExecTarget TargetInPath(const char* file) {
  char path[PATH_MAX];
  if (!hbbp::preload::FindProgram(file, path, sizeof(path))) return ExecTarget::kOrdinary;
  return hbbp::preload::ClassifyProgram(path);
}

// Calls without the worker, if that is why the kernel refuses the call.
template <typename Call>
int CallWithOneThread(const Call& call) {
  const int result = call();
  const bool needs_one_thread = result != 0 && (errno == EINVAL || errno == EUSERS);
  if (!needs_one_thread || !hbbp::preload::SuspendImage()) return result;
  const int second_result = call();
  const int error_number = errno;
  hbbp::preload::ResumeImage();
  errno = error_number;
  return second_result;
}

size_t CountArguments(va_list list) {
  size_t count = 1;
  // NOLINTNEXTLINE(*-valist.Uninitialized): callers have begun it
  while (va_arg(list, const char*) != nullptr) ++count;
  return count;
}

}  // namespace

// Makes an array of the arguments of execl and its kin, with the null pointer at its end, on the
// stack of the caller. Afterwards `list` is after that null pointer.
#define HBBP_COLLECT_ARGUMENTS(first, list, arguments)                         \
  va_list counting;                                                            \
  va_copy(counting, list);                                                     \
  const size_t count = CountArguments(counting);                               \
  va_end(counting);                                                            \
  char** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                     \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

// Puts the library into `environment` or removes it, depending on the target. The copy is on the
// stack of the caller.
#define HBBP_ADJUST_ENVIRONMENT(environment, target_of_file, arguments, path)           \
  if (hbbp::preload::MayChangeLibrary(environment)) {                                   \
    const auto target = hbbp::preload::WithArguments(target_of_file, arguments);        \
    hbbp::preload::RecordUnprofiled(target, path);                                      \
    const auto change = hbbp::preload::FindLibraryChange(environment, target);          \
    if (change != hbbp::preload::LibraryChange::kNone) {                                \
      char** const copy = static_cast<char**>(                                          \
          alloca(hbbp::preload::EnvironmentCount(environment) * sizeof(char*)));        \
      char* const text =                                                                \
          static_cast<char*>(alloca(hbbp::preload::EnvironmentTextBytes(environment))); \
      environment = hbbp::preload::MakeEnvironment(environment, change, copy, text);    \
    }                                                                                   \
  }                                                                                     \
  static_assert(true)

#define HBBP_TELL_IGNORED(environment, attributes)                                                 \
  if (hbbp::preload::MustAnnounceIgnored(environment, attributes)) {                               \
    char** const copy =                                                                            \
        static_cast<char**>(alloca(hbbp::preload::EnvironmentCount(environment) * sizeof(char*))); \
    char* const text = static_cast<char*>(alloca(hbbp::preload::kIgnoredTextBytes));               \
    environment = hbbp::preload::AnnounceIgnored(environment, attributes, copy, text);             \
  }                                                                                                \
  static_assert(true)

extern "C" {

HBBP_INTERPOSE void _exit(int status) { EndProcess(status); }
HBBP_INTERPOSE void _Exit(int status) { EndProcess(status); }

HBBP_INTERPOSE void quick_exit(int status) {
  LookUpAll();
  hbbp::preload::SaveImageAtEnd();
  next.quick_exit(status);
  __builtin_unreachable();
}

HBBP_INTERPOSE int execve(const char* path, Arguments arguments, Arguments environment) {
  HBBP_ADJUST_ENVIRONMENT(environment, hbbp::preload::ClassifyProgram(path), arguments, path);
  return Prepare()->execve(path, arguments, environment);
}

HBBP_INTERPOSE int execv(const char* path, Arguments arguments) {
  return execve(path, arguments, environ);
}

HBBP_INTERPOSE int execvp(const char* file, Arguments arguments) {
  return execvpe(file, arguments, environ);
}

HBBP_INTERPOSE int execvpe(const char* file, Arguments arguments, Arguments environment) {
  HBBP_ADJUST_ENVIRONMENT(environment, TargetInPath(file), arguments, file);
  return Prepare()->execvpe(file, arguments, environment);
}

HBBP_INTERPOSE int fexecve(int fd, Arguments arguments, Arguments environment) {
  HBBP_ADJUST_ENVIRONMENT(environment, hbbp::preload::ClassifyFile(fd, nullptr), arguments,
                          nullptr);
  return Prepare()->fexecve(fd, arguments, environment);
}

HBBP_INTERPOSE int execveat(int directory, const char* path, Arguments arguments,
                            Arguments environment, int flags) {
  HBBP_ADJUST_ENVIRONMENT(environment, TargetAt(directory, path, flags), arguments, path);
  return Prepare()->execveat(directory, path, arguments, environment, flags);
}

HBBP_INTERPOSE int posix_spawn(pid_t* pid, const char* path,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, Arguments arguments,
                               Arguments environment) {
  HBBP_ADJUST_ENVIRONMENT(environment, hbbp::preload::ClassifyProgram(path), arguments, path);
  HBBP_TELL_IGNORED(environment, attributes);
  return PrepareSpawn()->posix_spawn(pid, path, actions, attributes, arguments, environment);
}

HBBP_INTERPOSE int posix_spawnp(pid_t* pid, const char* file,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, Arguments arguments,
                                Arguments environment) {
  HBBP_ADJUST_ENVIRONMENT(environment, TargetInPath(file), arguments, file);
  HBBP_TELL_IGNORED(environment, attributes);
  return PrepareSpawn()->posix_spawnp(pid, file, actions, attributes, arguments, environment);
}

HBBP_INTERPOSE int system(const char* command) {
  const hbbp::preload::ShowLibrary library;
  const hbbp::preload::ShowIgnored ignored;
  return PrepareSpawn()->system(command);
}

HBBP_INTERPOSE FILE* popen(const char* command, const char* mode) {
  const hbbp::preload::ShowLibrary library;
  const hbbp::preload::ShowIgnored ignored;
  return PrepareSpawn()->popen(command, mode);
}

HBBP_INTERPOSE int unshare(int flags) noexcept {
  LookUpAll();
  return CallWithOneThread([flags] { return next.unshare(flags); });
}

HBBP_INTERPOSE int setns(int fd, int type) noexcept {
  LookUpAll();
  return CallWithOneThread([fd, type] { return next.setns(fd, type); });
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
