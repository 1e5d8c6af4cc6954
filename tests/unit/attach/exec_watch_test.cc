#include "attach/exec_watch.h"

#include <sys/personality.h>
#include <unistd.h>

#include <array>

#include "support/catch.h"
#include "unit/attach/child.h"

namespace hbbp {
namespace {

std::array<int, 2> g_pipe;

// Executes a shell when a line comes, which executes another program at the next one.
void ExecuteByLine() {
  if (::dup2(g_pipe[0], STDIN_FILENO) < 0) ::_exit(1);
  for (char byte = 0; byte != '\n';) {
    if (::read(STDIN_FILENO, &byte, 1) != 1) ::_exit(1);
  }
  ::execl("/bin/sh", "sh", "-c", "read line; exec sleep 100", nullptr);
}

void WriteLine() { REQUIRE(::write(g_pipe[1], "\n", 1) == 1); }

bool HasExecutedSoon(const ExecWatch& watch) {
  for (int i = 0; i < 5000; ++i) {
    if (watch.HasExecuted()) return true;
    ::usleep(1000);
  }
  return false;
}

TEST_CASE("the exec of a child, and of what that has executed, is found") {
  for (const bool is_random : {true, false}) {
    CAPTURE(is_random);
    REQUIRE(::pipe(g_pipe.data()) == 0);
    const int before = ::personality(0xffffffff);
    if (!is_random) (void)::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
    const Child child(&ExecuteByLine);
    (void)::personality(static_cast<unsigned long>(before));
    const ExecWatch of_child(child.pid());
    child.WaitForState('S');
    CHECK_FALSE(of_child.HasExecuted());
    WriteLine();
    REQUIRE(HasExecutedSoon(of_child));

    child.WaitForState('S');
    const ExecWatch of_shell(child.pid());
    ::usleep(10'000);
    CHECK_FALSE(of_shell.HasExecuted());
    WriteLine();
    CHECK(HasExecutedSoon(of_shell));
    for (const int fd : g_pipe) ::close(fd);
  }
}

TEST_CASE("a process that has ended executes nothing") {
  pid_t pid = 0;
  {
    const Child child(&Sleep);
    pid = child.pid();
  }
  CHECK_FALSE(ExecWatch(pid).HasExecuted());
}

}  // namespace
}  // namespace hbbp
