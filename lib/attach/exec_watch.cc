#include "attach/exec_watch.h"

#include <optional>

#include "base/files.h"
#include "base/proc_path.h"
#include "base/proc_stat.h"

namespace hbbp {
namespace {

bool HasExecutedSinceFork(pid_t pid) {
  const std::optional<ProcStat> stat = ReadProcStat(pid);
  return stat && stat->has_executed;
}

// The auxiliary vector, which an exec makes: it has addresses of the program, of its stack and of
// the vdso.
std::string ReadVector(pid_t pid) {
  StatusOr<std::string> text = ReadTextFile(ProcPath(pid, "auxv"));
  return text.ok() ? *std::move(text) : std::string();
}

}  // namespace

ExecWatch::ExecWatch(pid_t pid)
    : pid_(pid), had_executed_(HasExecutedSinceFork(pid)), vector_(ReadVector(pid)) {}

bool ExecWatch::HasExecuted() const {
  if (!had_executed_) return HasExecutedSinceFork(pid_);
  const std::string now = ReadVector(pid_);
  return !now.empty() && now != vector_;
}

}  // namespace hbbp
