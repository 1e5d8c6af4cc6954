#include "preload/preload_variable.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/options.h"

namespace hbbp::preload {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr char kOwnName[] = "libhbbp-preload";
constexpr char kShell[] = "/bin/sh";

bool IsOwnLibrary(const char* path, size_t length) {
  const auto* const slash = static_cast<const char*>(::memrchr(path, '/', length));
  const char* const name = slash == nullptr ? path : slash + 1;
  return ::strncmp(name, kOwnName, sizeof(kOwnName) - 1) == 0;
}

bool IsPreload(const char* text) { return ::strncmp(text, kPreload, sizeof(kPreload) - 1) == 0; }

// Returns nullptr if there is none.
const char* FindPreload(Variables environment) {
  for (size_t i = 0; environment != nullptr && environment[i] != nullptr; ++i) {
    if (IsPreload(environment[i])) return environment[i];
  }
  return nullptr;
}

bool HasLibrary(const char* preload) {
  return preload != nullptr && ::strstr(preload, kOwnName) != nullptr;
}

// Finds the variable with the path of the library.
const char* FindLibraryVariable(Variables environment) {
  constexpr size_t kLength = sizeof(kLibraryVariable) - 1;
  for (size_t i = 0; environment != nullptr && environment[i] != nullptr; ++i) {
    const char* const text = environment[i];
    if (::strncmp(text, kLibraryVariable, kLength) == 0 && text[kLength] == '=') return text;
  }
  return nullptr;
}

const char* LibraryIn(const char* variable) { return variable + sizeof(kLibraryVariable); }

// It may be unreadable after chroot.
bool CanRead(const char* path) {
  const int saved_errno = errno;
  const bool can = ::access(path, R_OK) == 0;
  errno = saved_errno;
  return can;
}

char* WriteWithout(const char* preload, char* text) {
  char* end = ::stpcpy(text, kPreload);
  const char* const values = end;
  for (const char* path = preload + sizeof(kPreload) - 1; *path != '\0';) {
    path += ::strspn(path, " :");
    const size_t length = ::strcspn(path, " :");
    if (length > 0 && !IsOwnLibrary(path, length)) {
      if (end != values) *end++ = ':';
      end = static_cast<char*>(::mempcpy(end, path, length));
    }
    path += length;
  }
  *end = '\0';
  return end == values ? nullptr : text;
}

char* WriteWith(const char* library, const char* preload, char* text) {
  char* end = ::stpcpy(::stpcpy(text, kPreload), library);
  const char* const others = preload == nullptr ? "" : preload + sizeof(kPreload) - 1;
  if (*others != '\0') ::stpcpy(::stpcpy(end, ":"), others);
  return text;
}

// There is no lock: a child of fork could never take it.
struct {
  std::atomic<int> shown{0};  // number of functions that show it
  char* hidden = nullptr;     // the value that loaded the library
  char* stand_in = nullptr;
} own;

void Replace(const char* from, char* to) {
  for (size_t i = 0; environ != nullptr && environ[i] != nullptr; ++i) {
    if (environ[i] != from) continue;
    environ[i] = to;
    return;
  }
}

// Works in place, because some programs find the memory after the environment by its end. So the
// length stays, and where nothing else is preloaded, a variable of ours occurs twice.
__attribute__((constructor(101))) void Hide() {
  const char* const preload = FindPreload(environ);
  const char* const variable = FindLibraryVariable(environ);
  if (!HasLibrary(preload) || variable == nullptr) return;
  auto* const text = static_cast<char*>(::malloc(::strlen(preload) + 1));
  if (text == nullptr) return;
  own.stand_in = WriteWithout(preload, text);
  if (own.stand_in == nullptr) {
    ::free(text);
    own.stand_in = const_cast<char*>(variable);
  }
  own.hidden = const_cast<char*>(preload);
  Replace(own.hidden, own.stand_in);
}

}  // namespace

bool MayChangeLibrary(Variables environment) {
  return HasLibrary(FindPreload(environment)) || FindLibraryVariable(environment) != nullptr;
}

LibraryChange FindLibraryChange(Variables environment, ExecTarget target) {
  if (HasLibrary(FindPreload(environment))) {
    return IsHarmedByPreload(target) ? LibraryChange::kRemove : LibraryChange::kNone;
  }
  const char* const variable = FindLibraryVariable(environment);
  const bool adds =
      target == ExecTarget::kOrdinary && variable != nullptr && CanRead(LibraryIn(variable));
  return adds ? LibraryChange::kAdd : LibraryChange::kNone;
}

size_t EnvironmentCount(Variables environment) {
  size_t count = 2;  // the variable that is added, and the end
  while (environment != nullptr && environment[count - 2] != nullptr) ++count;
  return count;
}

size_t EnvironmentTextBytes(Variables environment) {
  const char* const preload = FindPreload(environment);
  const char* const variable = FindLibraryVariable(environment);
  return sizeof(kPreload) + 1 + (preload == nullptr ? 0 : ::strlen(preload)) +
         (variable == nullptr ? 0 : ::strlen(variable));
}

Variables MakeEnvironment(Variables environment, LibraryChange change, char** copy, char* text) {
  const char* const preload = FindPreload(environment);
  size_t count = 0;
  for (size_t i = 0; environment[i] != nullptr; ++i) {
    if (environment[i] != preload) copy[count++] = environment[i];
  }
  char* const changed = change == LibraryChange::kAdd
                            ? WriteWith(LibraryIn(FindLibraryVariable(environment)), preload, text)
                            : WriteWithout(preload, text);
  if (changed != nullptr) copy[count++] = changed;
  copy[count] = nullptr;
  return copy;
}

ShowLibrary::ShowLibrary() {
  if (own.hidden == nullptr || own.shown.fetch_add(1) > 0) return;
  const bool adds = FindLibraryChange(environ, ClassifyProgram(kShell)) == LibraryChange::kAdd;
  if (adds) Replace(own.stand_in, own.hidden);
}

ShowLibrary::~ShowLibrary() {
  if (own.hidden != nullptr && own.shown.fetch_sub(1) == 1) Replace(own.hidden, own.stand_in);
}

}  // namespace hbbp::preload
