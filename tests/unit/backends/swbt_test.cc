// Tests the backend that traces branches in software, on real threads of the test's own process.
// The first tests check that the code explains all recorded branches (CheckConsistent()), for each
// mode and method of tracing; the next ones threads, buffers, weights of bursts, periods and the
// budget; the last ones that a program with handlers, exceptions, fork, seccomp filters or changing
// code runs as it would without tracing. WorkFor() is the program that most of them trace.
#include "backends/swbt.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "events/period.h"
#include "image/process_maps.h"
#include "isa/control_flow.h"
#include "probes/memory_operand.h"
#include "support/branch_tracing.h"
#include "support/catch.h"
#include "support/cpu_work.h"
#include "support/heap_use.h"
#include "support/nop_ring.h"
#include "support/own_process.h"
#include "support/sanitizer.h"
#include "support/seccomp_filter.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/signal_data.h"

namespace hbbp {
namespace {

using Sink = BranchSink;

uint64_t CpuNs() { return ClockNs(CLOCK_PROCESS_CPUTIME_ID); }

[[gnu::noinline]] uint64_t Collatz(uint64_t n) {
  uint64_t steps = 0;
  for (; n != 1; ++steps) n = n % 2 != 0 ? 3 * n + 1 : n / 2;
  return steps;
}

std::atomic<uint64_t> result;

uint64_t CounterNow(trace::Counter counter) {
  uint64_t sums[trace::kCounters];
  trace::Tracer::Get().ReadCounters(sums);
  return sums[static_cast<int>(counter)];
}

// Runs loops, calls by pointer and library functions.
void WorkFor(int milliseconds) {
  static uint64_t (*volatile function)(uint64_t) = &Collatz;
  const uint64_t end = CpuNs() + static_cast<uint64_t>(milliseconds) * 1'000'000;
  std::string text;
  while (CpuNs() < end) {
    for (uint64_t i = 1; i < 300; ++i) result += function(i);
    text = std::to_string(result) + "," + text.substr(0, 500);
    result += text.find("77") + std::strlen(text.c_str());
  }
}

Sink Trace(const BackendConfig& config, const std::function<void()>& work,
           TracingMethod method = TracingMethod::kBest) {
  return TraceBranches(
      config, work, [] {}, method);
}

// Returns whether the code from `begin` leads to the branch at `end` without another taken branch.
bool IsStream(uint64_t begin, uint64_t end) {
  uint64_t ip = begin;
  for (int i = 0; i < 20'000; ++i) {
    ControlFlow flow;
    if (!DecodeControlFlow({reinterpret_cast<const uint8_t*>(ip), kMaxInstructionLength}, ip,
                           &flow)) {
      return false;
    }
    if (ip == end) return flow.kind != BranchKind::kNone && flow.kind != BranchKind::kTrap;
    if (!FallsThrough(flow.kind)) return false;
    if (flow.kind == BranchKind::kCall || flow.kind == BranchKind::kIndirectCall) return false;
    ip += flow.length;
  }
  return false;
}

// Returns whether there is a branch at `from`, and if it is direct, with the target `to`.
bool IsPossible(const TakenBranch& branch) {
  ControlFlow flow;
  const uint64_t from = branch.from;
  return DecodeControlFlow({reinterpret_cast<const uint8_t*>(from), kMaxInstructionLength}, from,
                           &flow) &&
         flow.kind != BranchKind::kNone && (!flow.has_target || flow.target == branch.to);
}

void CheckConsistent(const Sink& sink) {
  uint64_t impossible = 0, unexplained = 0, branches = 0;
  for (const auto& [tid, burst] : sink.bursts) {
    for (size_t i = 0; i < burst.size(); ++i) {
      ++branches;
      if (!IsPossible(burst[i])) ++impossible;
      if (i > 0 && !IsStream(burst[i - 1].to, burst[i].from)) ++unexplained;
    }
  }
  CAPTURE(branches);
  CHECK(impossible == 0);
  CHECK(unexplained == 0);
}

// Returns whether an instruction that accesses memory is `offset` bytes behind `start`, and no
// instruction before it always branches.
bool IsAccessBehind(uint64_t start, uint32_t offset) {
  for (uint64_t ip = start; ip <= start + offset;) {
    const std::span code(reinterpret_cast<const uint8_t*>(ip), kMaxInstructionLength);
    ControlFlow flow;
    if (!DecodeControlFlow(code, ip, &flow)) return false;
    if (ip == start + offset) return FindMemoryOperand(code, ip).size != 0;
    if (!FallsThrough(flow.kind)) return false;
    ip += flow.length;
  }
  return false;
}

// Returns the number of accesses, which are those of the streams of their bursts, in order.
size_t CheckAccesses(const Sink& sink) {
  size_t number = 0, misplaced = 0;
  for (size_t i = 0; i < sink.bursts.size(); ++i) {
    const std::vector<TakenBranch>& branches = sink.bursts[i].second;
    RecordedAccess last;
    for (const RecordedAccess& access : sink.accesses[i]) {
      ++number;
      using Position = std::pair<uint32_t, uint32_t>;
      const bool is_in_order =
          Position(last.branch, uint32_t{last.offset}) <= Position(access.branch, access.offset);
      if (!is_in_order || access.branch >= branches.size() ||
          !IsAccessBehind(branches[access.branch].to, access.offset)) {
        ++misplaced;
      }
      last = access;
    }
  }
  CAPTURE(number);
  CHECK(misplaced == 0);
  return number;
}

BackendConfig AccessConfig(bool records, uint32_t burst = 0) {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, burst);
  config.recorded_kinds = records ? SetOf(RecordedKind::kAddress) : RecordedKinds{};
  return config;
}

TEST_CASE("look-ahead records bursts that the code explains, without breakpoints") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] { WorkFor(300); });
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.mode == "lookahead");
  CHECK(sink.statistics.bursts > 0);
  CHECK(sink.bursts.size() >= sink.statistics.bursts);  // the vdso cuts some in two
  CHECK(sink.statistics.taken_branches > 100 * sink.statistics.bursts);
  CHECK(sink.statistics.breakpoints * 100 < sink.statistics.taken_branches);
  CheckConsistent(sink);
}

TEST_CASE("bursts have as many branches as was asked for") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead, 700), [] { WorkFor(100); });
  std::set<size_t> sizes;
  for (const auto& [tid, burst] : sink.bursts) sizes.insert(burst.size());
  CHECK(*sizes.rbegin() == 700);
}

TEST_CASE("breakpoints record bursts that the code explains") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  const Sink sink = Trace(BranchConfig(TraceMode::kBreakpoint), [] { WorkFor(500); });
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.mode == "breakpoint");
  CHECK(sink.statistics.bursts > 0);
  CHECK(sink.statistics.breakpoints > sink.statistics.taken_branches / 2);
  CheckConsistent(sink);
  for (const auto& [tid, burst] : sink.bursts) CHECK(burst.size() <= 16);
}

TEST_CASE("verification finds no disagreement in a single thread") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  const Sink sink = Trace(BranchConfig(TraceMode::kVerify), [] { WorkFor(1500); });
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.verified_branches > 1000);
  CHECK(sink.statistics.disagreements == 0);
  CHECK(sink.CounterOf("registers-disagree") == 0);
  CheckConsistent(sink);
}

TEST_CASE("bursts larger than a buffer come whole") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead, 5000), [] { WorkFor(300); });
  CAPTURE(sink.Describe());
  size_t longest = 0;
  for (const auto& [tid, burst] : sink.bursts) longest = std::max(longest, burst.size());
  CHECK(longest == 5000);
  CheckConsistent(sink);
}

