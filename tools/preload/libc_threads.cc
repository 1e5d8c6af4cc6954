// The belief is __libc_single_threaded, which pthread_create clears. Since glibc 2.36 the C library
// itself goes by it on this architecture.
#include "preload/libc_threads.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <grp.h>
#include <pty.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "preload/image_profile.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

// This library must not believe it. The C++ library is static in it, and asks this variable
// whether counters of references need atomic instructions.
extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;  // NOLINT(bugprone-reserved-identifier): its name

namespace hbbp::preload {
namespace {

// They are two variables where the program has a copy for its own code. Null: it is not possible.
char* of_c_library = nullptr;
char* of_program = nullptr;

bool GoesByFlag() {
  char* end;
  const long major = std::strtol(::gnu_get_libc_version(), &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return major > 2 || (major == 2 && minor >= 36);
}

__attribute__((constructor(101))) void LookUpFlag() {
  if (of_program != nullptr || !GoesByFlag()) return;
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  of_c_library = static_cast<char*>(::dlsym(library, "__libc_single_threaded"));
  ::dlclose(library);
  of_program = static_cast<char*>(::dlsym(RTLD_DEFAULT, "__libc_single_threaded"));
}

bool HasOneThread() { return ScopedThreadBelief::IsPossible() && *of_c_library != 0; }

void SetHasOneThread(bool value) {
  if (ScopedThreadBelief::IsPossible()) *of_c_library = *of_program = value ? 1 : 0;
}

}  // namespace

bool ScopedThreadBelief::IsPossible() { return of_c_library != nullptr && of_program != nullptr; }

ScopedThreadBelief::ScopedThreadBelief() : had_one_thread_(HasOneThread()) {}

ScopedThreadBelief::ScopedThreadBelief(bool has_one_thread) : ScopedThreadBelief() {
  SetHasOneThread(has_one_thread);
}

ScopedThreadBelief::~ScopedThreadBelief() {
  if (had_one_thread_ == HasOneThread()) return;
  // Handlers of fork may have made threads.
  if (!had_one_thread_ || HasOneThreadBesidesWorker()) SetHasOneThread(had_one_thread_);
}

namespace {

// Calls the next function of that name, which then knows that there is a second thread: all threads
// have to change their user, and a child forgets those that it does not have.
template <typename Function, typename... Arguments>
auto CallAsTwoThreads(const char* name, Arguments... arguments) {
  const auto next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  const ScopedThreadBelief belief(false);
  return next(arguments...);
}

}  // namespace
}  // namespace hbbp::preload

#define HBBP_CALL_AS_TWO_THREADS(function, ...) \
  return hbbp::preload::CallAsTwoThreads<decltype(::function)>(#function, __VA_ARGS__)

extern "C" {

HBBP_INTERPOSE int setuid(uid_t user) noexcept { HBBP_CALL_AS_TWO_THREADS(setuid, user); }

HBBP_INTERPOSE int seteuid(uid_t user) noexcept { HBBP_CALL_AS_TWO_THREADS(seteuid, user); }

HBBP_INTERPOSE int setreuid(uid_t real, uid_t effective) noexcept {
  HBBP_CALL_AS_TWO_THREADS(setreuid, real, effective);
}

HBBP_INTERPOSE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  HBBP_CALL_AS_TWO_THREADS(setresuid, real, effective, saved);
}

HBBP_INTERPOSE int setgid(gid_t group) noexcept { HBBP_CALL_AS_TWO_THREADS(setgid, group); }

HBBP_INTERPOSE int setegid(gid_t group) noexcept { HBBP_CALL_AS_TWO_THREADS(setegid, group); }

HBBP_INTERPOSE int setregid(gid_t real, gid_t effective) noexcept {
  HBBP_CALL_AS_TWO_THREADS(setregid, real, effective);
}

HBBP_INTERPOSE int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  HBBP_CALL_AS_TWO_THREADS(setresgid, real, effective, saved);
}

HBBP_INTERPOSE int setgroups(size_t count, const gid_t* groups) noexcept {
  HBBP_CALL_AS_TWO_THREADS(setgroups, count, groups);
}

HBBP_INTERPOSE int initgroups(const char* user, gid_t group) {
  HBBP_CALL_AS_TWO_THREADS(initgroups, user, group);
}

HBBP_INTERPOSE int daemon(int keeps_directory, int keeps_files) noexcept {
  HBBP_CALL_AS_TWO_THREADS(daemon, keeps_directory, keeps_files);
}

HBBP_INTERPOSE int forkpty(int* terminal, char* name, const termios* settings,
                           const winsize* size) noexcept {
  HBBP_CALL_AS_TWO_THREADS(forkpty, terminal, name, settings, size);
}

}  // extern "C"
