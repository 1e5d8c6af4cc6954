// TracedChild is a program that was started and waits to be traced from its first instruction on.
#ifndef HBBP_TOOLS_COUNT_TRACED_CHILD_H_
#define HBBP_TOOLS_COUNT_TRACED_CHILD_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp::tools {

class TracedChild {
 public:
  // Forks and takes the child under ptrace, before it executes `command`. The message of
  // kPermission names what forbids it.
  static StatusOr<TracedChild> Start(const std::vector<std::string>& command);

  TracedChild(TracedChild&&) = default;
  TracedChild& operator=(TracedChild&&) = default;

  pid_t pid() const { return pid_; }
  // Lets the child execute the command, which stops with PTRACE_EVENT_EXEC.
  void Go();
  // Returns why the command could not be executed, after the child has ended; OK if it was
  // executed.
  Status ExecFailure(const std::string& program) const;

 private:
  TracedChild() = default;

  pid_t pid_ = 0;
  UniqueFd go_;
  UniqueFd failure_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_TRACED_CHILD_H_