TEST_CASE("sessions that record accesses and others follow each other") {
  for (const bool records : {false, true, false, true}) {
    const Sink sink = Trace(AccessConfig(records), [] {
      WorkFor(100);
      for (int i = 0; i < 200; ++i) {
        ::syscall(SYS_getppid);
        result += Collatz(static_cast<uint64_t>(i) + 1);
      }
      WorkFor(50);
    });
    CAPTURE(records, sink.Describe());
    CHECK(sink.statistics.bursts > 0);
    CheckConsistent(sink);
    CHECK((CheckAccesses(sink) != 0) == records);
  }
}

TEST_CASE("a burst that finds no buffer for its rest ends there, and loses nothing") {
  const bool records_accesses = GENERATE(false, true);
  std::atomic<bool> stop{false};
  std::thread busy([&stop] {
    while (!stop) {
      for (uint64_t i = 1; i < 300; ++i) result += Collatz(i);
    }
  });
  // The worker does not empty a buffer until all are full.
  const BranchSink sink = TraceBranches(
      AccessConfig(records_accesses, 20'000), [] { SleepMs(50); },
      [] {
        for (int i = 0; i < 2000 && CounterNow(trace::Counter::kNoFreeBuffer) == 0; ++i) {
          SleepMs(10);
        }
      });
  stop = true;
  busy.join();
  CAPTURE(sink.Describe());
  REQUIRE(sink.CounterOf("no-free-buffer") > 0);
  CheckConsistent(sink);
  CHECK((CheckAccesses(sink) != 0) == records_accesses);
  uint64_t delivered = 0;
  for (const auto& [tid, burst] : sink.bursts) delivered += burst.size();
  // Parts with a single branch are not delivered as bursts.
  constexpr uint64_t kFew = 100;
  CHECK(delivered + kFew > sink.statistics.taken_branches);
}

TEST_CASE("without perf events, timers start bursts and look-ahead does without breakpoints") {
  const Sink sink = Trace(
      BranchConfig(TraceMode::kLookAhead), [] { WorkFor(500); }, TracingMethod::kTimers);
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.method.find("timers") != std::string::npos);
  CHECK(sink.statistics.bursts > 0);
  CHECK(sink.statistics.breakpoints == 0);
  CheckConsistent(sink);
}

TEST_CASE("a signal of a timer in the kernel is not a sample, as with perf events") {
  std::vector<char> bytes(1 << 18);
  const UniqueFd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Sink sink = Trace(
      BranchConfig(TraceMode::kLookAhead),
      [&] {
        const uint64_t end = CpuNs() + 500'000'000;
        while (CpuNs() < end) REQUIRE(::read(zeros.get(), bytes.data(), bytes.size()) > 0);
      },
      TracingMethod::kTimers);
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("in-kernel") > 0);
  CHECK(sink.statistics.bursts < sink.CounterOf("in-kernel"));
}

TEST_CASE("timers end where the program has a ring of io_uring") {
  int interrupted = 0;
  std::optional<NopRing> ring;
  const Sink sink = Trace(
      BranchConfig(TraceMode::kLookAhead),
      [&] {
        WorkFor(200);
        ring.emplace();
        WorkFor(1500);  // mappings are listed each second
        if (!ring->is_mapped()) return;
        for (int i = 0; i < 100'000; ++i) interrupted += ring->DoOne(false);
      },
      TracingMethod::kTimers);
  if (!ring->is_mapped()) HBBP_SKIP("no io_uring here");
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.bursts > 0);
  CHECK(sink.statistics.method.find("tracing ended early: the program uses io_uring") !=
        std::string::npos);
  CHECK(interrupted == 0);
}

