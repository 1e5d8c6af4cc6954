#include "record/leak_detection.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/files.h"
#include "preload/exec_target.h"

namespace hbbp::tools {
namespace {

// A program that has LeakSanitizer alone does not read ASAN_OPTIONS.
bool IsSwitchedOff(std::string_view entry) {
  if (!entry.starts_with("LSAN_OPTIONS=")) return false;
  return entry.find("detect_leaks=0") != std::string_view::npos ||
         entry.find("detect_leaks=false") != std::string_view::npos;
}

// Entries of the environment end with NUL.
Status CheckLeakDetection(const std::string& name, std::string_view environment) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (IsSwitchedOff(entry)) return OkStatus();
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return MakeStatus(StatusCode::kUnsupported,
                    "%s is built with a sanitizer, and LeakSanitizer fails in a program whose "
                    "branches are traced from outside (ptrace): set LSAN_OPTIONS=detect_leaks=0 "
                    "for it, or take --source ebs",
                    name.c_str());
}

}  // namespace

Status CheckLeakDetectionOfProgram(const std::string& name) {
  std::string environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.append(*entry).push_back('\0');
  }
  return CheckLeakDetection(name, environment);
}

Status CheckLeakDetectionOfProcess(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  const preload::ExecTarget target = preload::ClassifyProgram((directory + "/exe").c_str());
  if (target != preload::ExecTarget::kSanitizer) return OkStatus();
  constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
  const StatusOr<std::string> environment = ReadTextFile(directory + "/environ", kMaxBytes);
  return CheckLeakDetection("process " + std::to_string(pid),
                            environment.ok() ? std::string_view(*environment) : "");
}

}  // namespace hbbp::tools
