// Checks what becomes of debug exceptions that the kernel could not explain: they are sent as
// signals here, with the codes of the kernel.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.h"
#include "trace/signal_data.h"
#include "trace/tracer.h"

namespace hbbp::trace {
namespace {

constexpr int kHardwareBreakpoint = 4;  // TRAP_HWBKPT
constexpr int kCannotOpen = 99;

volatile sig_atomic_t traps_of_program = 0;

void CountTrap(int) { traps_of_program = traps_of_program + 1; }

siginfo_t TrapWith(int code) {
  siginfo_t info = {};
  info.si_signo = SIGTRAP;
  info.si_code = code;
  return info;
}

// Sends both to the calling thread. The burst that `sample` begins waits at the branch where `trap`
// arrives.
void SendSampleThenTrap(const siginfo_t* sample, const siginfo_t* trap) {
  asm volatile(
      "movq %[sample], %%r10\n\t"
      "movl %[send], %%eax\n\t"
      "syscall\n\t"
      "movq %[trap], %%r10\n\t"
      "movl %[send], %%eax\n\t"
      "syscall\n\t"
      "jz 1f\n\t"
      "nop\n"
      "1:"
      :
      : [sample] "r"(sample), [trap] "r"(trap), [send] "i"(SYS_rt_tgsigqueueinfo),
        "D"(static_cast<long>(::getpid())), "S"(static_cast<long>(::gettid())),
        "d"(static_cast<long>(SIGTRAP))
      : "rax", "rcx", "r10", "r11", "cc", "memory");
}

// Does the same, and `hit` arrives one instruction in front of the branch.
void SendSampleThenEarlyHit(const siginfo_t* sample, const siginfo_t* hit) {
  asm volatile(
      "movq %[sample], %%r10\n\t"
      "movl %[send], %%eax\n\t"
      "syscall\n\t"
      "movq %[hit], %%r10\n\t"
      "movl %[send], %%eax\n\t"
      "syscall\n\t"
      "nop\n\t"
      "jz 1f\n\t"
      "nop\n"
      "1:"
      :
      : [sample] "r"(sample), [hit] "r"(hit), [send] "i"(SYS_rt_tgsigqueueinfo),
        "D"(static_cast<long>(::getpid())), "S"(static_cast<long>(::gettid())),
        "d"(static_cast<long>(SIGTRAP))
      : "rax", "rcx", "r10", "r11", "cc", "memory");
}

void Send(const siginfo_t& trap) {
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), SIGTRAP, &trap);
}

struct Outcome {
  int traps_of_program;
  uint64_t stray_traps;
  uint64_t hits_elsewhere;
};

// Calls send(data of a sample) in a child, in a session in mode breakpoint.
template <typename Sender>
Outcome OutcomeOf(Sender&& send) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTRAP, CountTrap);
    TracerConfig config;
    config.mode = Mode::kBreakpoint;
    if (Tracer::Get().Open(config) != 0) ::_exit(kCannotOpen);
    Tracer::Get().Enable();
    send(Tracer::Get().SampleData(1));
    uint64_t counters[kCounters];
    Tracer::Get().ReadCounters(counters);
    const Outcome outcome = {traps_of_program,
                             counters[static_cast<uint32_t>(Counter::kStrayTraps)],
                             counters[static_cast<uint32_t>(Counter::kHitElsewhere)]};
    ::_exit(::write(pipe[1], &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
  }
  ::close(pipe[1]);
  Outcome outcome = {-1, 0, 0};
  const ssize_t size = ::read(pipe[0], &outcome, sizeof(outcome));
  ::close(pipe[0]);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(size == sizeof(outcome));
  return outcome;
}

TEST_CASE("a debug exception at a breakpoint of the library is never the program's") {
  for (const int code : std::initializer_list<int>{TRAP_BRKPT, TRAP_TRACE, kHardwareBreakpoint}) {
    CAPTURE(code);
    const Outcome outcome = OutcomeOf([code](uint64_t sample_data) {
      siginfo_t sample = TrapWith(SI_QUEUE);
      SetSignalData(&sample, sample_data);
      const siginfo_t trap = TrapWith(code);
      SendSampleThenTrap(&sample, &trap);
    });
    CHECK(outcome.traps_of_program == 0);
    CHECK(outcome.stray_traps == 1);
  }
}

