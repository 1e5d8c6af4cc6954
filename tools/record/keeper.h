// A process that finishes the work of hbbp record if that is killed.
#ifndef HBBP_TOOLS_RECORD_KEEPER_H_
#define HBBP_TOOLS_RECORD_KEEPER_H_

#include <sys/types.h>

#include <functional>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp::tools {

class Keeper {
 public:
  // `finish` runs in the keeper, after the starting process was killed and the program that it
  // watched has ended (0: there was none).
  static StatusOr<Keeper> Start(const std::function<void(pid_t program)>& finish);
  Keeper(Keeper&&) noexcept = default;
  // Dismisses it and waits for its end.
  ~Keeper();

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