// Has two threads, each of which sends a byte when it has received one. They share a processor,
// because what it takes to wake another one differs from machine to machine, and is CPU time, too.
class PingPong {
 public:
  PingPong() {
    REQUIRE(::sched_getaffinity(0, sizeof(processors_), &processors_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
    REQUIRE(::pipe2(there_, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(back_, O_CLOEXEC) == 0);
    answers_ = std::thread([this] {
      while (Take(there_[0])) (void)!::write(back_[1], "", 1);
      ::close(back_[1]);
    });
  }
  ~PingPong() {
    ::close(there_[1]);
    answers_.join();
    for (const int fd : {there_[0], back_[0]}) ::close(fd);
    ::sched_setaffinity(0, sizeof(processors_), &processors_);
  }

  void PlayFor(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) {
      (void)!::write(there_[1], "", 1);
      (void)Take(back_[0]);
      ++rounds_;
    }
  }

  uint64_t rounds() const { return rounds_; }
  uint64_t interrupted() const { return interrupted_; }

 private:
  // poll() is never restarted after a signal.
  bool Take(int fd) {
    pollfd wait = {fd, POLLIN, 0};
    while (::poll(&wait, 1, -1) < 0) ++interrupted_;
    char byte;
    return ::read(fd, &byte, 1) == 1;
  }

  cpu_set_t processors_;
  int there_[2], back_[2];
  std::thread answers_;
  uint64_t rounds_ = 0;
  std::atomic<uint64_t> interrupted_{0};
};

TEST_CASE("by default, a process that switches often is sampled by timers") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no perf events with sigtrap here");
  PingPong game;
  SharedStart shared;
  BackendConfig config;
  config.shared_start = &shared;
  const auto trace = [&](const std::function<void()>& work) { return Trace(config, work); };
  const Sink sink = trace([&] { game.PlayFor(3500); });
  CAPTURE(sink.Describe(), game.rounds());
  if (sink.statistics.method.find("instructions") != std::string::npos) {
    HBBP_SKIP("counters of the PMU are cheap here");
  }
  CHECK(sink.statistics.method.find("CPU-time timers") != std::string::npos);
  CHECK(game.interrupted() == 0);
  CHECK(sink.CounterOf("samples") > 0);
  // It has threads, which others need not have, or more of them.
  CHECK_FALSE(shared.prefers_timers);
  SECTION("and so are those that share its start, from the beginning") {
    shared.prefers_timers = true;
    const Sink next = trace([] { WorkFor(500); });
    CAPTURE(next.Describe());
    CHECK(next.statistics.method.find("in another process of the program") != std::string::npos);
    CHECK(next.statistics.bursts > 0);
    CheckConsistent(next);
  }
  SECTION("if it may choose") {
    config.event = EventKind::kTaskClock;
    const Sink chosen = trace([&] { game.PlayFor(2500); });
    CHECK(chosen.statistics.method.find("CPU-time timers") == std::string::npos);
  }
  SECTION("and one that computes does not") {
    config.shared_start = nullptr;
    const Sink busy = trace([] { WorkFor(2500); });
    CHECK(busy.statistics.method.find("CPU-time timers") == std::string::npos);
    CHECK(busy.statistics.bursts > 0);
  }
}

// Answers each byte, in another process, until its input ends.
class Echo {
 public:
  Echo() {
    REQUIRE(::pipe2(there_, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(back_, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    ::close(there_[1]);
    char byte = 0;
    while (::read(there_[0], &byte, 1) == 1 && ::write(back_[1], &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  ~Echo() {
    for (const int file : {there_[0], there_[1], back_[0], back_[1]}) ::close(file);
    ::waitpid(pid_, nullptr, 0);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void AskFor(int milliseconds) const {
    const uint64_t end_ns =
        ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(milliseconds) * 1'000'000;
    char byte = 0;
    while (ClockNs(CLOCK_MONOTONIC) < end_ns) {
      REQUIRE(::write(there_[1], &byte, 1) == 1);
      REQUIRE(::read(back_[0], &byte, 1) == 1);
    }
  }

 private:
  int there_[2], back_[2];
  pid_t pid_ = 0;
};

TEST_CASE("a process of one thread that switches often spares others the perf events") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no perf events with sigtrap here");
  const Echo echo;
  SharedStart shared;
  BackendConfig config;
  config.shared_start = &shared;
  const Sink sink = Trace(config, [&] { echo.AskFor(2500); });
  CAPTURE(sink.Describe());
  if (sink.statistics.method.find("CPU-time timers") == std::string::npos) {
    HBBP_SKIP("switches are cheap here");
  }
  CHECK(shared.prefers_timers);
}

// A burst waits behind a system call, so that threads sleep with breakpoints.
TEST_CASE("the end of a session interrupts no thread that sleeps") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  for (const TraceMode mode : {TraceMode::kLookAhead, TraceMode::kBreakpoint, TraceMode::kVerify}) {
    std::atomic<bool> is_over = false;
    std::atomic<uint64_t> interrupted = 0;
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 16; ++i) {
      sleepers.emplace_back([&] {
        while (!is_over) {
          WorkFor(1);
          if (::poll(nullptr, 0, 30) < 0) ++interrupted;
        }
      });
    }
    BackendConfig config = BranchConfig(mode);
    config.period = 100'000;
    uint64_t breakpoints = 0;
    for (int i = 0; i < 10; ++i) {
      const Sink sink = Trace(config, [] { ::usleep(100'000); });
      breakpoints += sink.statistics.breakpoints;
      CHECK(sink.statistics.bursts > 0);
    }
    is_over = true;
    for (std::thread& sleeper : sleepers) sleeper.join();
    CAPTURE(mode, breakpoints);
    CHECK(breakpoints > 0);
    CHECK(interrupted == 0);
  }
}

TEST_CASE("threads that start after events were replaced by timers are found") {
  PingPong game;
  const Sink sink = Trace(BackendConfig(), [&] {
    game.PlayFor(2500);
    std::thread late([] { WorkFor(1500); });
    late.join();
  });
  CAPTURE(sink.Describe());
  std::set<uint32_t> threads;
  for (const auto& [tid, burst] : sink.bursts) threads.insert(tid);
  const pid_t self = ::gettid();
  CHECK(std::any_of(threads.begin(), threads.end(),
                    [self](uint32_t tid) { return static_cast<pid_t>(tid) != self; }));
}

TEST_CASE("on kernels without sigtrap, real-time signals do the same") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  for (const TraceMode mode : {TraceMode::kLookAhead, TraceMode::kBreakpoint, TraceMode::kVerify}) {
    const Sink sink = Trace(
        BranchConfig(mode), [] { WorkFor(500); }, TracingMethod::kRealTimeSignals);
    CAPTURE(sink.Describe());
    CHECK(sink.statistics.method.find("real-time signals") != std::string::npos);
    CHECK(sink.statistics.bursts > 0);
    CHECK(sink.statistics.disagreements == 0);
    if (mode != TraceMode::kLookAhead) CHECK(sink.statistics.breakpoints > 0);
    CheckConsistent(sink);
  }
}

TEST_CASE("the mode that needs breakpoints says so where there are none") {
  SwbtBackend backend;
  backend.PreferTimers();
  BackendChoice choice;
  const Status status = backend.Start(BranchConfig(TraceMode::kBreakpoint), 0, &choice);
  CHECK(status.code() == StatusCode::kPermission);
  CHECK(status.message().find("needs breakpoints") != std::string::npos);
}

TEST_CASE(
    "threads that start during the session are traced, and buffers of ended ones are delivered") {
  for (const TraceMode mode : {TraceMode::kLookAhead, TraceMode::kBreakpoint}) {
    if (mode == TraceMode::kBreakpoint && !HasBreakpointsForTracing()) continue;
    std::atomic<uint32_t> first{0}, second{0};
    const Sink sink = Trace(BranchConfig(mode), [&] {
      std::thread a([&] {
        first = static_cast<uint32_t>(::gettid());
        WorkFor(250);
      });
      a.join();
      std::thread b([&] {
        second = static_cast<uint32_t>(::gettid());
        WorkFor(250);
      });
      b.join();
    });
    CAPTURE(sink.Describe());
    std::map<uint32_t, int> bursts;
    for (const auto& [tid, burst] : sink.bursts) ++bursts[tid];
    CHECK(bursts[first] > 5);
    CHECK(bursts[second] > 5);
    CheckConsistent(sink);
  }
}

TEST_CASE("threads that live for a few milliseconds are traced") {
  constexpr int kThreads = 30;
  std::vector<uint32_t> tids(kThreads);
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [&tids] {
    for (uint32_t& tid : tids) {
      std::thread([&tid] {
        tid = static_cast<uint32_t>(::gettid());
        WorkFor(5);
      }).join();
    }
  });
  CAPTURE(sink.Describe());
  std::map<uint32_t, int> bursts;
  for (const auto& [tid, burst] : sink.bursts) ++bursts[tid];
  const auto is_traced = [&bursts](uint32_t tid) { return bursts[tid] >= 3; };
  if (sink.statistics.method.find("with sigtrap") == std::string::npos) {
    HBBP_SKIP("without sigtrap, threads are found by looking for them");
  }
  CHECK(std::count_if(tids.begin(), tids.end(), is_traced) >= kThreads - 3);
}

TEST_CASE("threads that end while they wait for a breakpoint leave no descriptor") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  Trace(BranchConfig(TraceMode::kBreakpoint), [] { WorkFor(20); });
  const size_t descriptors = OpenFds();
  // A burst takes longer than a thread lives, and would end where the C library blocks signals at
  // the end of a thread.
  const auto end_at_once = [](void*) -> void* {
    WorkFor(2);
    ::syscall(SYS_exit, 0);
    return nullptr;
  };
  const Sink sink = Trace(BranchConfig(TraceMode::kBreakpoint, 4096), [&] {
    for (int i = 0; i < 100; ++i) {
      pthread_t thread;
      REQUIRE(::pthread_create(&thread, nullptr, end_at_once, nullptr) == 0);
      ::pthread_join(thread, nullptr);
    }
  });
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("breakpoint-lost") > 0);
  CHECK(OpenFds() == descriptors);
}

// AddressSanitizer does so, if the first sample comes before a thread has an alternate stack.
TEST_CASE("threads that free the alternate stack that they were given do no harm") {
  if (kHasSanitizer) HBBP_SKIP("threads have stacks of its own here, or free ours already");
  constexpr uint8_t kPattern = 0x5a;
  static std::vector<stack_t> freed;
  freed.clear();
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    const auto work_and_free = [] {
      stack_t stack = {}, none = {};
      none.ss_flags = SS_DISABLE;
      const uint64_t end = CpuNs() + 200'000'000;
      do WorkFor(1);
      while (CpuNs() < end && ::sigaltstack(nullptr, &stack) == 0 &&
             (stack.ss_flags & SS_DISABLE) != 0);
      if ((stack.ss_flags & SS_DISABLE) != 0) return;
      ::sigaltstack(&none, nullptr);
      ::munmap(stack.ss_sp, stack.ss_size);
      freed.push_back(stack);
    };
    for (int i = 0; i < 10; ++i) std::thread(work_and_free).join();
    // The memory becomes the program's.
    for (const stack_t& stack : freed) {
      void* const own = ::mmap(stack.ss_sp, stack.ss_size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      std::memset(own, kPattern, stack.ss_size);
    }
    for (int i = 0; i < 10; ++i) std::thread([] { WorkFor(10); }).join();
  });
  CAPTURE(sink.Describe());
  CHECK(!freed.empty());
  CHECK(sink.statistics.bursts > 20);
  for (const stack_t& stack : freed) {
    const auto* const bytes = static_cast<const uint8_t*>(stack.ss_sp);
    CHECK(std::all_of(bytes, bytes + stack.ss_size, [](uint8_t b) { return b == kPattern; }));
  }
  CheckConsistent(sink);
}

TEST_CASE("resources of ended threads are reused") {
  constexpr int kThreads = static_cast<int>(trace::Tracer::kMaxThreads) + 200;
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    for (int i = 0; i < kThreads; ++i) std::thread([] { WorkFor(1); }).join();
  });
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("no-free-slot") == 0);
  CHECK(sink.CounterOf("no-free-buffer") == 0);
  CHECK(sink.bursts.size() > static_cast<size_t>(kThreads) / 2);
}

