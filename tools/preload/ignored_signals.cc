#include "preload/ignored_signals.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/options.h"
#include "preload/signals.h"

namespace hbbp::preload {
namespace {

// The value of the variable is a digit for each of these.
constexpr int kSignals[] = {SIGTRAP, SIGSEGV, SIGBUS};
constexpr size_t kCount = sizeof(kSignals) / sizeof(*kSignals);
constexpr size_t kNameBytes = sizeof(kIgnoredVariable) - 1;
static_assert(kNameBytes + 1 + kCount < kIgnoredTextBytes);

// Returns the index of the variable, or of the null pointer at the end.
size_t FindEntry(Variables environment) {
  size_t i = 0;
  while (environment[i] != nullptr &&
         (::strncmp(environment[i], kIgnoredVariable, kNameBytes) != 0 ||
          environment[i][kNameBytes] != '=')) {
    ++i;
  }
  return i;
}

bool IsSetToDefault(int signal, const posix_spawnattr_t* attributes) {
  short flags = 0;
  sigset_t defaults;
  return attributes != nullptr && ::posix_spawnattr_getflags(attributes, &flags) == 0 &&
         (flags & POSIX_SPAWN_SETSIGDEF) != 0 &&
         ::posix_spawnattr_getsigdefault(attributes, &defaults) == 0 &&
         sigismember(&defaults, signal) == 1;
}

void WriteDigits(const posix_spawnattr_t* attributes, char* digits) {
  for (size_t i = 0; i < kCount; ++i) {
    const bool ignores = IsIgnoredHere(kSignals[i]) && !IsSetToDefault(kSignals[i], attributes);
    digits[i] = ignores ? '1' : '0';
  }
}

// Returns the value of the variable that this image was started with, or nullptr. `hbbp record`
// sets it, so that the environment, which other threads read, has writable bytes for it.
char* OwnDigits() {
  if (environ == nullptr) return nullptr;
  char* const text = environ[FindEntry(environ)];
  return text != nullptr && ::strlen(text) == kNameBytes + 1 + kCount ? text + kNameBytes + 1
                                                                      : nullptr;
}

std::atomic<int> shown{0};  // number of functions that show it

// It runs before tracing begins, which keeps the actions that it finds for the program.
__attribute__((constructor(101))) void IgnoreWhatTheParentDid() {
  char* const digits = OwnDigits();
  if (digits == nullptr) return;
  for (size_t i = 0; i < kCount; ++i) {
    if (digits[i] == '1') IgnoreInKernel(kSignals[i]);
    digits[i] = '0';
  }
}

}  // namespace

bool MustAnnounceIgnored(Variables environment, const posix_spawnattr_t* attributes) {
  if (environment == nullptr) return false;
  char digits[kCount];
  WriteDigits(attributes, digits);
  return ::memchr(digits, '1', kCount) != nullptr;
}

Variables AnnounceIgnored(Variables environment, const posix_spawnattr_t* attributes, char** copy,
                          char* text) {
  size_t count = 0;
  while (environment[count] != nullptr) ++count;
  ::memcpy(copy, environment, (count + 1) * sizeof(*copy));
  const size_t entry = FindEntry(environment);
  char* const digits = ::stpcpy(::stpcpy(text, kIgnoredVariable), "=");
  WriteDigits(attributes, digits);
  digits[kCount] = '\0';
  if (entry == count) copy[count + 1] = nullptr;
  copy[entry] = text;
  return copy;
}

ShowIgnored::ShowIgnored() {
  char* const digits = OwnDigits();
  if (digits == nullptr) return;
  shown.fetch_add(1);
  WriteDigits(nullptr, digits);
}

ShowIgnored::~ShowIgnored() {
  char* const digits = OwnDigits();
  if (digits != nullptr && shown.fetch_sub(1) == 1) ::memset(digits, '0', kCount);
}

}  // namespace hbbp::preload
