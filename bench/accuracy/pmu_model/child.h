// A child process that is traced, and killed when its object is destroyed.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_CHILD_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hbbp::simulation {

class Child {
 public:
  // Runs `prepare` and then `command` in a new process, at the same addresses in every run.
  static StatusOr<Child> Start(const std::vector<std::string>& command,
                               const std::function<void()>& prepare);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // Returns the status of waitpid. After the child has ended, it is not waited for again.
  StatusOr<int> Wait();

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_CHILD_H_