// A server has a thread for each request, for years.
TEST_CASE("threads that had a burst and ended take no memory") {
  struct CountingSink : BranchSink {
    std::atomic<uint64_t> count{0};
    void OnBurst(const BurstSample&) override { ++count; }
  };
  if (HeapBytes() == 0) HBBP_SKIP("this allocator does not say what is in use");
  // What is allocated once, and late, is not in each round. A node of a table takes some 48 bytes.
  constexpr int kRounds = 3, kThreads = 400;
  constexpr int64_t kMaxGrowth = kThreads * 40;
  CountingSink sink;
  int64_t growth = std::numeric_limits<int64_t>::max();
  const auto work = [&] {
    int64_t before = 0;
    for (int i = 0; i < (kRounds + 1) * kThreads; ++i) {
      const uint64_t bursts = sink.count;
      std::thread([&] {
        while (sink.count == bursts) WorkFor(1);
      }).join();
      if ((i + 1) % kThreads != 0) continue;
      const int64_t now = HeapBytes();
      if (before != 0) growth = std::min(growth, now - before);
      before = now;
    }
  };
  TraceBranchesInto(&sink, BranchConfig(TraceMode::kLookAhead), work);
  CAPTURE(growth);
  CHECK(growth < kMaxGrowth);
}

TEST_CASE("what bursts of a clock are weighed by counts as a buffer, and keeps to its limit") {
  const auto bytes_with = [](size_t limit) {
    SwbtBackend backend;
    CHECK(backend.BufferBytes() == 0);
    BackendConfig config = BranchConfig(TraceMode::kLookAhead);
    config.max_buffer_bytes = limit;
    uint64_t bytes = 0;
    BackendChoice choice;
    BranchSink sink;
    const auto drain = [&] { backend.Drain(&sink); };
    RunTraced(
        &backend, config, &choice, [&] { bytes = backend.BufferBytes(); }, drain,
        [] { WorkFor(1); });
    CHECK(backend.BufferBytes() == 0);
    return bytes;
  };
  // Mappings and threads are observed through buffers, too, where there are perf events.
  constexpr uint64_t kObserver = 4 << 20;
  for (const size_t unlimited : {0, 1 << 30}) {
    const uint64_t bytes = bytes_with(unlimited);
    CHECK(bytes >= BurstTime::kDefaultMaxBytes);
    CHECK(bytes <= BurstTime::kDefaultMaxBytes + kObserver);
  }
  CHECK(bytes_with(2 << 20) == 2 << 20);
  const uint64_t smallest = bytes_with(1000);
  CHECK(smallest >= BurstTime::kMinMaxBytes);
  CHECK(smallest < 1 << 20);
}

struct Intervals {
  int usual_ms;
  int longest_ms;  // for a program that uses little CPU time
  bool inherits;   // threads inherit their sampler
};

Intervals IntervalsOfSteadyProgram(Wakeup* drain_request, bool by_timers) {
  SwbtBackend backend;
  if (by_timers) backend.PreferTimers();
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.drain_request = drain_request;
  BackendChoice choice;
  BranchSink sink;
  Intervals found = {};
  const auto drain = [&] {
    SleepMs(10);
    backend.Drain(&sink);
    found = {backend.DrainIntervalMs(), backend.LongestIntervalMs(),
             sink.statistics.method.starts_with("perf event")};
  };
  RunTraced(
      &backend, config, &choice, [] {}, drain, [] { SleepMs(500); });
  return found;
}

TEST_CASE("the worker of a steady program may wait longer, if it is called when buffers are full") {
  static Wakeup worker;  // outlives the handlers
  const Intervals called = IntervalsOfSteadyProgram(&worker, false);
  if (called.inherits) CHECK(called.longest_ms > called.usual_ms);
  CHECK(called.longest_ms <= 1000);
  const Intervals not_called = IntervalsOfSteadyProgram(nullptr, false);
  CHECK(not_called.longest_ms == not_called.usual_ms);
  // Nothing reports threads here, so that they are looked for.
  const Intervals by_timers = IntervalsOfSteadyProgram(&worker, true);
  CHECK(by_timers.longest_ms == by_timers.usual_ms);
  CHECK(by_timers.usual_ms <= called.usual_ms);
}

constexpr int kNoFilter = 1, kNotEnded = 2, kStartedAgain = 3;

int TraceAndSetFilter() {
  constexpr int kMaxWaits = 2000;
  const BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  SwbtBackend backend;
  BackendChoice choice;
  BranchSink sink;
  std::atomic<bool> has_ended{false};
  bool has_filter = false;
  const auto drain = [&] {
    SleepMs(5);
    backend.Drain(&sink);
    has_ended = sink.statistics.method.find("tracing ended early") != std::string::npos;
  };
  const auto work = [&] {
    has_filter = RefuseSystemCall(SYS_acct);  // which no one calls
    for (int i = 0; has_filter && !has_ended && i < kMaxWaits; ++i) SleepMs(10);
  };
  RunTraced(
      &backend, config, &choice, [] {}, drain, work);
  if (!has_filter) return kNoFilter;
  if (!has_ended) return kNotEnded;
  const Status again = SwbtBackend().Start(config, 0, &choice);
  return again.code() == StatusCode::kUnsupported ? 0 : kStartedAgain;
}

TEST_CASE("a process that sets a seccomp filter is not traced any more, nor again") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(TraceAndSetFilter());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) HBBP_SKIP("no seccomp filters here");
  CHECK(WEXITSTATUS(status) == 0);
}

// Returns the addresses of a word in the middle of the canary of each interpreter.
std::vector<uint64_t*> FindCanaries() {
  constexpr uint64_t kCanary = 0x5ca1'ab1e'0ddb'a115;
  constexpr size_t kWords = 64;
  constexpr uint64_t kMaxBytes = 1ull << 30;
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  std::vector<uint64_t*> found;
  if (!mappings.ok()) return found;
  const std::vector<uint64_t> canary(kWords, kCanary);
  std::vector<uint64_t> head(512);
  const uint64_t alignment = trace::LookAhead::Alignment();
  for (const Mapping& mapping : *mappings) {
    if (!mapping.writable || mapping.shared || mapping.path.starts_with("/")) continue;
    // A sanitizer maps terabytes for notes of its own.
    if (mapping.end.value - mapping.start.value > kMaxBytes) continue;
    uint64_t start = (mapping.start.value + alignment - 1) / alignment * alignment;
    for (; start < mapping.end.value; start += alignment) {
      // Buffers of this very search have canaries, too.
      if (!trace::Tracer::Get().Owns(start)) continue;
      const iovec here = {head.data(), head.size() * sizeof(uint64_t)};
      const iovec there = {reinterpret_cast<void*>(start), here.iov_len};
      const ssize_t bytes = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
      if (bytes != static_cast<ssize_t>(here.iov_len)) continue;
      const auto first = std::search(head.begin(), head.end(), canary.begin(), canary.end());
      if (first == head.end()) continue;
      const auto index = static_cast<size_t>(first - head.begin());
      found.push_back(reinterpret_cast<uint64_t*>(start) + index + kWords / 2);
    }
  }
  return found;
}

constexpr int kNoCanary = 1, kGoesOn = 2, kNotCounted = 3, kNoNote = 4, kBurstsAfterwards = 5,
              kWrongResult = 6, kNoBurst = 7, kImpossibleBranch = 8;

