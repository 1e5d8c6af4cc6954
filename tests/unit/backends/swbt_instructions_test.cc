// Checks that bursts which start at each instruction with the same probability count executions,
// and that any event of a PMU can start bursts. There is a stand-in for the PMU, whose samples are
// signals that a single-stepper or another thread sends.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <vector>

#include "backends/swbt.h"
#include "estimate/stream_estimator.h"
#include "events/period.h"
#include "support/branch_tracing.h"
#include "support/catch.h"
#include "support/cpu_work.h"
#include "support/perf_stand_in.h"
#include "support/single_step.h"
#include "trace/signal_data.h"

namespace hbbp {
namespace {

extern "C" {
void hbbp_test_two_loops(uint64_t short_rounds, uint64_t long_rounds);
extern const char hbbp_test_short_block[];
extern const char hbbp_test_long_block[];
void hbbp_test_huge_loop(uint64_t rounds);
extern const char hbbp_test_huge_block[];
}

// There are two loops, of 2 and of 400 instructions, and one of 8000.
asm(R"(
  .text
  .p2align 6
  .globl hbbp_test_two_loops, hbbp_test_short_block, hbbp_test_long_block
  .type hbbp_test_two_loops, @function
hbbp_test_two_loops:
  nop
hbbp_test_short_block:
  dec %rdi
  jne hbbp_test_short_block
  nop
hbbp_test_long_block:
  .rept 398
  nop
  .endr
  dec %rsi
  jne hbbp_test_long_block
  ret
  .size hbbp_test_two_loops, . - hbbp_test_two_loops

  .p2align 6
  .globl hbbp_test_huge_loop, hbbp_test_huge_block
  .type hbbp_test_huge_loop, @function
hbbp_test_huge_loop:
  nop
hbbp_test_huge_block:
  .rept 7998
  nop
  .endr
  dec %rdi
  jne hbbp_test_huge_block
  ret
  .size hbbp_test_huge_loop, . - hbbp_test_huge_loop
)");

constexpr uint64_t kInstructions = 120'000;  // of each loop
constexpr uint64_t kShortBlock = 2, kLongBlock = 400, kHugeBlock = 8000;

struct WeighingSink : BranchSink {
  void OnBurst(const BurstSample& burst) override {
    BranchSink::OnBurst(burst);
    const double weight = StreamWeight(burst.period, burst.branches.size(), burst.extent);
    for (size_t i = 0; i + 1 < burst.branches.size(); ++i) {
      const uint64_t start = burst.branches[i].to;
      if (start == reinterpret_cast<uint64_t>(hbbp_test_short_block)) short_rounds += weight;
      if (start == reinterpret_cast<uint64_t>(hbbp_test_long_block)) long_rounds += weight;
      if (start == reinterpret_cast<uint64_t>(hbbp_test_huge_block)) huge_rounds += weight;
    }
    extents.push_back(burst.extent);
  }

  double short_rounds = 0;
  double long_rounds = 0;
  double huge_rounds = 0;
  std::vector<double> extents;
};

struct Sampling {
  uint64_t period;
  uint64_t sample_data;
  void (*loops)();
  uint64_t executed = 0;
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> seen{0};  // by the worker
  bool is_on = false;
};

void SampleEachPeriod(const ucontext_t&, void* user) {
  auto* sampling = static_cast<Sampling*>(user);
  if (!sampling->is_on || ++sampling->executed % sampling->period != 0) return;
  constexpr uint64_t kMaxWaiting = trace::Tracer::kBufferedBursts / 2;
  while (sampling->sent - sampling->seen >= kMaxWaiting) SleepMs(1);
  ++sampling->sent;
  siginfo_t info = {};
  info.si_signo = SIGTRAP;
  info.si_code = SI_QUEUE;
  trace::SetSignalData(&info, sampling->sample_data);
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), SIGTRAP, &info);
}