// With real-time signals it may come so late that a loop has gone round.
TEST_CASE("a hit that the thread is not at ends the burst, and is kept from the program") {
  const Outcome outcome = OutcomeOf([](uint64_t sample_data) {
    siginfo_t sample = TrapWith(SI_QUEUE), hit = TrapWith(SI_QUEUE);
    SetSignalData(&sample, sample_data);
    const auto session = static_cast<uint32_t>(sample_data >> kSessionShift) & kSessionMask;
    constexpr uint32_t kFirstSlot = 0;
    SetSignalData(&hit, MakeSignalData(session, SignalKind::kBreakpointHit, kFirstSlot));
    SendSampleThenEarlyHit(&sample, &hit);
  });
  CHECK(outcome.hits_elsewhere == 1);
  CHECK(outcome.traps_of_program == 0);
}

TEST_CASE("a thread that had no sample may get a debug exception that nothing explains") {
  for (const int code : std::initializer_list<int>{TRAP_BRKPT, kHardwareBreakpoint}) {
    CAPTURE(code);
    CHECK(OutcomeOf([code](uint64_t) { Send(TrapWith(code)); }).traps_of_program == 0);
  }
}

TEST_CASE("what the program may have made is passed on") {
  CHECK(OutcomeOf([](uint64_t) { asm volatile("int3"); }).traps_of_program == 1);
  CHECK(OutcomeOf([](uint64_t) { ::raise(SIGTRAP); }).traps_of_program == 1);
  CHECK(OutcomeOf([](uint64_t) { Send(TrapWith(TRAP_TRACE)); }).traps_of_program == 1);
}

TEST_CASE("a program that single-steps itself gets each of its traps") {
  const Outcome outcome = OutcomeOf([](uint64_t) {
    asm volatile(
        "subq $128, %%rsp\n\t"
        "pushfq\n\t"
        "orl $0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "nop\n\t"
        "nop\n\t"
        "pushfq\n\t"
        "andl $~0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "addq $128, %%rsp"
        :
        :
        : "cc", "memory");
  });
  CHECK(outcome.traps_of_program == 5);
}

// Returns the status of a child without a handler that sends itself `trap`, and in `codes` those
// of all its signals.
int StatusWithoutHandler(const siginfo_t& trap, bool has_filter, std::vector<int>* codes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTRAP, SIG_DFL);
    if (Tracer::Get().Open({}) != 0) ::_exit(kCannotOpen);
    if (has_filter) Tracer::Get().EndForFilter();
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    Send(trap);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    siginfo_t info = {};
    REQUIRE(::ptrace(PTRACE_GETSIGINFO, child, nullptr, &info) == 0);
    codes->push_back(info.si_code);
    REQUIRE(::ptrace(PTRACE_CONT, child, nullptr, WSTOPSIG(status)) == 0);
  }
  return status;
}

TEST_CASE(
    "a program without a handler does not single-step itself, and ends by no such exception") {
  for (const bool has_filter : {false, true}) {
    for (const int code : std::initializer_list<int>{TRAP_BRKPT, TRAP_TRACE, kHardwareBreakpoint}) {
      CAPTURE(has_filter, code);
      std::vector<int> codes;
      CHECK(StatusWithoutHandler(TrapWith(code), has_filter, &codes) == 0);
      CHECK(codes == std::vector<int>{code});
    }
  }
}

TEST_CASE("by any other SIGTRAP it ends, as that came") {
  for (const bool has_filter : {false, true}) {
    for (const int code : std::initializer_list<int>{TRAP_BRANCH, SI_QUEUE, SI_KERNEL}) {
      CAPTURE(has_filter, code);
      std::vector<int> codes;
      const int status = StatusWithoutHandler(TrapWith(code), has_filter, &codes);
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP));
      CHECK(codes == std::vector<int>{code, code});
    }
  }
}

}  // namespace
}  // namespace hbbp::trace
