#include "top/process_status.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/files.h"
#include "base/proc_stat.h"

namespace hbbp::tools {
namespace {

// Returns what follows the name in /proc/PID/status, up to the end of the line.
std::string_view FindField(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const size_t begin = line.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
  }
  return {};
}

template <typename Number>
Number ParseField(std::string_view text, std::string_view name) {
  const std::string_view digits = FindField(text, name);
  Number number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

ProcessStatus ParseProcessStatus(std::string_view text) {
  ProcessStatus status;
  status.name = FindField(text, "Name:");
  status.process = ParseField<pid_t>(text, "Tgid:");
  status.threads = ParseField<uint64_t>(text, "Threads:");
  status.has_memory = !FindField(text, "VmSize:").empty();
  const std::string_view state = FindField(text, "State:");
  if (!state.empty()) status.state = state.front();
  return status;
}

StatusOr<ProcessStatus> ReadProcessStatus(pid_t pid) {
  HBBP_ASSIGN_OR_RETURN(const std::string text,
                        ReadTextFile("/proc/" + std::to_string(pid) + "/status"));
  ProcessStatus status = ParseProcessStatus(text);
  const std::optional<ProcStat> stat = ReadProcStat(pid);
  status.is_of_kernel = stat && stat->is_of_kernel;
  return status;
}

Status CheckHasUserCode(pid_t pid, const ProcessStatus& status) {
  if (pid == ::getpid()) {
    return MakeStatus(StatusCode::kInvalidArgument, "process %d is this one: give another", pid);
  }
  if (status.process != 0 && status.process != pid) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%d is a thread of process %d, which is observed as a whole: give --pid %d",
                      pid, status.process, status.process);
  }
  // The main thread may have ended before others.
  const bool has_ended = (status.state == 'Z' || status.state == 'X') && status.threads <= 1;
  if (has_ended) {
    return MakeStatus(StatusCode::kUnsupported, "process %d has ended (it is a zombie)", pid);
  }
  if (!status.has_memory && status.threads <= 1) {
    if (!status.is_of_kernel) {
      return MakeStatus(StatusCode::kNotFound, "process %d ends just now", pid);
    }
    return MakeStatus(StatusCode::kUnsupported,
                      "process %d is a thread of the kernel, which has no code of a user", pid);
  }
  return OkStatus();
}

CpuMeter::CpuMeter(pid_t pid) : last_ns_(ClockNs(CLOCK_MONOTONIC)) {
  has_clock_ = ::clock_getcpuclockid(pid, &clock_) == 0;
  if (has_clock_) last_cpu_ns_ = ClockNs(clock_);
}

std::optional<double> CpuMeter::Share() {
  if (!has_clock_) return std::nullopt;
  const uint64_t cpu_ns = ClockNs(clock_);
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (cpu_ns < last_cpu_ns_ || now_ns <= last_ns_) return std::nullopt;
  const double share =
      static_cast<double>(cpu_ns - last_cpu_ns_) / static_cast<double>(now_ns - last_ns_);
  last_cpu_ns_ = cpu_ns;
  last_ns_ = now_ns;
  return share;
}

}  // namespace hbbp::tools