void RunTwoLoops() { hbbp_test_two_loops(kInstructions / kShortBlock, kInstructions / kLongBlock); }

void RunLoopsAndHugeLoop() {
  RunTwoLoops();
  hbbp_test_huge_loop(2 * kInstructions / kHugeBlock);
  RunTwoLoops();
}

WeighingSink TraceTwoLoops(TraceMode mode, uint32_t branches, uint64_t period, EventKind event,
                           BackendChoice* choice, void (*loops)() = RunTwoLoops) {
  BackendConfig config = BranchConfig(mode, branches);
  config.event = event;
  // The period of a clock is so long that it never ends by itself.
  config.period = event == EventKind::kInstructions ? period : uint64_t{1} << 40;
  config.period_mode = PeriodMode::kFixed;
  SwbtBackend backend;
  backend.AssumeProcessor({.instructions_per_cycle = 6});
  WeighingSink sink;
  Sampling sampling;
  sampling.period = period;
  sampling.loops = loops;
  const auto drain = [&] {
    SleepMs(1);
    const uint64_t sent = sampling.sent;
    backend.Drain(&sink);
    sampling.seen = sent;
  };
  const auto work = [&] {
    sampling.sample_data = trace::Tracer::Get().SampleData(1);
    const auto wait_and_run = [](void* pointer) {
      // The stepper's handler precedes the tracer's until the worker finds that out.
      SleepMs(400);
      auto* started_sampling = static_cast<Sampling*>(pointer);
      started_sampling->is_on = true;
      started_sampling->loops();
      started_sampling->is_on = false;
    };
    SingleStep::Run(wait_and_run, &sampling, SampleEachPeriod, &sampling);
  };
  RunTraced(
      &backend, config, choice, [] {}, drain, work);
  return sink;
}

PerfStandIn::Answer InstructionsOnly() {
  return [](const perf_event_attr& attr) -> std::optional<int> {
    const bool is_it = attr.type == PERF_TYPE_HARDWARE && attr.config == PERF_COUNT_HW_INSTRUCTIONS;
    if (is_it) return 0;
    return std::nullopt;
  };
}

void CheckShares(const WeighingSink& sink) {
  const double in_short = sink.short_rounds * kShortBlock;
  const double in_long = sink.long_rounds * kLongBlock;
  const double total = 2.0 * kInstructions;
  CAPTURE(sink.Describe(), in_short, in_long);
  CHECK(in_short / (in_short + in_long) == Approx(0.5).margin(0.01));
  CHECK(in_short + in_long == Approx(total).epsilon(0.05));
}

TEST_CASE("loops that execute as many instructions get as many, whatever their blocks are") {
  const PerfStandIn pmu(InstructionsOnly());
  BackendChoice choice;
  const WeighingSink sink =
      TraceTwoLoops(TraceMode::kLookAhead, 16, 101, EventKind::kInstructions, &choice);
  REQUIRE(choice.sources.size() == 1);
  CHECK(choice.sources[0].burst_extent == BurstExtent::kEvents);
  CHECK(sink.CounterOf("no-free-buffer") == 0);
  REQUIRE(sink.bursts.size() > 2 * kInstructions / 101 * 9 / 10);
  CheckShares(sink);
  // The extent must be that of the code between the branches.
  for (size_t i = 0; i < sink.bursts.size(); ++i) {
    const auto& burst = sink.bursts[i].second;
    bool is_in_loops = true;
    uint64_t expected = 0;
    for (size_t stream = 0; stream + 1 < burst.size(); ++stream) {
      const uint64_t start = burst[stream].to;
      const bool is_short = start == reinterpret_cast<uint64_t>(hbbp_test_short_block);
      const bool is_long = start == reinterpret_cast<uint64_t>(hbbp_test_long_block);
      const bool leaves = burst[stream + 1].to != start;
      is_in_loops = is_in_loops && (is_short || is_long) && !leaves;
      expected += is_short ? kShortBlock : kLongBlock;
    }
    if (is_in_loops) REQUIRE(sink.extents[i] == expected);
  }
}

