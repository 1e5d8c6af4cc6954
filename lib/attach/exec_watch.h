// ExecWatch finds that another process has executed a program (exec), without perf events.
#ifndef HBBP_LIB_ATTACH_EXEC_WATCH_H_
#define HBBP_LIB_ATTACH_EXEC_WATCH_H_

#include <sys/types.h>

#include <string>

namespace hbbp {

class ExecWatch {
 public:
  explicit ExecWatch(pid_t pid);

  // Returns whether the process has executed a program since the watch was made. One that executes
  // itself anew, with the same arguments and at the same addresses (setarch -R), is seen only if it
  // was forked and had executed none before.
  bool HasExecuted() const;

 private:
  const pid_t pid_;
  const bool had_executed_;
  const std::string vector_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_EXEC_WATCH_H_
