// A process that finishes the work of hbbp record if that is killed, or if processes of the program
// outlive it.
#ifndef HBBP_TOOLS_RECORD_KEEPER_H_
#define HBBP_TOOLS_RECORD_KEEPER_H_

#include <sys/types.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp::tools {

class Keeper {
 public:
  // These run in the keeper.
  struct Tasks {
    // In Watch: takes what must stay open for as long as the program runs.
    std::function<void()> begin;
    // After the starting process was killed and the program that it watched has ended (0: there was
    // none).
    std::function<void(pid_t program)> finish;
    // In HandOver, which got `running` and waits until `has_taken_over` is called, without files of
    // a terminal or a pipe.
    std::function<void(pid_t program, const std::vector<pid_t>& running,
                       const std::function<void()>& has_taken_over)>
        go_on;
  };

  static StatusOr<Keeper> Start(const Tasks& tasks);
  Keeper(Keeper&&) noexcept = default;
  // Dismisses it and waits for its end, unless the work was handed over.
  ~Keeper();

  // What the starting process holds must not be let go before the keeper has it, too: another
  // process would take it for abandoned.
  void HandOver(const std::vector<pid_t>& running);

  // Call it before the program runs. The program must be a child of the starting process.
  void Watch(pid_t program);

 private:
  Keeper(UniqueFd writer, UniqueFd life_reader)
      : writer_(std::move(writer)), life_reader_(std::move(life_reader)) {}

  UniqueFd writer_;
  UniqueFd life_reader_;  // read end of a pipe that only the keeper writes to
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_KEEPER_H_