TEST_CASE("bursts of equal instructions count blocks that are longer than they are") {
  const PerfStandIn pmu(InstructionsOnly());
  BackendChoice choice;
  const WeighingSink sink = TraceTwoLoops(TraceMode::kLookAhead, 0, 307, EventKind::kInstructions,
                                          &choice, RunLoopsAndHugeLoop);
  CHECK(sink.CounterOf("no-free-buffer") == 0);
  // Of each loop this many rounds are counted at another block, whose stream goes on into the loop.
  constexpr double kOthers = 1;
  const double of_each = 2.0 * kInstructions;
  CAPTURE(sink.Describe(), sink.short_rounds, sink.long_rounds, sink.huge_rounds);
  CHECK(sink.short_rounds * kShortBlock == Approx(of_each).epsilon(0.03));
  CHECK(sink.long_rounds * kLongBlock == Approx(of_each).epsilon(0.03));
  CHECK((sink.huge_rounds + kOthers) * kHugeBlock == Approx(of_each).epsilon(0.05));
  // But for those that are cut by the system call behind the loops.
  const auto equal = std::count(sink.extents.begin(), sink.extents.end(), sink.extents.front());
  CHECK(static_cast<size_t>(equal) > sink.extents.size() * 98 / 100);
}

TEST_CASE("the same with breakpoints, and where both are compared") {
  if (!HasBreakpointsForTracing()) HBBP_SKIP("no debug registers with sigtrap here");
  const TraceMode mode = GENERATE(TraceMode::kBreakpoint, TraceMode::kVerify);
  const PerfStandIn pmu(InstructionsOnly());
  BackendChoice choice;
  // The period is longer than a burst, during which samples are dropped.
  const WeighingSink sink = TraceTwoLoops(mode, 4, 2003, EventKind::kInstructions, &choice);
  CHECK(sink.CounterOf("sample-during-burst") == 0);
  REQUIRE(sink.bursts.size() > 2 * kInstructions / 2003 * 9 / 10);
  CheckShares(sink);
}

// Lets another thread send samples while `work` runs, in the middle of its code. It runs again if
// they were few.
template <typename Work>
void SampleFromOutside(uint64_t sample_data, long interval_us, const Work& work) {
  const pid_t tid = ::gettid();
  std::atomic<bool> done{false};
  std::atomic<int> sent{0};
  std::thread sampler([&] {
    while (!done) {
      const timespec interval = {0, interval_us * 1000};
      ::nanosleep(&interval, nullptr);
      siginfo_t info = {};
      info.si_signo = SIGTRAP;
      info.si_code = SI_QUEUE;
      trace::SetSignalData(&info, sample_data);
      ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid, SIGTRAP, &info);
      ++sent;
    }
  });
  // A busy machine may have no processor for the other thread meanwhile.
  constexpr int kFewest = 20;
  do {
    work();
  } while (sent < kFewest);
  done = true;
  sampler.join();
}

