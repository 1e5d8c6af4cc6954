// Tests that a thread which is stopped again and again goes on as if it were not: in system calls
// with time limits, in restartable sequences, in the vsyscall page.
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "attach/attach_backend.h"
#include "attach/process_tracer.h"
#include "attach/thread_stop.h"
#include "base/clock.h"
#include "base/files.h"
#include "support/branch_tracing.h"
#include "support/catch.h"
#include "trace/restartable_sequence.h"
#include "unit/attach/child.h"

namespace hbbp {
namespace {

constexpr timespec kLimit = {0, 300'000'000};
constexpr int kLimitMs = 300;

// What a child found, as its exit status.
enum Result { kRight = 0, kWrongResult = 1, kTooEarly = 2, kTooLate = 3 };

// `wait` returns whether the call says that its time is over.
void CheckWait(bool (*wait)()) {
  // A call that begins anew at each stop lasts as long as there are stops.
  constexpr uint64_t kTooLongNs = 6'000'000'000;
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  const bool is_right = wait();
  const uint64_t ns = ClockNs(CLOCK_MONOTONIC) - begin_ns;
  if (!is_right) ::_exit(kWrongResult);
  if (ns < uint64_t{kLimit.tv_nsec}) ::_exit(kTooEarly);
  ::_exit(ns > kTooLongNs ? kTooLate : kRight);
}

void WaitByNanosleep() {
  CheckWait([] { return ::nanosleep(&kLimit, nullptr) == 0; });
}
void WaitByClockNanosleep() {
  CheckWait([] { return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kLimit, nullptr) == 0; });
}
void WaitByPoll() {
  CheckWait([] { return ::poll(nullptr, 0, kLimitMs) == 0; });
}
void WaitByPpoll() {
  CheckWait([] { return ::ppoll(nullptr, 0, &kLimit, nullptr) == 0; });
}
void WaitBySelect() {
  CheckWait([] {
    timeval limit = {0, kLimit.tv_nsec / 1000};
    return ::select(0, nullptr, nullptr, nullptr, &limit) == 0;
  });
}
void WaitByPselect() {
  CheckWait([] { return ::pselect(0, nullptr, nullptr, nullptr, &kLimit, nullptr) == 0; });
}
void WaitByFutex() {
  CheckWait([] {
    uint32_t word = 0;
    const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kLimit, nullptr, 0);
    return result == -1 && errno == ETIMEDOUT;
  });
}

// Stops the child each millisecond until it ends, for ten seconds at most. Returns how often it was
// found in its system call, or -1 where ptrace is refused.
int StopOften(const Child& child) {
  constexpr int kMaxStops = 10'000;
  int found = 0;
  for (int i = 0; i < kMaxStops && child.State() != 'Z'; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) return -1;
    if (outcome == StopOutcome::kStopped && stop.IsInSystemCall()) ++found;
    stop.LetGo();
    ::usleep(1000);
  }
  return found;
}

TEST_CASE("a time limit of a system call passes while its thread is stopped again and again") {
  const struct {
    const char* name;
    void (*run)();
  } calls[] = {
      {"nanosleep", &WaitByNanosleep}, {"clock_nanosleep", &WaitByClockNanosleep},
      {"poll", &WaitByPoll},           {"ppoll", &WaitByPpoll},
      {"select", &WaitBySelect},       {"pselect", &WaitByPselect},
      {"futex", &WaitByFutex},
  };
  for (const auto& call : calls) {
    CAPTURE(call.name);
    const Child child(call.run);
    const int found = StopOften(child);
    if (found < 0) HBBP_SKIP("ptrace is refused");
    CHECK(found > 10);
    CHECK(child.ExitStatus() == kRight);
  }
}

// Stops of the process ------------------------------------------------------------------------

void SleepInTwoThreads() {
  std::thread([] {
    for (;;) ::pause();
  }).detach();
  for (;;) {
    constexpr timespec kNap = {0, 100'000'000};
    ::nanosleep(&kNap, nullptr);
  }
}

// Returns the number of the other thread, once there is one.
pid_t SecondThreadOf(const Child& child) {
  for (int i = 0; i < 5000; ++i) {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child.pid()) + "/task")) {
      const pid_t tid = std::stoi(entry.path().filename());
      if (tid != child.pid()) return tid;
    }
    ::usleep(1000);
  }
  FAIL("there is one thread only");
  return 0;
}

