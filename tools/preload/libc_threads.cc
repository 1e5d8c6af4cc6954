// The belief is __libc_single_threaded, which pthread_create clears. Since glibc 2.36 the C library
// itself goes by it on this architecture.
#include "preload/libc_threads.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

#include "preload/bound_functions.h"
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
  if (of_program != nullptr || !GoesByFlag() || !CallsOnlyCLibrary()) return;
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  of_c_library = static_cast<char*>(::dlsym(library, "__libc_single_threaded"));
  ::dlclose(library);
  of_program = static_cast<char*>(::dlsym(RTLD_DEFAULT, "__libc_single_threaded"));
}

void SetHasOneThread(bool value) { *of_c_library = *of_program = value ? 1 : 0; }

}  // namespace

bool ScopedThreadBelief::IsPossible() {
  return of_c_library != nullptr && of_program != nullptr && IsImageHere();
}

bool ScopedThreadBelief::HasOneThread() { return IsPossible() && *of_c_library != 0; }

ScopedThreadBelief::ScopedThreadBelief()
    : is_possible_(IsPossible()), had_one_thread_(HasOneThread()) {}

ScopedThreadBelief::ScopedThreadBelief(bool has_one_thread) : ScopedThreadBelief() {
  if (is_possible_) SetHasOneThread(has_one_thread);
}

ScopedThreadBelief::~ScopedThreadBelief() {
  if (!is_possible_ || had_one_thread_ == HasOneThread()) return;
  // Handlers of fork may have made threads.
  if (!had_one_thread_ || ProgramHasOneThread()) SetHasOneThread(had_one_thread_);
}

namespace {

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Calls the next function of that name, which forks: the child forgets a thread only that the C
// library knows of.
template <typename Function, typename... Arguments>
auto CallAsTwoThreads(const char* name, Arguments... arguments) {
  const ScopedThreadBelief belief(false);
  return Next<Function>(name)(arguments...);
}

}  // namespace
}  // namespace hbbp::preload

#define HBBP_CALL_AS_TWO_THREADS(function, ...) \
  return hbbp::preload::CallAsTwoThreads<decltype(::function)>(#function, __VA_ARGS__)

extern "C" {

// The C library ends the parent by itself, once it has forked.
HBBP_INTERPOSE int daemon(int keeps_directory, int keeps_files) noexcept {
  hbbp::preload::SetImageHasForked();
  hbbp::preload::SaveImage();
  HBBP_CALL_AS_TWO_THREADS(daemon, keeps_directory, keeps_files);
}

HBBP_INTERPOSE int forkpty(int* terminal, char* name, const termios* settings,
                           const winsize* size) noexcept {
  HBBP_CALL_AS_TWO_THREADS(forkpty, terminal, name, settings, size);
}

}  // extern "C"
