#include "base/proc_stat.h"

#include <cstdio>
#include <string>

#include "base/files.h"
#include "base/proc_path.h"

namespace hbbp {

std::optional<ProcStat> ParseProcStat(std::string_view text) {
  constexpr unsigned kKernelThread = 0x200000;  // PF_KTHREAD
  constexpr unsigned kForkedNoExec = 0x40;      // PF_FORKNOEXEC
  // The name may have blanks and brackets.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::string fields(text.substr(name_end));
  unsigned flags = 0;
  unsigned long minor = 0, major = 0;
  constexpr char kFormat[] = ") %*c %*d %*d %*d %*d %*d %u %lu %*u %lu";
  if (std::sscanf(fields.c_str(), kFormat, &flags, &minor, &major) != 3) return std::nullopt;
  return ProcStat{(flags & kKernelThread) != 0, (flags & kForkedNoExec) == 0, minor + major};
}

std::optional<ProcStat> ReadProcStat(pid_t pid) {
  const StatusOr<std::string> text = ReadTextFile(ProcPath(pid, "stat"));
  return text.ok() ? ParseProcStat(*text) : std::nullopt;
}

}  // namespace hbbp