TEST_CASE("a process that is stopped while a thread of it makes a step goes on afterwards") {
  const Child child(&SleepInTwoThreads);
  const pid_t other = SecondThreadOf(child);
  bool was_stopped_in_step = false;
  for (int i = 0; i < 50 && !was_stopped_in_step; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    REQUIRE(outcome == StopOutcome::kStopped);
    // The call that was interrupted begins anew with the first step, and lasts for 100 ms.
    std::thread stopper([&] {
      ::usleep(30'000);
      ::syscall(SYS_tgkill, child.pid(), other, SIGSTOP);
    });
    bool has_stepped = true;
    for (int step = 0; step < 50 && has_stepped; ++step) has_stepped = stop.Step();
    stopper.join();
    was_stopped_in_step = !has_stepped;
    stop.LetGo();
    while (stop.is_traced()) {
      ::usleep(1000);
      (void)stop.StopLater();
      stop.LetGo();
    }
    child.WaitForState('T');
    ::kill(child.pid(), SIGCONT);
    child.WaitForState('S');
  }
  CHECK(was_stopped_in_step);
  ::usleep(200'000);
  child.WaitForState('S');
}

// Restartable sequences -----------------------------------------------------------------------

extern "C" const trace::SequenceDescriptor hbbp_test_sequence;

// Runs in a sequence that never ends; when it is aborted it begins anew. With the signature of
// glibc in front of the code that the kernel goes to.
asm(R"(
  .pushsection .data.rel.ro.hbbp_test_sequence, "aw"
  .balign 32
hbbp_test_sequence:
  .long 0, 0
  .quad hbbp_test_sequence_start, hbbp_test_sequence_end - hbbp_test_sequence_start
  .quad hbbp_test_sequence_aborted
  .popsection
  .pushsection .text.hbbp_test_sequence, "ax"
  .byte 0x0f, 0xb9, 0x3d
  .long 0x53053053
hbbp_test_sequence_aborted:
hbbp_test_run_sequence:
  lea hbbp_test_sequence(%rip), %rax
  mov %rax, (%rdi)
hbbp_test_sequence_start:
  xor %ecx, %ecx
1:
  inc %ecx
  test $3, %cl
  jnz 1b
  jmp 1b
hbbp_test_sequence_end:
  ud2
  .popsection
)");
extern "C" void hbbp_test_run_sequence(uint64_t slot);

uint64_t CurrentSequence() {
  return trace::AddressOfCurrentSequence(reinterpret_cast<uint64_t>(__builtin_thread_pointer()));
}

void RunInSequence() { hbbp_test_run_sequence(CurrentSequence()); }

bool HasSequences() { return CurrentSequence() != 0; }

TEST_CASE("a thread in a restartable sequence is known, and is not stepped") {
  if (!HasSequences()) HBBP_SKIP("the C library registers no restartable sequences");
  const Child spins(&Spin), runs(&RunInSequence);
  {
    ThreadStop stop(spins.pid(), spins.pid(), true);
    if (stop.Stop() == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    CHECK_FALSE(stop.IsInRestartableSequence());
  }
  auto tracer = ProcessTracer::Create(runs.pid());
  REQUIRE(tracer.ok());
  // Elsewhere it is where it begins, or where a sequence has just been aborted.
  int found = 0;
  for (int i = 0; i < 5000 && found < 20; ++i) {
    ThreadStop stop(runs.pid(), runs.pid(), true);
    REQUIRE(stop.Stop() == StopOutcome::kStopped);
    if (stop.IsInRestartableSequence()) {
      ++found;
      const TracedBurst burst = (*tracer)->Trace(stop, {256, 0, 0});
      CHECK(burst.end == trace::StopReason::kFull);
      const Verification verified = (*tracer)->Verify(&stop, burst);
      CHECK(verified.branches == 0);
      CHECK(verified.disagreements == 0);
      CHECK_FALSE(verified.registers_disagree);
    }
    stop.LetGo();
    ::usleep(1000);
  }
  CHECK(found == 20);
}

TEST_CASE("a thread that was found in a restartable sequence is not stopped for a while") {
  if (!HasSequences()) HBBP_SKIP("the C library registers no restartable sequences");
  const Child child(&RunInSequence);
  BackendConfig config;
  config.pid = child.pid();
  config.period = 1'000'000;
  AttachBackend backend;
  BackendChoice choice;
  const Status status = backend.Start(config, 0, &choice);
  if (status.code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  REQUIRE(status.ok());
  BranchSink sink;
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  for (int i = 0; i < 30'000 && sink.CounterOf("in-restartable-sequence") < 5; ++i) {
    ::usleep(1000);
    backend.Drain(&sink);
  }
  const uint64_t elapsed_ms = (ClockNs(CLOCK_MONOTONIC) - begin_ns) / 1'000'000;
  CHECK(sink.CounterOf("in-restartable-sequence") >= 5);
  CHECK(elapsed_ms >= 4 * 50);
  backend.Disable();
  backend.Close();
}

// The vsyscall page ---------------------------------------------------------------------------

constexpr uint64_t kVsyscallPage = 0xffffffffff600000;

bool HasVsyscalls() {
  const StatusOr<std::string> maps = ReadTextFile("/proc/self/maps");
  return maps.ok() && maps->find("[vsyscall]") != std::string::npos;
}

void CallVsyscalls() {
  using GetTime = int (*)(timeval*, void*);
  const auto get_time = reinterpret_cast<GetTime>(kVsyscallPage);
  timeval last = {}, now = {};
  for (;;) {
    for (int i = 0; i < 100; ++i) g_sink = g_sink + 1;
    if (get_time(&now, nullptr) != 0 || timercmp(&now, &last, <)) ::_exit(1);
    last = now;
  }
}

TEST_CASE("a burst ends at a call of the vsyscall page") {
  if (!HasVsyscalls()) HBBP_SKIP("the kernel has no vsyscall page");
  const Child child(&CallVsyscalls);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  int calls = 0, verified_calls = 0;
  for (int i = 0; i < 2000 && verified_calls < 20; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    REQUIRE(outcome == StopOutcome::kStopped);
    const TracedBurst burst = (*tracer)->Trace(stop, {4096, 0, 0});
    const bool has_call = !burst.branches.empty() && burst.branches.back().to == kVsyscallPage;
    if (has_call) {
      ++calls;
      // The page can be executed, and in some configurations read.
      const bool is_expected = burst.end == trace::StopReason::kUnreadableCode ||
                               burst.end == trace::StopReason::kSystemCall;
      CHECK(is_expected);
    }
    const Verification verified = (*tracer)->Verify(&stop, burst);
    CHECK(verified.disagreements == 0);
    if (has_call && verified.branches == burst.branches.size()) ++verified_calls;
    stop.LetGo();
    ::usleep(200);
  }
  CHECK(verified_calls == 20);
  CHECK(child.State() == 'R');
}

}  // namespace
}  // namespace hbbp