// Changes the canaries during a session, as a fault of the interpreter would.
int TraceAndOverflow(TraceMode mode) {
  constexpr int kMaxRounds = 1000;
  const auto sum_up = [] {
    uint64_t sum = 0;
    for (uint64_t i = 1; i < 2000; ++i) sum += Collatz(i);
    return sum;
  };
  const uint64_t expected = sum_up();
  size_t canaries = 0;
  uint64_t bursts_before = 0, bursts = 0, later_bursts = 0;
  bool is_right = true;
  const BranchSink sink = TraceBranches(BranchConfig(mode), [&] {
    WorkFor(100);
    bursts_before = CounterNow(trace::Counter::kBursts);
    const std::vector<uint64_t*> words = FindCanaries();
    canaries = words.size();
    for (uint64_t* word : words) *word ^= 1;
    for (int i = 0; i < kMaxRounds && trace::Tracer::Get().is_enabled(); ++i) {
      is_right = is_right && sum_up() == expected;
    }
    bursts = CounterNow(trace::Counter::kBursts);
    const uint64_t end = CpuNs() + 100'000'000;
    while (CpuNs() < end) is_right = is_right && sum_up() == expected;
    later_bursts = CounterNow(trace::Counter::kBursts);
  });
  if (canaries == 0) return kNoCanary;
  if (trace::Tracer::Get().failure() != trace::TracerFailure::kStackOverflow) return kGoesOn;
  if (sink.CounterOf("interpreter-stack-overflow") == 0) return kNotCounted;
  const char* const note = "tracing ended early: the stack of the interpreter overflowed";
  if (sink.statistics.method.find(note) == std::string::npos) return kNoNote;
  if (later_bursts != bursts) return kBurstsAfterwards;
  if (bursts_before == 0 || sink.bursts.empty()) return kNoBurst;
  for (const auto& [tid, burst] : sink.bursts) {
    if (!std::all_of(burst.begin(), burst.end(), IsPossible)) return kImpossibleBranch;
  }
  return is_right ? 0 : kWrongResult;
}

TEST_CASE("an overflow of the interpreter's stack ends tracing with a note, and harms nothing") {
  for (const TraceMode mode : ModesOfThisMachine()) {
    if (mode == TraceMode::kBreakpoint) continue;
    CAPTURE(static_cast<int>(mode));
    // The interpreters of a process that overflowed are not used again.
    const pid_t child = ::fork();
    if (child == 0) ::_exit(TraceAndOverflow(mode));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

// Has memory whose pages another thread provides. That thread needs a lock, which the thread of the
// test holds until it touches a page.
class ProvidedMemory {
 public:
  static constexpr size_t kPages = 64;
  static constexpr size_t kPage = 4096;

  ~ProvidedMemory() {
    if (provider_.joinable()) {
      ends_ = true;
      (void)*static_cast<volatile char*>(At(kPages));
      provider_.join();
    }
    if (memory_ != MAP_FAILED) ::munmap(memory_, kBytes);
    if (fd_ >= 0) ::close(fd_);
  }

  // Returns false if the machine has no such memory.
  bool Open() {
    fd_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    uffdio_api api = {};
    api.api = UFFD_API;
    if (fd_ < 0 || ::ioctl(fd_, UFFDIO_API, &api) != 0) return false;
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register registration = {};
    registration.range = {reinterpret_cast<uint64_t>(memory_), kBytes};
    registration.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (memory_ == MAP_FAILED || ::ioctl(fd_, UFFDIO_REGISTER, &registration) != 0) return false;
    provider_ = std::thread([this] { Provide(); });
    return true;
  }

  // Touches all pages, and computes before with the lock held, so that samples come then and
  // look-ahead reaches the page.
  void TouchAll() {
    ::madvise(memory_, kPages * kPage, MADV_DONTNEED);
    for (size_t page = 0; page < kPages; ++page) {
      {
        std::lock_guard lock(mutex_);
        for (uint64_t i = 1; i < 30; ++i) result += Collatz(i);
      }
      result += static_cast<uint64_t>(*static_cast<volatile char*>(At(page)));
    }
  }

 private:
  static constexpr size_t kBytes = (kPages + 1) * kPage;

  char* At(size_t page) { return static_cast<char*>(memory_) + page * kPage; }

  void Provide() {
    static const std::vector<char> content(kPage, 7);
    while (!ends_) {
      uffd_msg message;
      if (::read(fd_, &message, sizeof(message)) != sizeof(message)) continue;
      { std::lock_guard lock(mutex_); }
      uffdio_copy copy = {};
      copy.dst = message.arg.pagefault.address & ~(kPage - 1);
      copy.src = reinterpret_cast<uint64_t>(content.data());
      copy.len = kPage;
      ::ioctl(fd_, UFFDIO_COPY, &copy);
    }
  }

  int fd_ = -1;
  void* memory_ = MAP_FAILED;
  std::mutex mutex_;
  std::atomic<bool> ends_{false};
  std::thread provider_;
};

TEST_CASE("a page that the program itself provides is not waited for") {
  for (const TraceMode mode : ModesOfThisMachine()) {
    for (const bool is_there_before : {true, false}) {
      CAPTURE(static_cast<int>(mode), is_there_before);
      ProvidedMemory memory;
      if (is_there_before && !memory.Open()) HBBP_SKIP("no userfaultfd here");
      const Sink sink = Trace(BranchConfig(mode), [&] {
        if (!is_there_before && !memory.Open()) return;
        const uint64_t end = CpuNs() + 300'000'000;
        while (CpuNs() < end) memory.TouchAll();
      });
      CAPTURE(sink.Describe());
      CHECK(sink.statistics.bursts > 0);
    }
  }
}

// A fourth of the period after the first samples.
const uint64_t kDefaultPeriodNs = LargestPrimeUpTo(5'000'000);

TEST_CASE("a session begins with a burst for each sample, and goes on with one for each fourth") {
  constexpr size_t kDense = 200;
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 16);
  config.period = 0;
  // The median of a hundred draws of 3, 4 or 5 samples is 4.
  Sink sink = Trace(config, [] { Spin(4'000'000'000); });
  CAPTURE(sink.Describe());
  const std::vector<uint64_t> periods = sink.PeriodsOfWholeBursts();
  const uint64_t samples = sink.CounterOf("samples");
  const uint64_t without_burst = sink.CounterOf("left-out");
  REQUIRE(periods.size() > kDense + 50);
  CHECK(samples > kDense);
  CHECK(without_burst > (samples - kDense) / 2);
  // Some stand for samples that came in handlers or at calls of the kernel, too.
  std::vector<uint64_t> first(periods.begin(), periods.begin() + kDense - 20);
  std::vector<uint64_t> later(periods.begin() + kDense, periods.end());
  const auto median = [](std::vector<uint64_t>* values) {
    std::sort(values->begin(), values->end());
    return static_cast<double>((*values)[values->size() / 2]);
  };
  const auto nominal = static_cast<double>(kDefaultPeriodNs);
  CHECK(median(&first) == Approx(nominal).epsilon(0.1));
  CHECK(median(&later) == Approx(4 * nominal).epsilon(0.1));
}

TEST_CASE("a session begins with what others have left of a common start") {
  SharedStart budget;
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 16);
  config.period = 0;
  config.shared_start = &budget;
  (void)Trace(config, [] { Spin(1'500'000'000); });
  CHECK(budget.dense_samples >= 200);
  const Sink sink = Trace(config, [] { Spin(1'000'000'000); });
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("left-out") > sink.CounterOf("samples") / 2);
}

// Returns what this thread has waited for a CPU; 0 where the kernel does not say it.
uint64_t WaitedNs() {
  uint64_t ran_ns = 0, waited_ns = 0;
  std::ifstream("/proc/thread-self/schedstat") >> ran_ns >> waited_ns;
  return waited_ns;
}

// Without a random first sample none of the runs would have one, or each would at the same time.
TEST_CASE("a program that ends within a period is sampled as often as it lasts") {
  const TracingMethod method = GENERATE(TracingMethod::kBest, TracingMethod::kTimers);
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.period = 40'000'000;
  config.period_mode = PeriodMode::kPrime;
  constexpr int kRuns = 40, kWorkMs = 20;
  int runs = 0, sampled = 0;
  for (int i = 0; runs < kRuns; ++i) {
    REQUIRE(i < 10 * kRuns);
    uint64_t took_ns = 0;
    const Sink sink = Trace(
        config,
        [&] {
          const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC) - WaitedNs();
          WorkFor(kWorkMs);
          took_ns = ClockNs(CLOCK_MONOTONIC) - WaitedNs() - begin_ns;
        },
        method);
    // The clock of the event has time, too, that a hypervisor has given to others.
    if (took_ns >= config.period) continue;
    ++runs;
    const std::vector<uint64_t> periods = sink.PeriodsOfWholeBursts();
    REQUIRE(periods.size() <= 1);
    if (periods.empty()) continue;
    ++sampled;
    CHECK(periods.front() < config.period * 5 / 4);
  }
  // Six standard deviations.
  CHECK(std::abs(sampled - kRuns / 2) < 19);
}

TEST_CASE("threads that end within a period are sampled as often as they last") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.period = 4'000'000;
  config.period_mode = PeriodMode::kPrime;
  constexpr int kThreads = 1500;
  const Sink sink = Trace(config, [] {
    for (int i = 0; i < kThreads; ++i) {
      std::thread([] {
        constexpr uint64_t kLifeNs = 2'000'000;
        while (ClockNs(CLOCK_THREAD_CPUTIME_ID) < kLifeNs) {
          for (uint64_t n = 1; n < 300; ++n) result += Collatz(n);
        }
      }).join();
    }
  });
  CAPTURE(sink.Describe());
  // Half of them. As those that start within a tenth of a second are sampled or not together, there
  // are some thirty draws; of these, one at least is below and above that always.
  const size_t bursts = sink.PeriodsOfWholeBursts().size();
  CHECK(bursts > kThreads / 25);
  CHECK(bursts < kThreads - kThreads / 25);
}

TEST_CASE("a burst stands for the samples that it has used up the time of") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 16384);
  config.period = 0;
  config.period_mode = PeriodMode::kFixed;  // the thread would have the one that was drawn last
  const Sink sink = Trace(config, [] {
    std::thread worker([] {
      const auto work_while = [](const auto& condition) {
        while (condition()) {
          for (uint64_t i = 1; i < 300; ++i) result += Collatz(i);
        }
      };
      const uint64_t end = CpuNs() + 2'500'000'000;
      work_while([end] { return CpuNs() < end; });
      // The samples behind the last burst are in no period, so the thread ends with a burst.
      const uint64_t bursts = CounterNow(trace::Counter::kBursts);
      work_while([bursts] { return CounterNow(trace::Counter::kBursts) == bursts; });
    });
    worker.join();
  });
  CAPTURE(sink.Describe());
  const std::vector<uint64_t> periods = sink.PeriodsOfWholeBursts();
  REQUIRE(periods.size() >= 2);
  const uint64_t nominal = kDefaultPeriodNs;
  const uint64_t longest = *std::max_element(periods.begin(), periods.end());
  CHECK(longest > 5 * nominal);  // the factor depends on the speed of the machine
  const uint64_t samples =
      periods.size() + sink.CounterOf("over-budget") + sink.CounterOf("left-out");
  CHECK(sink.CounterOf("samples") == samples);
  // The time of handlers is in no period.
  uint64_t stands_for = 0;
  for (const uint64_t period : periods) stands_for += period;
  CHECK(stands_for < samples * nominal);
  CHECK(stands_for + sink.statistics.handler_ns > samples * nominal * 3 / 4);
}

TEST_CASE("a sample of a timer stands for all its expirations") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.period = uint64_t{1} << 40;
  config.period_mode = PeriodMode::kFixed;
  uint64_t sample_data = 0;
  const Sink sink = TraceBranches(
      config,
      [&sample_data] {
        // Another thread sends the signals, because a thread that sends one to itself is in the
        // kernel then.
        const pid_t tid = ::gettid();
        std::atomic<bool> done{false};
        std::atomic<int> rounds{0};
        std::thread timer([&] {
          // The thread that is to be sampled may still be in the kernel, starting this one.
          while (rounds == 0) std::this_thread::yield();
          for (const int overrun : {0, 3, -1}) {
            siginfo_t info = {};
            info.si_signo = SIGTRAP;
            info.si_code = SI_TIMER;
            info.si_overrun = overrun;
            trace::SetSignalData(&info, sample_data);
            ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid, SIGTRAP, &info);
            // Waits until the burst has ended, even if this thread gets little time.
            constexpr int kEnough = 100;
            for (const int before = rounds; rounds < before + kEnough;) {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
          }
          done = true;
        });
        while (!done) {
          for (uint64_t i = 1; i < 300; ++i) result += Collatz(i);
          ++rounds;
        }
        timer.join();
      },
      [&sample_data] { sample_data = trace::Tracer::Get().SampleData(1); }, TracingMethod::kTimers);
  CAPTURE(sink.Describe());
  // The time of signals and handlers is taken out.
  constexpr uint64_t kMaxSpentNs = 100'000'000;
  const std::vector<uint64_t> periods = sink.PeriodsOfWholeBursts();
  const std::vector<uint64_t> nominal = {config.period, 4 * config.period, config.period};
  REQUIRE(periods.size() == nominal.size());
  for (size_t i = 0; i < nominal.size(); ++i) {
    CHECK(periods[i] < nominal[i]);
    CHECK(periods[i] > nominal[i] - kMaxSpentNs);
  }
}

TEST_CASE("a period that was asked for is kept, whatever it costs") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead, 4096), [] { WorkFor(300); });
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("over-budget") == 0);
}

