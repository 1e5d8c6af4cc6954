#include "base/own_status.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/proc_path.h"

namespace hbbp {
namespace {

constexpr char kOwnStatus[] = "/proc/self/status";

std::string ReadFileOfKernel(const std::string& path) {
  constexpr size_t kMaxBytes = 1 << 16;
  StatusOr<std::string> text = ReadTextFile(path, kMaxBytes);
  return text.ok() ? std::move(*text) : std::string();
}

// Returns the value of the first of these fields that exists, or 0.
int ReadField(std::initializer_list<const char*> names, const std::string& path = kOwnStatus) {
  const std::string status = ReadFileOfKernel(path);
  for (const char* const name : names) {
    const size_t line = status.find(name);
    if (line != std::string::npos) return std::atoi(status.c_str() + line + std::strlen(name));
  }
  return 0;
}

}  // namespace

int CountSeccompFilters() { return ReadField({"\nSeccomp_filters:", "\nSeccomp:"}); }

pid_t TracerPid(pid_t pid) {
  return ReadField({"\nTracerPid:"}, pid == 0 ? kOwnStatus : ProcPath(pid, "status"));
}

std::string ThreadName(pid_t pid, pid_t tid) {
  std::string name = ReadFileOfKernel(ProcPath(pid, tid, "comm"));
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

// The field has the numbers in all namespaces, from that of /proc to that of the process.
pid_t OwnTid(pid_t listed) {
  const std::string status = ReadFileOfKernel(ProcPath(0, listed, "status"));
  const char* at = std::strstr(status.c_str(), "\nNSpid:");
  if (at == nullptr) return kNoTid;
  const char* last = at;
  while (*++at != '\n' && *at != '\0') {
    if (*at == '\t') last = at;
  }
  return std::atoi(last);
}

bool BlocksSignal(pid_t tid, int signal) {
  constexpr char kBlocked[] = "\nSigBlk:";
  constexpr int kHexadecimal = 16;
  const std::string status = ReadFileOfKernel(ProcPath(0, tid, "status"));
  const size_t line = status.find(kBlocked);
  if (line == std::string::npos) return false;
  const uint64_t blocked =
      std::strtoull(status.c_str() + line + std::strlen(kBlocked), nullptr, kHexadecimal);
  return (blocked >> (signal - 1) & 1) != 0;
}

}  // namespace hbbp
