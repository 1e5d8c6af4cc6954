#include "trace/resume_breakpoints.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "support/catch.h"
#include "trace/signal_data.h"
#include "trace/tracer.h"

namespace hbbp::trace {
namespace {

// Sends the sample to the calling thread. Its burst has two branches, and comes to
// rt_sigprocmask(how, set).
void SendSampleThenSetMask(const siginfo_t& sample, long how, const uint64_t* set) {
  long process = ::getpid(), thread = ::gettid(), signal_number = SIGTRAP;
  asm volatile(
      "movq %[sample], %%r10\n\t"
      "movl %[send], %%eax\n\t"
      "syscall\n\t"
      "jmp 1f\n\t"
      "nop\n"
      "1:\n\t"
      "jmp 2f\n\t"
      "nop\n"
      "2:\n\t"
      "movq %[how], %%rdi\n\t"
      "movq %[set], %%rsi\n\t"
      "xorl %%edx, %%edx\n\t"
      "movl $8, %%r10d\n\t"
      "movl %[set_mask], %%eax\n\t"
      "syscall"
      : "+D"(process), "+S"(thread), "+d"(signal_number)
      : [sample] "r"(&sample), [send] "i"(SYS_rt_tgsigqueueinfo), [how] "r"(how), [set] "r"(set),
        [set_mask] "i"(SYS_rt_sigprocmask)
      : "rax", "rcx", "r10", "r11", "cc", "memory");
}

// Returns how many bursts have ended in front of the system call, or -1.
int BurstsThatEnded(Mode mode, long how, const uint64_t* set) {
  constexpr int kFailed = 99;
  const pid_t child = ::fork();
  if (child == 0) {
    TracerConfig config;
    config.mode = mode;
    config.burst.branches = Tracer::kMaxBurstBranches;
    if (Tracer::Get().Open(config) != 0) ::_exit(kFailed);
    Tracer::Get().Enable();
    siginfo_t sample = {};
    sample.si_signo = SIGTRAP;
    sample.si_code = SI_QUEUE;
    SetSignalData(&sample, Tracer::Get().SampleData(1));
    SendSampleThenSetMask(sample, how, set);
    int bursts = 0;
    Tracer::Get().Drain(false, [&bursts](const BurstView&) { ++bursts; });
    ::_exit(bursts);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) != kFailed ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a burst ends where the program blocks SIGTRAP, and at no other change of its mask") {
  constexpr uint64_t kAll = ~uint64_t{0};
  constexpr uint64_t kOthers = kAll & ~(uint64_t{1} << (SIGTRAP - 1));
  for (const Mode mode : {Mode::kLookAhead, Mode::kVerify}) {
    CAPTURE(static_cast<int>(mode));
    CHECK(BurstsThatEnded(mode, SIG_BLOCK, &kAll) == 1);
    CHECK(BurstsThatEnded(mode, SIG_SETMASK, &kAll) == 1);
    CHECK(BurstsThatEnded(mode, SIG_BLOCK, &kOthers) == 0);
    CHECK(BurstsThatEnded(mode, SIG_UNBLOCK, &kAll) == 0);
    CHECK(BurstsThatEnded(mode, SIG_BLOCK, nullptr) == 0);
  }
}

}  // namespace
}  // namespace hbbp::trace