TEST_CASE("random periods are drawn anew every few samples, and those of a clock are random") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.period_mode = GENERATE(PeriodMode::kRandom, PeriodMode::kPrime, PeriodMode::kFixed);
  const Sink sink = Trace(config, [] { WorkFor(300); });
  CAPTURE(sink.Describe());
  const bool is_random = config.period_mode != PeriodMode::kFixed;
  CHECK((sink.CounterOf("period-draws") > 3) == is_random);
  CHECK(sink.CounterOf("period-draws") <= 1 + sink.CounterOf("samples") / 8);
}

// The part of a period that is over when a new one is drawn is not sampled.
TEST_CASE("periods that are drawn stand for all of the time, as fixed ones do") {
  const auto sampled_share = [](PeriodMode mode) {
    BackendConfig config = BranchConfig(TraceMode::kLookAhead, 16);
    config.period_mode = mode;
    uint64_t spent_ns = 0;
    const Sink sink = Trace(config, [&spent_ns] {
      const uint64_t begin = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      WorkFor(700);
      spent_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
    });
    uint64_t stands_for = sink.statistics.handler_ns;
    for (const uint64_t period : sink.PeriodsOfWholeBursts()) stands_for += period;
    return static_cast<double>(stands_for) / static_cast<double>(spent_ns);
  };
  // Other work makes single runs differ.
  std::vector<double> ratios;
  for (int pair = 0; pair < 5; ++pair) {
    const double fixed = sampled_share(PeriodMode::kFixed);
    ratios.push_back(sampled_share(PeriodMode::kRandom) / fixed);
  }
  std::sort(ratios.begin(), ratios.end());
  CAPTURE(ratios);
  CHECK(ratios[ratios.size() / 2] == Approx(1).margin(0.03));
}