TEST_CASE("the budget is of CPU time, at any rate of an event of the PMU") {
  const PerfStandIn pmu(InstructionsOnly());
  BackendConfig config;
  config.event = EventKind::kInstructions;
  uint64_t sample_data = 0;
  const BranchSink sink = TraceBranches(
      config,
      [&sample_data] {
        // By default a sample comes each 12 ms, if a thread executes 3 billion instructions a
        // second. So often, bursts are over budget on a fast processor, too.
        SampleFromOutside(sample_data, 150, [] { Spin(1'500'000'000); });
      },
      [&sample_data] { sample_data = trace::Tracer::Get().SampleData(1); });
  CAPTURE(sink.Describe());
  const uint64_t samples = sink.CounterOf("samples");
  REQUIRE(samples > 400);
  CHECK(sink.statistics.bursts > 1);
  CHECK(sink.CounterOf("over-budget") > 0);
  // The reserve of the start, a four hundredth, and what the last bursts took beyond that.
  CHECK(sink.statistics.handler_ns < 12'000'000 + 1'500'000'000 / 400 + 8'000'000);
}

PerfStandIn::Answer TakenBranchesOnly() {
  return [](const perf_event_attr& attr) -> std::optional<int> {
    if (attr.type == PERF_TYPE_RAW && attr.config == 0x20c4) return 0;
    return std::nullopt;
  };
}

TEST_CASE("an event of the PMU by its code starts bursts, which say what it was") {
  const PerfStandIn pmu(TakenBranchesOnly());
  BackendConfig config;
  config.event = EventKind::kTakenBranches;
  config.event_name = "BR_INST_RETIRED.NEAR_TAKEN";
  config.event_type = PERF_TYPE_RAW;
  config.event_config = 0x20c4;
  SwbtBackend backend;
  BackendChoice choice;
  BranchSink sink;
  const auto drain = [&] {
    SleepMs(1);
    backend.Drain(&sink);
  };
  const auto work = [] {
    SampleFromOutside(trace::Tracer::Get().SampleData(1), 500, [] { Spin(100'000'000); });
  };
  RunTraced(
      &backend, config, &choice, [] {}, drain, work);
  REQUIRE(choice.sources.size() == 1);
  const SourceChoice& source = choice.sources[0];
  CHECK(source.event == EventKind::kTakenBranches);
  CHECK(source.event_name == "BR_INST_RETIRED.NEAR_TAKEN:u");
  CHECK(source.period == LargestPrimeUpTo(5'000'000));
  CHECK(source.burst_extent == BurstExtent::kStreams);
  const auto events = pmu.events();
  REQUIRE(!events.empty());
  CHECK(events.front().attr.sigtrap == 1);
  CHECK(events.front().attr.sample_period == source.period);
  CAPTURE(sink.Describe());
  REQUIRE(sink.statistics.bursts > 1);
  CHECK(sink.PeriodsOfWholeBursts().front() % source.period == 0);
}

TEST_CASE("an event that this machine does not have is refused with the kernel's reason") {
  const PerfStandIn pmu([](const perf_event_attr& attr) -> std::optional<int> {
    if (attr.type == PERF_TYPE_HARDWARE) return EOPNOTSUPP;
    return std::nullopt;
  });
  BackendConfig config;
  config.event = EventKind::kOther;
  config.event_name = "cache-misses";
  config.event_type = PERF_TYPE_HARDWARE;
  config.event_config = PERF_COUNT_HW_CACHE_MISSES;
  SwbtBackend backend;
  BackendChoice choice;
  const Status refused = backend.Start(config, 0, &choice);
  CHECK(refused.code() == StatusCode::kUnsupported);
  CHECK(refused.message().find("cache-misses") != std::string::npos);
  CHECK(refused.message().find("EOPNOTSUPP") != std::string::npos);
}

TEST_CASE("bursts of a clock are weighted by the time of their streams") {
  BackendChoice choice;
  const WeighingSink sink =
      TraceTwoLoops(TraceMode::kLookAhead, 16, 2003, EventKind::kTaskClock, &choice);
  REQUIRE(choice.sources.size() == 1);
  CHECK(choice.sources[0].burst_extent == BurstExtent::kEvents);
  REQUIRE(sink.extents.size() > 2 * kInstructions / 2003 * 9 / 10);
  for (const uint64_t extent : sink.extents) CHECK(extent > 0);
  // The stand-in takes as many samples in either loop, as if both took the same time. The model
  // takes half a cycle for an instruction of the first, and a sixth for one of the second.
  const double of_short = sink.short_rounds * kShortBlock;
  const double of_long = sink.long_rounds * kLongBlock;
  CHECK(of_short / of_long == Approx(1.0 / 3).epsilon(0.4));
}

}  // namespace
}  // namespace hbbp
