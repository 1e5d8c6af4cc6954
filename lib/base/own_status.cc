#include "base/own_status.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "base/files.h"

namespace hbbp {
namespace {

// Returns the value of the first of these fields that exists, or 0.
int ReadField(std::initializer_list<const char*> names) {
  constexpr size_t kMaxBytes = 1 << 16;
  const StatusOr<std::string> status = ReadTextFile("/proc/self/status", kMaxBytes);
  if (!status.ok()) return 0;
  for (const char* const name : names) {
    const size_t line = status->find(name);
    if (line != std::string::npos) return std::atoi(status->c_str() + line + std::strlen(name));
  }
  return 0;
}

}  // namespace

int CountSeccompFilters() { return ReadField({"\nSeccomp_filters:", "\nSeccomp:"}); }

pid_t TracerPid() { return ReadField({"\nTracerPid:"}); }

}  // namespace hbbp