// Threads inherit the period that the main thread has drawn, for as long as they live.
TEST_CASE("threads that start while a session runs are counted by the period that they have") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 16);
  config.period_mode = PeriodMode::kRandom;
  std::vector<double> shares;
  for (int run = 0; run < 7; ++run) {
    uint64_t spent_ns = 0;
    const Sink sink = Trace(config, [&spent_ns] {
      std::thread([&spent_ns] {
        const uint64_t begin = ClockNs(CLOCK_THREAD_CPUTIME_ID);
        WorkFor(300);
        spent_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
      }).join();
    });
    uint64_t stands_for = sink.statistics.handler_ns;
    for (const uint64_t period : sink.PeriodsOfWholeBursts()) stands_for += period;
    shares.push_back(static_cast<double>(stands_for) / static_cast<double>(spent_ns));
  }
  CAPTURE(shares);
  std::sort(shares.begin(), shares.end());
  // At the nominal period they scatter by an eighth to both sides.
  CHECK(shares[5] / shares[1] < 1.06);
}

TEST_CASE("with a budget, bursts are dropped and others stand for them, at a period that pays") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 4096);
  config.max_overhead = 0.01;
  // A busy machine can keep a handler waiting, which drops what follows for two hundred times as
  // long, and a timer, whose next period is shorter then.
  constexpr int kAttempts = 4;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    uint64_t spent_ns = 0;
    const Sink sink = Trace(config, [&spent_ns] { spent_ns = Spin(1'000'000'000); });
    CAPTURE(sink.Describe(), spent_ns, attempt);
    const std::vector<uint64_t> periods = sink.PeriodsOfWholeBursts();
    uint64_t stands_for = 0, shortest = UINT64_MAX;
    for (const uint64_t period : periods) {
      stands_for += period;
      shortest = std::min(shortest, period);
    }
    const bool is_steady = periods.size() >= 2 && shortest > 800'000 && stands_for > spent_ns / 2;
    if (!is_steady && attempt < kAttempts) continue;
    REQUIRE(periods.size() >= 2);
    // Signals take half of the overhead, at 5 us each. Handlers are not in the period.
    CHECK(shortest > 800'000);
    CHECK(sink.CounterOf("over-budget") > 0);
    CHECK(stands_for < spent_ns * 1.2);
    CHECK(stands_for > spent_ns / 2);
    break;
  }
}

TEST_CASE("page faults start bursts, where they happen") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no perf events with sigtrap here");
  constexpr size_t kPages = 4000, kPage = 4096;
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, 2);
  config.event = EventKind::kOther;
  config.event_name = "page-faults";
  config.event_type = PERF_TYPE_SOFTWARE;
  config.event_config = PERF_COUNT_SW_PAGE_FAULTS;
  config.period = 11;
  const Sink sink = Trace(config, [] {
    void* memory =
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    ::madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
    for (size_t page = 0; page < kPages; ++page) {
      static_cast<volatile char*>(memory)[page * kPage] = 1;
      result += Collatz(27);
    }
    ::munmap(memory, kPages * kPage);
  });
  CAPTURE(sink.Describe());
  CHECK(sink.statistics.method.find("perf event page-faults") != std::string::npos);
  uint64_t faults = 0;
  for (const uint64_t period : sink.PeriodsOfWholeBursts()) faults += period;
  CHECK(faults > kPages * 9 / 10);
  CHECK(faults < kPages * 2);  // look-ahead makes some of its own
  CheckConsistent(sink);
}

TEST_CASE("only the threads that were asked for are traced") {
  std::atomic<bool> stop{false};
  std::atomic<pid_t> tid{0};
  std::thread chosen([&] {
    tid = ::gettid();
    while (!stop) result += Collatz(97);
  });
  while (tid == 0) std::this_thread::yield();
  BackendConfig config = BranchConfig(TraceMode::kLookAhead);
  config.threads = {tid};
  const Sink sink = Trace(config, [] { WorkFor(100); });
  stop = true;
  chosen.join();
  CAPTURE(sink.Describe());
  CHECK(sink.bursts.size() > 5);
  for (const auto& [thread, burst] : sink.bursts) CHECK(thread == static_cast<uint32_t>(tid));
  SwbtBackend backend;
  config.threads = {0x7fffff00};
  BackendChoice choice;
  CHECK(backend.Start(config, 0, &choice).code() == StatusCode::kNotFound);
}

TEST_CASE("the CPU time of threads that block SIGTRAP is in the statistics") {
  constexpr char kBlockedMs[] = "signal-blocked-ms";
  for (const bool blocks : {true, false}) {
    const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [blocks] {
      std::atomic<bool> stop{false};
      std::thread thread([blocks, &stop] {
        sigset_t all, previous;
        ::sigfillset(&all);
        if (blocks) ::pthread_sigmask(SIG_BLOCK, &all, &previous);
        while (!stop) result += Collatz(97);
      });
      SleepMs(2500);  // the worker checks threads each second
      stop = true;
      thread.join();
    });
    CAPTURE(sink.Describe());
    if (blocks) {
      CHECK(sink.CounterOf(kBlockedMs) > 20);
      CHECK(sink.CounterOf(kBlockedMs) < 10'000);
    } else {
      CHECK(sink.CounterOf(kBlockedMs) == 0);
    }
  }
}

// Of the code of a burst it executes one branch at most.
[[gnu::noinline]] void RunStraightCode(uint64_t rounds) {
  asm volatile(
      "1:\n\t"
      ".rept 50000\n\t"
      "add $1, %%rax\n\t"
      ".endr\n\t"
      "dec %0\n\t"
      "jnz 1b"
      : "+r"(rounds)
      :
      : "rax", "cc");
}

TEST_CASE("bursts of straight code are counted where they have no stream") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    const uint64_t end = CpuNs() + 300'000'000;
    while (CpuNs() < end) RunStraightCode(100);
  });
  CAPTURE(sink.Describe());
  CHECK(sink.CounterOf("no-stream") > 20);
  CHECK(sink.CounterOf("no-stream") > 5 * sink.statistics.bursts);
  const Sink of_branches = Trace(BranchConfig(TraceMode::kLookAhead), [] { WorkFor(100); });
  CHECK(of_branches.CounterOf("no-stream") == 0);
}

TEST_CASE("many threads at once") {
  constexpr int kThreads = 64;
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    std::vector<std::thread> threads;
    const auto work = [] { WorkFor(800); };  // CPU time of all threads together
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  });
  CAPTURE(sink.Describe());
  std::set<uint32_t> traced;
  for (const auto& [tid, burst] : sink.bursts) traced.insert(tid);
  CHECK(traced.size() > kThreads / 4);
  CheckConsistent(sink);
}

TEST_CASE("nothing is left when the session is stopped, and it can be started again") {
  WorkFor(1);
  const Sink first = Trace(BranchConfig(TraceMode::kLookAhead), [] { WorkFor(50); });
  const size_t descriptors = OpenFds(), threads = ThreadsNow(), rings = MappedRings();
  for (const TraceMode mode : {TraceMode::kLookAhead, TraceMode::kBreakpoint}) {
    if (mode == TraceMode::kBreakpoint && !HasBreakpointsForTracing()) continue;
    const Sink sink = Trace(BranchConfig(mode), [] { WorkFor(100); });
    CHECK(sink.statistics.bursts > 0);
    CHECK(OpenFds() == descriptors);
    CHECK(HasAtMostThreads(threads));
    CHECK(MappedRings() == rings);
  }
}

TEST_CASE("only one session traces branches at a time") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    SwbtBackend second;
    BackendChoice choice;
    const Status status = second.Start(BranchConfig(TraceMode::kLookAhead), 0, &choice);
    CHECK(status.code() == StatusCode::kBusy);
    WorkFor(50);
  });
  CHECK(sink.statistics.bursts > 0);
}

std::atomic<int> foreign_traps;

