// Tests stops and bursts of a child of this process.
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/attach_check.h"
#include "attach/process_tracer.h"
#include "attach/thread_stop.h"
#include "attach/thread_times.h"
#include "base/files.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr trace::BurstLimits kLimits = {256, 0, 0};

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

volatile uint64_t g_sink;
volatile double g_zero;
sigjmp_buf g_environment;

void Spin() {
  for (uint64_t i = 1;; ++i) {
    if (i % 3 == 0) g_sink = g_sink + i;
    g_sink = g_sink ^ (i << 7);
  }
}

// Stops the child where it spins, and traces it. A child that has just begun may still be
// elsewhere. Returns false where ptrace is refused.
template <typename Use>
bool UseFullBurst(const Child& child, ProcessTracer* tracer, Use use) {
  for (int i = 0; i < 1000; ++i) {
    ThreadStop stop(child.pid(), false);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) return false;
    REQUIRE(outcome == StopOutcome::kStopped);
    const TracedBurst burst = tracer->Trace(stop, kLimits);
    if (burst.end == trace::StopReason::kFull) {
      use(&stop, burst);
      return true;
    }
    stop.LetGo();
    ::usleep(1000);
  }
  FAIL("no burst was full");
  return false;
}

void Sleep() {
  for (;;) ::pause();
}

void WaitForEvents() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
  epoll_event event;
  const int found = ::epoll_wait(::epoll_create1(0), &event, 1, 500);
  ::_exit(found < 0 ? errno : found);
}

// Divides by zero with a trap, from whose handler it jumps.
void DivideAgain() {
  struct sigaction action = {};
  action.sa_flags = SA_NODEFER;
  action.sa_handler = [](int) { ::siglongjmp(g_environment, 1); };
  ::sigaction(SIGFPE, &action, nullptr);
  for (;;) {
    if (sigsetjmp(g_environment, 0) != 0) continue;
    ::feenableexcept(FE_DIVBYZERO);
    for (int i = 0; i < 1000; ++i) g_sink = g_sink + 1;
    g_sink = static_cast<uint64_t>(1 / g_zero);
  }
}

bool StopsAtOnce(ThreadStop* stop) { return stop->Stop() == StopOutcome::kStopped; }

}  // namespace

TEST_CASE("a system call that a stop has interrupted goes on") {
  const Child child(&WaitForEvents);
  child.WaitForState('S');
  for (int i = 0; i < 10; ++i) {
    ThreadStop stop(child.pid(), false);
    if (stop.Stop() == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    CHECK(stop.IsInSystemCall());
    stop.LetGo();
    ::usleep(1000);
  }
  CHECK(child.ExitStatus() == 0);
}

TEST_CASE("a signal that comes during a stop ends the system call") {
  const Child child(&WaitForEvents);
  child.WaitForState('S');
  ThreadStop stop(child.pid(), false);
  if (stop.Stop() == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
  ::kill(child.pid(), SIGUSR1);
  stop.LetGo();
  CHECK(child.ExitStatus() == EINTR);
}

TEST_CASE("a process that is stopped by a signal stays so") {
  const Child child(&Spin);
  ::kill(child.pid(), SIGSTOP);
  child.WaitForState('T');
  ThreadStop stop(child.pid(), false);
  const StopOutcome outcome = stop.Stop();
  if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
  CHECK(outcome == StopOutcome::kInSignal);
  stop.LetGo();
  ::usleep(10'000);
  CHECK(child.State() == 'T');
}

TEST_CASE("stops are of threads that there are, and that no other traces") {
  CHECK(ThreadStop(INT32_MAX, true).Stop() == StopOutcome::kGone);
  const Child child(&Spin);
  ThreadStop first(child.pid(), false);
  if (!StopsAtOnce(&first)) HBBP_SKIP("ptrace is refused");
  CHECK(ThreadStop(child.pid(), false).Stop() == StopOutcome::kRefused);
}

TEST_CASE("a traced burst is what the process then executes") {
  const Child child(&Spin);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  for (int i = 0; i < 5; ++i) {
    const bool is_traced =
        UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, const TracedBurst& burst) {
          REQUIRE(burst.branches.size() == kLimits.branches);
          CHECK(burst.instructions >= burst.branches.size() - 1);
          CHECK(burst.instructions <= burst.interpreted);
          CHECK_FALSE(burst.cost.is_cut);
          const Verification verified = (*tracer)->Verify(stop, burst);
          CHECK(verified.branches == burst.branches.size());
          CHECK(verified.disagreements == 0);
          CHECK_FALSE(verified.registers_disagree);
        });
    if (!is_traced) HBBP_SKIP("ptrace is refused");
  }
}

TEST_CASE("verification finds a branch that was not taken so, and other registers") {
  const Child child(&Spin);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  const bool is_traced =
      UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, TracedBurst burst) {
        std::vector<TakenBranch> branches(burst.branches.begin(), burst.branches.end());
        branches[100].to += 1;
        burst.branches = branches;
        const Verification verified = (*tracer)->Verify(stop, burst);
        CHECK(verified.branches == 100);
        CHECK(verified.disagreements == 1);
        CHECK(verified.disagreement_at == branches[100].from);
      });
  if (!is_traced) HBBP_SKIP("ptrace is refused");
  UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, TracedBurst burst) {
    burst.branches = burst.branches.first(100);
    CHECK((*tracer)->Verify(stop, burst).registers_disagree);
  });
}

TEST_CASE("an exception of floating point is the process's own") {
  const Child child(&DivideAgain);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  int bursts = 0;
  for (int i = 0; i < 200; ++i) {
    ThreadStop stop(child.pid(), false);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    if (outcome != StopOutcome::kStopped) continue;
    (void)(*tracer)->Trace(stop, {3000, 0, 0});
    ++bursts;
    stop.LetGo();
    ::usleep(200);
  }
  CHECK(bursts > 10);
  CHECK(child.State() == 'R');
}

TEST_CASE("running threads are listed, and sleeping ones are not; CPU time is counted once") {
  const Child spins(&Spin), sleeps(&Sleep);
  sleeps.WaitForState('S');
  auto of_spinning = ThreadTimes::Open(spins.pid(), {});
  auto of_sleeping = ThreadTimes::Open(sleeps.pid(), {});
  REQUIRE(of_spinning.ok());
  REQUIRE(of_sleeping.ok());
  (void)of_spinning->TakeTime(spins.pid());
  ::usleep(50'000);
  CHECK(of_spinning->ListRunning() == std::vector<pid_t>{spins.pid()});
  CHECK(of_spinning->TakeTime(spins.pid()) > 1'000'000);
  CHECK(of_sleeping->ListRunning().empty());
  CHECK(of_sleeping->TakeTime(sleeps.pid()) == 0);
  CHECK(ThreadTimes::Open(spins.pid(), {sleeps.pid()}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("what cannot be attached to is refused with its reason") {
  CHECK(CheckAttach(::getpid()).code() == StatusCode::kInvalidArgument);
  CHECK(CheckAttach(INT32_MAX).code() == StatusCode::kNotFound);
  {
    const Child child([] {});
    child.WaitForState('Z');
    CHECK(CheckAttach(child.pid()).code() == StatusCode::kUnsupported);
  }
  const Child child(&Spin);
  CHECK(ParentOf(child.pid()) == ::getpid());
  const Status status = CheckAttach(child.pid());
  if (status.code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  CHECK(status.ok());
  ThreadStop stop(child.pid(), false);
  REQUIRE(StopsAtOnce(&stop));
  CHECK(CheckAttach(child.pid()).code() == StatusCode::kBusy);
}

}  // namespace hbbp
