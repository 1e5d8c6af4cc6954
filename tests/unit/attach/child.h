// Children of a test that do something until its end.
#ifndef HBBP_TESTS_UNIT_ATTACH_CHILD_H_
#define HBBP_TESTS_UNIT_ATTACH_CHILD_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/files.h"
#include "support/catch.h"

namespace hbbp {

// Runs a function in a child until the end of the test.
class Child {
 public:
  explicit Child(void (*run)()) : pid_(::fork()) {
    if (pid_ == 0) {
      run();
      ::_exit(0);
    }
    REQUIRE(pid_ > 0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  char State() const {
    const StatusOr<std::string> stat = ReadTextFile("/proc/" + std::to_string(pid_) + "/stat");
    REQUIRE(stat.ok());
    return (*stat)[stat->rfind(')') + 2];
  }

  void WaitForState(char state) const {
    for (int i = 0; State() != state; ++i) {
      REQUIRE(i < 5000);
      ::usleep(1000);
    }
  }

  int ExitStatus() const {
    siginfo_t end = {};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT) == 0);
    return end.si_status;
  }

 private:
  const pid_t pid_;
};

inline volatile uint64_t g_sink;

inline void Spin() {
  for (uint64_t i = 1;; ++i) {
    if (i % 3 == 0) g_sink = g_sink + i;
    g_sink = g_sink ^ (i << 7);
  }
}

// Runs for some microseconds at a time.
inline void Nap() {
  for (;;) ::usleep(10);
}

inline void Sleep() {
  for (;;) ::pause();
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_ATTACH_CHILD_H_