TEST_CASE("the program's own traps come to its handler during tracing") {
  // If another test ran before, the tracer's handler is installed already, and a drain finds that
  // this one has replaced it.
  struct sigaction action = {};
  action.sa_handler = [](int) { ++foreign_traps; };
  ::sigaction(SIGTRAP, &action, nullptr);
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    for (int i = 0; i < 100; ++i) {
      asm volatile("int3");
      WorkFor(1);
    }
  });
  CAPTURE(sink.Describe());
  CHECK(foreign_traps == 100);
  CHECK(sink.statistics.bursts > 0);
}

std::atomic<int> alarms;
sigjmp_buf jump;

TEST_CASE("handlers of the program that come in between do no harm") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  for (const TraceMode mode : {TraceMode::kBreakpoint, TraceMode::kVerify, TraceMode::kLookAhead}) {
    alarms = 0;
    struct sigaction action = {}, previous;
    action.sa_handler = [](int) {
      ++alarms;
      for (uint64_t i = 1; i < 50; ++i) result += Collatz(i);  // as the program does
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, &previous);
    const itimerval often = {{0, 700}, {0, 700}}, never = {};
    const Sink sink = Trace(BranchConfig(mode), [&] {
      ::setitimer(ITIMER_REAL, &often, nullptr);
      WorkFor(400);
      ::setitimer(ITIMER_REAL, &never, nullptr);
    });
    ::sigaction(SIGALRM, &previous, nullptr);
    CAPTURE(sink.Describe());
    CHECK(alarms > 20);
    CHECK(sink.statistics.bursts > 5);
    CheckConsistent(sink);
  }
}

TEST_CASE("handlers that never return do no harm") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  for (const TraceMode mode : {TraceMode::kBreakpoint, TraceMode::kLookAhead}) {
    alarms = 0;
    const Sink sink = Trace(BranchConfig(mode), [] {
      struct sigaction action = {}, previous;
      action.sa_handler = [](int) { siglongjmp(jump, 1); };
      ::sigaction(SIGALRM, &action, &previous);
      const itimerval often = {{0, 900}, {0, 900}}, never = {};
      volatile int rounds = 0;
      if (sigsetjmp(jump, 1) != 0) {
        ++alarms;
        rounds = rounds + 1;
      }
      if (rounds < 100) {
        ::setitimer(ITIMER_REAL, &often, nullptr);
        for (;;) result += Collatz(27);
      }
      ::setitimer(ITIMER_REAL, &never, nullptr);
      ::sigaction(SIGALRM, &previous, nullptr);
    });
    CAPTURE(sink.Describe());
    CHECK(alarms == 100);
    CheckConsistent(sink);
  }
}

// The handler jumps out of whatever has faulted. While it is the program's own in the kernel, a
// fault of the interpreter would come to it.
TEST_CASE("faults of bursts do not come to a handler that the program has just set") {
  static std::atomic<int> faults, rounds;
  for (const TraceMode mode : ModesOfThisMachine()) {
    faults = rounds = 0;
    const Sink sink = Trace(BranchConfig(mode), [&] {
      struct sigaction action = {}, previous;
      action.sa_handler = [](int) {
        ++faults;
        siglongjmp(jump, 1);
      };
      ::sigaction(SIGSEGV, nullptr, &previous);
      constexpr size_t kPage = 4096;
      auto* const forbidden = static_cast<volatile char*>(
          ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      const uint64_t end = CpuNs() + 300'000'000;
      while (CpuNs() < end) {
        ::sigaction(SIGSEGV, &action, nullptr);
        ++rounds;
        if (sigsetjmp(jump, 1) == 0) {
          result += Collatz(27);
          result += *forbidden;
        }
      }
      ::sigaction(SIGSEGV, &previous, nullptr);
      ::munmap(const_cast<char*>(forbidden), kPage);
    });
    CAPTURE(sink.Describe());
    CHECK(faults == rounds);
    CHECK(sink.statistics.bursts > 20);
    CheckConsistent(sink);
  }
}

TEST_CASE("C++ exceptions pass through bursts") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  for (const TraceMode mode : {TraceMode::kBreakpoint, TraceMode::kLookAhead}) {
    int caught = 0;
    const Sink sink = Trace(BranchConfig(mode), [&] {
      const uint64_t end = CpuNs() + 300'000'000;
      while (CpuNs() < end) {
        try {
          if (Collatz(27) != 0) throw std::string("thrown");
        } catch (const std::string& text) {
          caught += text == "thrown" ? 1 : 0;
        }
      }
    });
    CAPTURE(sink.Describe());
    CHECK(caught > 100);
    CheckConsistent(sink);
  }
}

TEST_CASE("a child made by fork is not traced and can trace itself") {
  int child_status = -1;
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [&] {
    WorkFor(50);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      WorkFor(50);
      ::_exit(3);
    }
    ::waitpid(child, &child_status, 0);
    WorkFor(50);
  });
  CHECK(WIFEXITED(child_status));
  CHECK(WEXITSTATUS(child_status) == 3);
  CHECK(sink.statistics.bursts > 0);
}

TEST_CASE("errno and the vector registers survive samples and breakpoints") {
  for (const TraceMode mode : {TraceMode::kLookAhead, TraceMode::kBreakpoint}) {
    if (mode == TraceMode::kBreakpoint && !HasBreakpointsForTracing()) continue;
    uint64_t wrong = 0;
    const Sink sink = Trace(BranchConfig(mode), [&] {
      const uint64_t end = CpuNs() + 300'000'000;
      while (CpuNs() < end) {
        errno = 4242;
        double sum = 0;
        uint64_t vector = 0x0123'4567'89ab'cdef, back = 0;
        asm volatile(
            "movq %[vector], %%xmm5\n\t"
            "movq %%xmm5, %%xmm12\n\t"
            "mov $20000, %%ecx\n"
            "1:\n\t"
            "addsd %%xmm3, %%xmm3\n\t"
            "test $1, %%cl\n\t"
            "jz 2f\n\t"
            "nop\n"
            "2:\n\t"
            "dec %%ecx\n\t"
            "jnz 1b\n\t"
            "pxor %%xmm5, %%xmm12\n\t"
            "movq %%xmm12, %[back]\n\t"
            "movq %%xmm5, %[vector]\n\t"
            : [vector] "+r"(vector), [back] "=r"(back), [sum] "+x"(sum)
            :
            : "rcx", "xmm3", "xmm5", "xmm12", "cc");
        if (vector != 0x0123'4567'89ab'cdef || back != 0 || errno != 4242) ++wrong;
      }
    });
    CAPTURE(sink.Describe());
    CHECK(wrong == 0);
    CHECK(sink.statistics.bursts > 0);
  }
}

TEST_CASE("a program that unmaps and remaps its code goes on") {
  const Sink sink = Trace(BranchConfig(TraceMode::kLookAhead), [] {
    // mov eax, N; loop: dec edi; jnz loop; ret
    uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xff, 0xcf, 0x75, 0xfc, 0xc3};
    const uint64_t end = CpuNs() + 400'000'000;
    uint64_t wrong = 0;
    for (uint8_t round = 0; CpuNs() < end; ++round) {
      void* page =
          ::mmap(reinterpret_cast<void*>(0x7000'0000), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      code[1] = round;
      std::memcpy(page, code, sizeof(code));
      const auto function = reinterpret_cast<int (*)(int)>(page);
      if (function(2000) != round) ++wrong;
      static_cast<uint8_t*>(page)[1] = static_cast<uint8_t>(round + 1);
      if (function(2000) != static_cast<uint8_t>(round + 1)) ++wrong;
      ::munmap(page, 4096);
    }
    CHECK(wrong == 0);
  });
  CAPTURE(sink.Describe());
  // Without breakpoints, most bursts end at a system call before they have a branch.
  CHECK(sink.statistics.bursts > (HasBreakpointsForTracing() ? 50 : 10));
}

}  // namespace
}  // namespace hbbp
