// Tests hardware events from start to stop, with a stand-in for the PMU. The first part is about
// samples that PerfBackend delivers, the second about fallbacks of the plan, the third about costs
// of context switches, and the last about a whole session.
#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "backends/event_plan.h"
#include "backends/perf_backend.h"
#include "backends/processor_timing.h"
#include "backends/sample_cost.h"
#include "backends/swbt.h"
#include "base/clock.h"
#include "base/cpu_list.h"
#include "collect/recorder.h"
#include "perf/capability_probe.h"
#include "perf/switch_cost.h"
#include "session/session.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"
#include "support/perf_stand_in.h"

namespace hbbp {
namespace {

const CpuEvents kSkylake = FindCpuEvents({"GenuineIntel", 6, 0x55}, "/nonexistent");

bool IsHardware(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_RAW;
}
bool HasStack(const perf_event_attr& attr) {
  return (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
}

// Makes a PMU that refuses the events for which `refuse` returns an errno.
PerfStandIn::Answer Pmu(std::function<int(const perf_event_attr&)> refuse) {
  return [refuse](const perf_event_attr& attr) -> std::optional<int> {
    if (!IsHardware(attr)) return std::nullopt;
    return refuse(attr);
  };
}
PerfStandIn::Answer WholePmu() {
  return Pmu([](const perf_event_attr&) { return 0; });
}

struct Collected : EventSink {
  void OnSample(const IpSample& sample) override { samples.push_back(sample); }
  void OnBurst(const BurstSample& burst) override {
    bursts.push_back(burst);
    branches.emplace_back(burst.branches.begin(), burst.branches.end());
  }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    counters_of = source;
    counters = statistics.counters;
  }
  void OnMapping(MappingEvent) override {}
  void OnThreadName(uint32_t, uint32_t, const std::string&) override {}
  void OnLost(uint32_t source, uint64_t count) override { lost.at(source) += count; }
  void OnThrottled(uint32_t source) override { ++throttled.at(source); }

  std::vector<IpSample> samples;
  std::vector<BurstSample> bursts;
  std::vector<std::vector<TakenBranch>> branches;
  std::vector<uint64_t> lost = {0, 0}, throttled = {0, 0};
  uint32_t counters_of = UINT32_MAX;
  std::vector<std::pair<std::string, uint64_t>> counters;
};

// Writes records of one event of the stand-in, as if they were of this thread.
class Play {
 public:
  Play(PerfStandIn* pmu, const PerfStandIn::Event& event) : pmu_(pmu), event_(event) {}

  PerfRecordBuilder Record() const {
    PerfRecordBuilder record(RecordFormat{.sample_type = event_.attr.sample_type});
    record.Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
    record.Time(ClockNs(CLOCK_MONOTONIC)).Id(event_.id).Period(event_.attr.sample_period);
    return record;
  }
  bool Sample(uint64_t ip) { return pmu_->Write(event_, Record().Ip(ip).Sample()); }
  bool Stack(std::vector<BranchEntry> newest_first) {
    return pmu_->Write(event_, Record().Branches(std::move(newest_first), 0, {}).Sample());
  }
  bool Write(std::vector<uint8_t> record) { return pmu_->Write(event_, record); }

 private:
  PerfStandIn* pmu_;
  PerfStandIn::Event event_;
};

BranchEntry Branch(uint64_t from, uint64_t to, bool is_speculative = false) {
  BranchEntry entry;
  entry.from = from;
  entry.to = to;
  entry.speculation = is_speculative ? 1 : 0;
  return entry;
}

// Finds an event of this thread on one CPU.
PerfStandIn::Event FindEvent(const PerfStandIn& pmu, bool has_stack) {
  for (const PerfStandIn::Event& event : pmu.events()) {
    if (event.ring != 0 && event.tid == ::gettid() && HasStack(event.attr) == has_stack) {
      return event;
    }
  }
  FAIL("no such event was opened");
  return {};
}

TEST_CASE("two events are sampled at once, each for what it is good for") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  REQUIRE(choice.sources.size() == 2);
  CHECK(choice.sources[0].kind == SourceKind::kEbs);
  CHECK(choice.sources[0].event == EventKind::kInstructions);
  CHECK(choice.sources[0].event_name == "INST_RETIRED.PREC_DIST:uppp");
  CHECK(choice.sources[0].period == 10'000'019);
  CHECK(choice.sources[1].kind == SourceKind::kLbr);
  CHECK(choice.sources[1].event == EventKind::kTakenBranches);
  CHECK(choice.sources[1].event_name == "BR_INST_RETIRED.NEAR_TAKEN:u");
  CHECK(choice.sources[1].period == 1'000'037);

  const PerfStandIn::Event ip_event = FindEvent(pmu, false), stack_event = FindEvent(pmu, true);
  CHECK(ip_event.attr.config == 0x01c0);
  CHECK(stack_event.attr.config == 0x20c4);
  CHECK(stack_event.attr.branch_sample_type == (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER));
  CHECK(ip_event.attr.exclude_kernel == 1);
  CHECK(ip_event.attr.mmap2 == 1);
  CHECK(stack_event.attr.mmap2 == 0);
  const size_t cpus = ListOnlineCpus()->size();
  const auto events = pmu.events();
  CHECK(static_cast<size_t>(
            std::count_if(events.begin(), events.end(), [](const PerfStandIn::Event& event) {
              return event.ring != 0 && event.tid == ::gettid();
            })) == 2 * cpus);

  Play ips(&pmu, ip_event), stacks(&pmu, stack_event);
  REQUIRE(ips.Sample(0x1000));
  REQUIRE(stacks.Stack({Branch(30, 300), Branch(20, 200), Branch(10, 100)}));
  REQUIRE(ips.Sample(0x2000));
  Collected collected;
  backend.Drain(&collected);
  REQUIRE(collected.samples.size() == 2);
  CHECK(collected.samples[1].ip.value == 0x2000);
  CHECK(collected.samples[1].source == 0);
  CHECK(collected.samples[1].period == 10'000'019);
  REQUIRE(collected.bursts.size() == 1);
  CHECK(collected.bursts[0].source == 1);
  CHECK(collected.bursts[0].period == 1'000'037);
  REQUIRE(collected.branches[0].size() == 3);
  CHECK(collected.branches[0][0].from == 10);
  CHECK(collected.branches[0][2].to == 300);

  backend.Disable();
  for (const PerfStandIn::Event& event : pmu.events()) {
    if (event.ring != 0) CHECK_FALSE(event.is_enabled);
  }
  backend.Close();
}

TEST_CASE("entries without a branch cut a stack, and its parts have the extent of all") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  Play stacks(&pmu, FindEvent(pmu, true));
  REQUIRE(stacks.Stack({Branch(6, 60), Branch(5, 50), Branch(9, 90, true), Branch(4, 40),
                        Branch(3, 30), Branch(2, 20), Branch(0, 0)}));
  Collected collected;
  backend.Drain(&collected);
  REQUIRE(collected.bursts.size() == 2);
  CHECK(collected.branches[0].size() == 3);
  CHECK(collected.branches[1].size() == 2);
  for (const BurstSample& burst : collected.bursts) {
    CHECK(burst.period == 1'000'037);
    CHECK(burst.extent == 3);
  }
  CHECK(collected.counters_of == 1);
  CHECK(collected.counters ==
        Counters{{"sampled-events", 1'000'037}, {"empty-entries", 1}, {"speculative-entries", 1}});
  backend.Close();
}

// Refuses what counts branches.
PerfStandIn::Answer PmuOfCycles() {
  return Pmu([](const perf_event_attr& attr) {
    const bool is_cycles =
        attr.type == PERF_TYPE_HARDWARE && attr.config == PERF_COUNT_HW_CPU_CYCLES;
    return HasStack(attr) && !is_cycles ? EINVAL : 0;
  });
}

TEST_CASE("stacks that are sampled by cycles weigh by theirs if they have any") {
  for (const uint16_t cycles : {uint16_t{0}, uint16_t{20}}) {
    PerfStandIn pmu(PmuOfCycles());
    Session session(std::make_unique<PerfBackend>(SourceKind::kLbr, kSkylake), {});
    REQUIRE(session.Start().ok());
    Play stacks(&pmu, FindEvent(pmu, true));
    BranchEntry branch = Branch(0x400050, 0x400010);
    branch.cycles = cycles;
    REQUIRE(stacks.Stack(std::vector<BranchEntry>(5, branch)));
    REQUIRE(session.Stop().ok());
    const ProfileData data = session.Snapshot();
    REQUIRE(data.sources.size() == 2);
    CHECK(data.sources[1].event == EventKind::kCycles);
    CHECK(data.sources[1].burst_extent ==
          (cycles != 0 ? BurstExtent::kEvents : BurstExtent::kStreams));
    CHECK(data.sources[0].burst_extent == BurstExtent::kStreams);
    const auto period = static_cast<double>(data.sources[1].period);
    double weights = 0;
    for (const BranchCount& count : data.branches) weights += count.weights;
    CHECK(weights == Approx(cycles != 0 ? 4 * period / 80 : period));
  }
}

TEST_CASE("samples of user code alone are never in the kernel, even if the interrupt came late") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kEbs, kSkylake);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  const PerfStandIn::Event event = FindEvent(pmu, false);
  REQUIRE(event.attr.sample_regs_user == 1 << PERF_REG_X86_IP);
  Play ips(&pmu, event);
  const auto play = [&ips](uint16_t misc, uint64_t abi, std::vector<uint64_t> registers) {
    return ips.Write(
        ips.Record().Ip(0xffffffff81000010).Misc(misc).UserRegisters(abi, registers).Sample());
  };
  REQUIRE(play(PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_64, {0x1234}));
  REQUIRE(
      play(PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP, PERF_SAMPLE_REGS_ABI_64, {0x5678}));
  REQUIRE(play(PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_NONE, {}));
  REQUIRE(ips.Write(ips.Record()
                        .Ip(0x1000)
                        .Misc(PERF_RECORD_MISC_USER)
                        .UserRegisters(PERF_SAMPLE_REGS_ABI_64, {0x9999})
                        .Sample()));
  Collected collected;
  backend.Drain(&collected);
  REQUIRE(collected.samples.size() == 4);
  CHECK(collected.samples[0].ip.value == 0x1234);
  CHECK(collected.samples[1].ip.value == 0x5678);
  CHECK(collected.samples[2].ip.value == 0xffffffff81000010);
  CHECK(collected.samples[3].ip.value == 0x1000);
  backend.Close();

  BackendConfig with_kernel;
  with_kernel.include_kernel = true;
  const auto plan = PlanEbs(with_kernel, kSkylake);
  REQUIRE(plan.ok());
  CHECK_FALSE(plan->events[0].HasUserIp());
}

TEST_CASE("samples are corrected for IP+1 by their newest branch, if that is asked for") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendConfig config;
  config.ebs_method = EbsMethod::kIpPlusOne;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  CHECK(choice.sources.at(0).ebs_method == EbsMethod::kIpPlusOne);
  CHECK(choice.sources.at(1).ebs_method == EbsMethod::kPlain);
  const auto events = pmu.events();
  const auto event = std::find_if(events.begin(), events.end(), [](const auto& candidate) {
    return candidate.ring != 0 && candidate.attr.config == 0x01c0;
  });
  REQUIRE(event != events.end());
  REQUIRE(HasStack(event->attr));
  Play ips(&pmu, *event);
  const std::vector<BranchEntry> stack = {Branch(0x50, 0x1000), Branch(0x40, 0x30)};
  REQUIRE(ips.Write(ips.Record().Ip(0x1000).Branches(stack, 0, {}).Sample()));
  REQUIRE(ips.Write(ips.Record().Ip(0x1010).Branches(stack, 0, {}).Sample()));
  REQUIRE(ips.Write(ips.Record()
                        .Ip(0x1020)
                        .Misc(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP)
                        .Branches(stack, 0, {})
                        .Sample()));
  Collected collected;
  backend.Drain(&collected);
  CHECK(collected.bursts.empty());
  REQUIRE(collected.samples.size() == 3);
  CHECK(collected.samples[0].ip.value == 0x50);
  CHECK(collected.samples[1].ip.value == 0x1010);
  CHECK(collected.samples[1].position == IpPosition::kAfter);
  CHECK(collected.samples[2].ip.value == 0x1020);
  CHECK(collected.samples[2].position == IpPosition::kAt);
  backend.Close();
}

TEST_CASE("without branch stacks nothing is corrected, and a note says so") {
  PerfStandIn pmu(Pmu([](const perf_event_attr& attr) { return HasStack(attr) ? EOPNOTSUPP : 0; }));
  BackendConfig config;
  config.ebs_method = EbsMethod::kIpPlusOne;
  const auto plan = PlanEbs(config, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].choice.ebs_method == EbsMethod::kPlain);
  CHECK(plan->events[0].choice.note ==
        "no branch stacks with these samples, so nothing is corrected for IP+1");
}

TEST_CASE("samples of other processes are dropped") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  Play ips(&pmu, FindEvent(pmu, false));
  const auto other_process = static_cast<uint32_t>(::getpid() + 1);
  REQUIRE(ips.Write(ips.Record().Pid(other_process).Ip(1).Sample()));
  REQUIRE(ips.Write(ips.Record().Id(UINT64_MAX).Ip(2).Sample()));
  REQUIRE(ips.Write(ips.Record().Ip(3).Misc(PERF_RECORD_MISC_KERNEL).Sample()));
  Collected collected;
  backend.Drain(&collected);
  REQUIRE(collected.samples.size() == 1);
  CHECK(collected.samples[0].ip.value == 3);
  backend.Close();
}

TEST_CASE("lost and throttled samples are reported by source") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendConfig config;
  config.buffer_bytes = 4096;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  Play ips(&pmu, FindEvent(pmu, false)), stacks(&pmu, FindEvent(pmu, true));
  uint64_t written = 0, lost = 0;
  for (int i = 0; i < 100; ++i) ++(ips.Sample(0x1000) ? written : lost);
  REQUIRE(lost > 0);
  Collected collected;
  backend.Drain(&collected);
  CHECK(collected.samples.size() == written);
  CHECK(collected.lost[0] == 0);
  REQUIRE(ips.Sample(0x1000));
  REQUIRE(stacks.Write(stacks.Record().Throttle()));
  REQUIRE(stacks.Write(stacks.Record().LostSamples(5)));
  backend.Drain(&collected);
  CHECK(collected.lost == std::vector<uint64_t>{lost, 5});
  CHECK(collected.throttled == std::vector<uint64_t>{0, 1});
  backend.Close();
}

uint64_t SumOfPeriods(const Collected& collected) {
  uint64_t sum = 0;
  for (const IpSample& sample : collected.samples) sum += sample.period;
  return sum;
}

TEST_CASE("lost samples are given back") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kEbs, kSkylake);
  BackendConfig config;
  config.buffer_bytes = 4096;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  Play ips(&pmu, FindEvent(pmu, false));
  Collected collected;
  constexpr uint64_t kSamples = 1000;
  for (uint64_t i = 0; i < kSamples; ++i) {
    (void)ips.Sample(0x1000);
    // Every other time more come than there is room for.
    if (i % 100 == 99 || i % 100 == 9) backend.Drain(&collected);
  }
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 20; ++j) REQUIRE(ips.Sample(0x1000));
    backend.Drain(&collected);
  }
  CHECK(collected.lost[0] > kSamples / 10);
  CHECK(collected.samples.size() == kSamples + 100 - collected.lost[0]);
  const uint64_t period = choice.sources.at(0).period;
  CHECK(static_cast<double>(SumOfPeriods(collected)) ==
        Approx(static_cast<double>((kSamples + 100) * period)));
  backend.Close();
}

TEST_CASE("what the kernel held back is given back") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kEbs, kSkylake);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  Play ips(&pmu, FindEvent(pmu, false));
  constexpr uint64_t kMs = 1'000'000;
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  for (uint64_t tick = 0; tick < 50; ++tick) {
    const uint64_t now_ns = begin_ns + 4 * kMs * tick;
    for (uint64_t i = 1; i <= 4; ++i) {
      REQUIRE(ips.Write(ips.Record().Time(now_ns + i * kMs / 4).Ip(0x1000).Sample()));
    }
    REQUIRE(ips.Write(ips.Record().Time(now_ns + kMs).Throttle()));
    REQUIRE(ips.Write(ips.Record().Time(now_ns + 4 * kMs).Throttle(PERF_RECORD_UNTHROTTLE)));
  }
  Collected collected;
  backend.Drain(&collected);
  CHECK(collected.samples.size() == 200);
  CHECK(collected.throttled[0] == 50);
  // All but the last gap are.
  const auto period = static_cast<double>(choice.sources.at(0).period);
  CHECK(static_cast<double>(SumOfPeriods(collected)) == Approx(4 * 197 * period).epsilon(0.01));
  backend.Close();
}

TEST_CASE("what the events counted is known, next to what samples stand for") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kEbs, kSkylake);
  BackendConfig config;
  config.period_mode = PeriodMode::kFixed;
  config.period = 1000;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  const PerfStandIn::Event event = FindEvent(pmu, false);
  Play ips(&pmu, event);
  for (int i = 0; i < 5; ++i) REQUIRE(ips.Sample(0x1000));
  Collected collected;
  backend.Drain(&collected);
  CHECK(collected.counters == Counters{{"sampled-events", 5000}});
  // It took turns with others for half of the time, on one of the CPUs.
  const size_t cpus = ListOnlineCpus().value().size();
  pmu.SetCount(event, {3500, 20 * cpus, 10});
  backend.Disable();
  backend.Disable();
  backend.Drain(&collected);
  CHECK(collected.counters == Counters{{"counted-events", 7000}, {"sampled-events", 5000}});
  backend.Close();
}

TEST_CASE("rings are drained by time: they wake no thread, and the kernel overwrites nothing") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendConfig config;
  config.buffer_bytes = 4096;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  for (const PerfStandIn::Event& event : pmu.events()) {
    if (event.ring == 0) continue;
    CHECK(event.attr.watermark == 1);
    CHECK(event.attr.wakeup_watermark == UINT32_MAX);
    CHECK(event.attr.write_backward == 0);
    CHECK_FALSE(event.is_overwritten);
  }
  // A full ring keeps its first records.
  Play ips(&pmu, FindEvent(pmu, false));
  uint64_t written = 0;
  while (ips.Sample(written)) ++written;
  for (int i = 0; i < 10; ++i) CHECK_FALSE(ips.Sample(1'000'000));
  Collected collected;
  backend.Drain(&collected);
  REQUIRE(collected.samples.size() == written);
  for (uint64_t i = 0; i < written; ++i) CHECK(collected.samples[i].ip.value == i);
  CHECK(backend.DrainIntervalMs() <= 100);
  backend.Close();
}

TEST_CASE("rings wrap around anywhere") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendConfig config;
  config.buffer_bytes = 4096;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  Play ips(&pmu, FindEvent(pmu, false)), stacks(&pmu, FindEvent(pmu, true));
  Collected collected;
  for (uint64_t i = 0; i < 500; ++i) {
    REQUIRE(ips.Sample(i));
    REQUIRE(stacks.Stack(std::vector<BranchEntry>(i % 32 + 2, Branch(i + 1, i + 2))));
    backend.Drain(&collected);
  }
  REQUIRE(collected.samples.size() == 500);
  REQUIRE(collected.bursts.size() == 500);
  for (uint64_t i = 0; i < 500; ++i) {
    CHECK(collected.samples[i].ip.value == i);
    REQUIRE(collected.branches[i].size() == i % 32 + 2);
    CHECK(collected.branches[i].front().from == i + 1);
    CHECK(collected.branches[i].back().to == i + 2);
  }
  backend.Close();
}

TEST_CASE("periods follow from how long the program will run") {
  struct Row {
    uint64_t seconds, events, taken_branches;
  };
  for (const Row& row : {Row{5, 1'000'037, 100'003}, Row{90, 10'000'019, 1'000'037},
                         Row{0, 10'000'019, 1'000'037}, Row{3600, 100'000'007, 10'000'019}}) {
    PerfStandIn pmu(WholePmu());
    BackendConfig config;
    config.expected_seconds = row.seconds;
    const auto plan = PlanLbr(config, kSkylake);
    REQUIRE(plan.ok());
    CHECK(plan->events[0].choice.period == row.events);
    CHECK(plan->events[1].choice.period == row.taken_branches);
  }
}

TEST_CASE("periods may be asked for, by number, mode and frequency") {
  PerfStandIn pmu(WholePmu());
  BackendConfig config;
  config.period = 2'000'000;
  config.branch_period = 50'000;
  config.period_mode = PeriodMode::kFixed;
  auto plan = PlanLbr(config, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].choice.period == 2'000'000);
  CHECK(plan->events[1].choice.period == 50'000);
  config.period_mode = PeriodMode::kPrime;
  plan = PlanLbr(config, kSkylake);
  CHECK(plan->events[0].choice.period == 1'999'993);
  CHECK(plan->events[1].choice.period == 49'999);
  config = {};
  config.frequency_hz = 997;
  plan = PlanLbr(config, kSkylake);
  for (const PlannedEvent& event : plan->events) {
    CHECK(event.choice.period == 0);
    CHECK(event.choice.frequency_hz == 997);
    CHECK(event.variants[0].attr.freq == 1);
  }
}

TEST_CASE("random periods are drawn for both events") {
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendConfig config;
  config.period_mode = PeriodMode::kRandom;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  std::set<uint64_t> drawn[2];
  Collected collected;
  Play ips(&pmu, FindEvent(pmu, false)), stacks(&pmu, FindEvent(pmu, true));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(ips.Sample(0x1000));
    REQUIRE(stacks.Stack({Branch(0x1010, 0x2000)}));
    backend.Drain(&collected);
    for (const bool has_stack : {false, true}) {
      const uint64_t mean = has_stack ? 1'000'037 : 10'000'019;
      const uint64_t period = FindEvent(pmu, has_stack).period;
      CHECK(period >= mean - mean / 8);
      CHECK(period <= mean + mean / 8);
      drawn[has_stack].insert(period);
    }
  }
  CHECK(drawn[0].size() > 15);
  CHECK(drawn[1].size() > 15);
  // A thread without a sample may not have run, and keeps its period.
  const uint64_t kept = FindEvent(pmu, false).period;
  backend.Drain(&collected);
  CHECK(FindEvent(pmu, false).period == kept);
  backend.Close();
}

TEST_CASE("random periods are drawn for branch tracing, around the one that was asked for") {
  PerfStandIn pmu(WholePmu());
  BackendConfig config;
  config.event = EventKind::kInstructions;
  config.period = 2'000'000;
  std::set<uint64_t> drawn;
  for (int run = 0; run < 20; ++run) {
    config.period_mode = run < 15 ? PeriodMode::kRandom : PeriodMode::kPrime;
    SwbtBackend backend;
    BackendChoice choice;
    const Status status = backend.Start(config, 0, &choice);
    if (!status.ok()) HBBP_SKIP(status.message());
    const auto events = pmu.events();
    const auto sampler = std::find_if(events.rbegin(), events.rend(), [](const auto& event) {
      return event.attr.sigtrap != 0 && event.attr.disabled == 0;
    });
    REQUIRE(sampler != events.rend());
    const uint64_t mean = choice.sources.at(0).period;
    CHECK(sampler->period >= mean - mean / 8);
    CHECK(sampler->period <= mean + mean / 8);
    if (config.period_mode == PeriodMode::kPrime) CHECK(sampler->period == mean);
    drawn.insert(sampler->period);
    backend.Disable();
    backend.Close();
  }
  CHECK(drawn.size() > 10);
}

TEST_CASE("each CPU of a hybrid processor has the events of its PMU") {
  const std::vector<int> cpus = *ListOnlineCpus();
  if (cpus.size() < 2) HBBP_SKIP("needs two CPUs");
  CpuEvents hybrid;
  hybrid.instructions = {"INST", {{PERF_TYPE_RAW, 1, {cpus[0]}}, {PERF_TYPE_RAW, 2, {cpus[1]}}}};
  hybrid.taken_branches = {"TAKEN", {{PERF_TYPE_RAW, 3, {cpus[0]}}, {PERF_TYPE_RAW, 4, {cpus[1]}}}};
  PerfStandIn pmu(WholePmu());
  PerfBackend backend(SourceKind::kLbr, hybrid);
  BackendChoice choice;
  REQUIRE(backend.Start({}, 0, &choice).ok());
  for (const PerfStandIn::Event& event : pmu.events()) {
    if (event.ring == 0) continue;
    const bool is_first_pmu = event.attr.config == 1 || event.attr.config == 3;
    CHECK((event.cpu == cpus[0]) == is_first_pmu);
  }
  backend.Close();
}

// Fallbacks ---------------------------------------------------------------------------------------

TEST_CASE("the highest precision of the PMU is taken, and a note says if there is none") {
  for (const unsigned max_precise_ip : {3u, 2u, 1u, 0u}) {
    PerfStandIn pmu(Pmu([max_precise_ip](const perf_event_attr& attr) {
      return attr.precise_ip > max_precise_ip ? EOPNOTSUPP : 0;
    }));
    const auto plan = PlanEbs({}, kSkylake);
    REQUIRE(plan.ok());
    const SourceChoice& choice = plan->events[0].choice;
    CHECK(plan->events[0].variants[0].attr.precise_ip == max_precise_ip);
    CHECK(choice.event_name == "INST_RETIRED.PREC_DIST:u" + std::string(max_precise_ip, 'p'));
    CHECK(choice.precise_ip == max_precise_ip);
    CHECK((choice.note == "no precise events here, so samples lie behind what they are of") ==
          (max_precise_ip == 0));
  }
}

TEST_CASE("imprecise samples may be asked for") {
  PerfStandIn pmu(WholePmu());
  BackendConfig config;
  config.imprecise = true;
  const auto plan = PlanEbs(config, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].variants[0].attr.precise_ip == 0);
  CHECK(plan->events[0].choice.event_name == "INST_RETIRED.PREC_DIST:u");
  CHECK(plan->events[0].choice.note.empty());
}

TEST_CASE("instructions by the vendor's name, then by the kernel's, then time") {
  PerfStandIn generic(
      Pmu([](const perf_event_attr& attr) { return attr.type == PERF_TYPE_RAW ? EINVAL : 0; }));
  auto plan = PlanEbs({}, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].choice.event == EventKind::kInstructions);
  CHECK(plan->events[0].choice.event_name == "instructions:uppp");
  CHECK(plan->events[0].choice.note == "instructions instead of INST_RETIRED.PREC_DIST: EINVAL");
}

TEST_CASE("without a PMU there is time") {
  PerfStandIn none(Pmu([](const perf_event_attr&) { return ENOENT; }));
  BackendConfig config;
  const auto plan = PlanEbs(config, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].choice.event == EventKind::kTaskClock);
  CHECK(plan->events[0].choice.note ==
        "task-clock instead of INST_RETIRED.PREC_DIST: ENOENT, instructions: ENOENT");
  config.event = EventKind::kInstructions;
  const Status status = PlanEbs(config, kSkylake).status();
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(status.message().starts_with("perf_event_open(instructions): ENOENT"));
}

TEST_CASE("kernels that lack options of an event are asked without them") {
  PerfStandIn old_kernel(Pmu([](const perf_event_attr& attr) {
    return attr.inherit_thread || attr.build_id || attr.ksymbol ? EINVAL : 0;
  }));
  BackendConfig config;
  config.include_kernel = true;
  const auto plan = PlanLbr(config, kSkylake);
  REQUIRE(plan.ok());
  CHECK(plan->events[0].variants[0].attr.inherit_thread == 0);
  CHECK(plan->events[0].variants[0].attr.ksymbol == 0);
  CHECK(plan->events[0].variants[0].attr.precise_ip == 3);
}

TEST_CASE("kernels are asked for the names of BPF programs, if kernel code is sampled") {
  PerfStandIn pmu(WholePmu());
  for (const bool include_kernel : {false, true}) {
    BackendConfig config;
    config.include_kernel = include_kernel;
    const auto plan = PlanEbs(config, kSkylake);
    REQUIRE(plan.ok());
    CHECK(plan->events[0].variants[0].attr.ksymbol == include_kernel);
  }
}

TEST_CASE("branch stacks of the best event that has them") {
  const auto refuse_up_to = [](int step) {
    return Pmu([step](const perf_event_attr& attr) {
      if (!HasStack(attr)) return 0;
      const bool is_refused = (step >= 1 && attr.type == PERF_TYPE_RAW) ||
                              (step >= 2 && attr.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS) ||
                              step >= 3;
      return is_refused ? EOPNOTSUPP : 0;
    });
  };
  const EventKind events[] = {EventKind::kTakenBranches, EventKind::kOther, EventKind::kCycles};
  const char* const notes[] = {
      "", "branches instead of BR_INST_RETIRED.NEAR_TAKEN with branch stacks: EOPNOTSUPP",
      ("cycles instead of BR_INST_RETIRED.NEAR_TAKEN with branch stacks: EOPNOTSUPP, branches with "
       "branch stacks: EOPNOTSUPP")};
  for (int step = 0; step < 3; ++step) {
    PerfStandIn pmu(refuse_up_to(step));
    const auto plan = PlanLbr({}, kSkylake);
    REQUIRE(plan.ok());
    CHECK(plan->events[1].choice.event == events[step]);
    CHECK(plan->events[1].choice.note == notes[step]);
  }
  PerfStandIn pmu(refuse_up_to(3));
  const Status status = PlanLbr({}, kSkylake).status();
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(status.message().starts_with("perf_event_open(cycles with branch stacks): EOPNOTSUPP"));
}

TEST_CASE("the branch sampling of Zen 3 takes no frequency") {
  CpuEvents zen3 = FindCpuEvents({"AuthenticAMD", 0x19, 0x01}, "/nonexistent");
  zen3.has_branch_sampling = true;
  PerfStandIn pmu(Pmu([](const perf_event_attr& attr) {
    if (!HasStack(attr)) return attr.precise_ip != 0 ? EOPNOTSUPP : 0;
    const bool is_possible =
        attr.config == 0xc4 && !attr.freq && attr.precise_ip == 0 && attr.sample_period >= 16;
    return is_possible ? 0 : EINVAL;
  }));
  BackendConfig config;
  config.frequency_hz = 1000;
  const auto plan = PlanLbr(config, zen3);
  REQUIRE(plan.ok());
  const SourceChoice& stacks = plan->events[1].choice;
  CHECK(stacks.event_name == "ex_ret_brn_tkn:u");
  CHECK(stacks.period == 1'000'037);
  CHECK(stacks.note ==
        "BRS instead of LBR, which this processor does not have: 16 branches, a period instead of "
        "a frequency");
  CHECK(plan->events[0].choice.frequency_hz == 1000);
}

TEST_CASE("ops are sampled, and those of the kernel are filtered where that is possible") {
  CpuEvents amd = FindCpuEvents({"AuthenticAMD", 0x19, 0x11}, "/nonexistent");
  CHECK(PlanIbs({}, amd).status().message().starts_with("no PMU ibs_op in sysfs"));
  amd.ibs_op_type = 11;
  enum Kernel { kFiltersItself, kFiltersIfAsked, kCannotFilter };
  for (const Kernel kernel : {kFiltersItself, kFiltersIfAsked, kCannotFilter}) {
    PerfStandIn pmu([kernel](const perf_event_attr& attr) -> std::optional<int> {
      if (attr.type != 11) return std::nullopt;
      if (attr.sample_period % 16 != 0 || attr.precise_ip != 0) return EINVAL;
      if (attr.exclude_kernel == 0 || kernel == kFiltersItself) return 0;
      return kernel == kFiltersIfAsked && attr.config2 == 1 ? 0 : EINVAL;
    });
    PerfBackend backend(SourceKind::kIbs, amd);
    BackendChoice choice;
    REQUIRE(backend.Start({}, 0, &choice).ok());
    CHECK(choice.sources.at(0).kind == SourceKind::kIbs);
    CHECK(choice.sources.at(0).event == EventKind::kUops);
    CHECK(choice.sources[0].period == 10'000'016);
    const PerfStandIn::Event event = FindEvent(pmu, false);
    CHECK(event.attr.config == 1 << 19);
    Play ops(&pmu, event);
    REQUIRE(ops.Write(ops.Record().Ip(0x1000).Raw({1, 2, 3, 4}).Sample()));
    REQUIRE(ops.Write(
        ops.Record().Ip(0x2000).Raw({1, 2, 3, 4}).Misc(PERF_RECORD_MISC_KERNEL).Sample()));
    Collected collected;
    backend.Drain(&collected);
    CHECK(collected.samples.size() == (kernel == kCannotFilter ? 1 : 2));
    CHECK(collected.samples[0].ip.value == 0x1000);
    CHECK(collected.samples[0].period == 10'000'016);
    backend.Close();
  }
}

TEST_CASE("an error of missing permission says what to do") {
  PerfStandIn pmu([](const perf_event_attr&) { return EACCES; });
  const Status status = PlanLbr({}, kSkylake).status();
  CHECK(status.code() == StatusCode::kPermission);
  CHECK(status.message().find("perf_event_paranoid") != std::string::npos);
}

TEST_CASE("descriptors that run out in the middle leave nothing open") {
  int left = 5;
  PerfStandIn pmu(Pmu([&left](const perf_event_attr&) { return left-- > 0 ? 0 : EMFILE; }));
  PerfBackend backend(SourceKind::kLbr, kSkylake);
  BackendChoice choice;
  const Status status = backend.Start({}, 0, &choice);
  CHECK(status.code() == StatusCode::kBusy);
  CHECK(status.message().find("ulimit -n") != std::string::npos);
  left = 1'000'000;
  CHECK(backend.Start({}, 0, &choice).ok());
  backend.Close();
}

TEST_CASE("the best source of this machine is taken, and a note says why not a better one") {
  const auto start = [](SourceKind wanted, PerfStandIn::Answer answer) {
    PerfStandIn pmu(std::move(answer));
    const std::unique_ptr<Backend> backend = MakeBackend(wanted, 0);
    BackendChoice choice;
    const Status status = backend->Start({}, 0, &choice);
    INFO(status.message());
    REQUIRE(status.ok());
    backend->Disable();
    backend->Close();
    return choice.sources;
  };
  const PerfStandIn::Answer no_stacks =
      Pmu([](const perf_event_attr& attr) { return HasStack(attr) ? EOPNOTSUPP : 0; });
  const PerfStandIn::Answer no_pmu = Pmu([](const perf_event_attr&) { return ENOENT; });

  auto sources = start(SourceKind::kAuto, WholePmu());
  REQUIRE(sources.size() == 2);
  CHECK(sources[1].kind == SourceKind::kLbr);
  CHECK(sources[0].note.empty());

  sources = start(SourceKind::kAuto, no_pmu);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].kind == SourceKind::kSwbt);
  CHECK(sources[0].note.find("no lbr: perf_event_open(cycles with branch stacks): ENOENT") !=
        std::string::npos);

  sources = start(SourceKind::kPerf, no_stacks);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].kind == SourceKind::kEbs);
  CHECK(sources[0].event == EventKind::kInstructions);
  CHECK(sources[0].note.find("no lbr: ") != std::string::npos);

  sources = start(SourceKind::kPerf, no_pmu);
  CHECK(sources[0].event == EventKind::kTaskClock);
}

// What counters add to context switches -----------------------------------------------------------

// Stands for a machine whose PMU makes a context switch longer by `switch_ns`.
class SwitchCosts {
 public:
  SwitchCosts(uint64_t switch_ns, PerfStandIn::Answer answer) : pmu_(std::move(answer)) {
    pmu_.SetSwitchNs(switch_ns);
    ResetCounterSwitchNs();
  }
  ~SwitchCosts() { ResetCounterSwitchNs(); }
  SwitchCosts(const SwitchCosts&) = delete;
  SwitchCosts& operator=(const SwitchCosts&) = delete;

  SourceChoice Start(SourceKind kind, EventKind event, Backend** started = nullptr,
                     const ProcessorTiming* processor = nullptr) {
    backend_ = MakeBackend(kind, 0);
    BackendConfig config;
    config.event = event;
    config.processor = processor;
    BackendChoice choice;
    const Status status = backend_->Start(config, 0, &choice);
    INFO(status.message());
    REQUIRE(status.ok());
    if (started != nullptr) {
      *started = backend_.get();
      return choice.sources.front();
    }
    backend_->Disable();
    backend_->Close();
    return choice.sources.front();
  }

 private:
  PerfStandIn pmu_;
  std::unique_ptr<Backend> backend_;
};

constexpr uint64_t kDearNs = 50'000;

PerfStandIn::Answer PmuWithoutStacks() {
  return Pmu([](const perf_event_attr& attr) { return HasStack(attr) ? EOPNOTSUPP : 0; });
}

TEST_CASE(
    "a counter that makes context switches longer is not taken by default, and a note says so") {
  const SourceKind kind = GENERATE(SourceKind::kEbs, SourceKind::kSwbt);
  SwitchCosts machine(kDearNs, PmuWithoutStacks());
  const SourceChoice choice = machine.Start(kind, EventKind::kAuto);
  CAPTURE(choice.note);
  CHECK(choice.event == EventKind::kTaskClock);
  CHECK((choice.burst_extent == BurstExtent::kEvents) == (kind == SourceKind::kSwbt));
  CHECK(choice.note.find("makes each context switch ") != std::string::npos);
  CHECK(choice.note.find(" longer here, so the default is task-clock") != std::string::npos);
}

TEST_CASE("a counter that was asked for is taken, with a note of its cost") {
  const SourceKind kind = GENERATE(SourceKind::kEbs, SourceKind::kSwbt);
  SwitchCosts machine(kDearNs, PmuWithoutStacks());
  const SourceChoice choice = machine.Start(kind, EventKind::kInstructions);
  CAPTURE(choice.note);
  CHECK(choice.event == EventKind::kInstructions);
  CHECK(choice.note.find(" longer here; -e task-clock costs less") != std::string::npos);
}

TEST_CASE("a counter that costs nothing is the default") {
  const SourceKind kind = GENERATE(SourceKind::kEbs, SourceKind::kSwbt);
  SwitchCosts machine(0, PmuWithoutStacks());
  const SourceChoice choice = machine.Start(kind, EventKind::kAuto);
  CAPTURE(choice.note);
  CHECK(choice.event == EventKind::kInstructions);
  CHECK(choice.note.find("context switch") == std::string::npos);
}

TEST_CASE("the doctor says what a counter adds to a context switch, and what follows") {
  const auto detail = [] {
    for (const Capability& capability : ProbeCapabilities()) {
      if (std::string(capability.name) == "hardware_instructions") return capability.detail;
    }
    return std::string();
  };
  {
    SwitchCosts machine(kDearNs, WholePmu());
    CHECK(detail().find(" us longer here, so the default is task-clock") != std::string::npos);
  }
  SwitchCosts machine(0, WholePmu());
  CHECK(detail().find("makes each context switch ") != std::string::npos);
  CHECK(detail().find("default") == std::string::npos);
}

TEST_CASE("what switches cost is measured once, and as it is") {
  SwitchCosts machine(kDearNs, PmuWithoutStacks());
  const std::optional<uint64_t> switch_ns = CounterSwitchNs();
  REQUIRE(switch_ns);
  CHECK(*switch_ns > kDearNs * 9 / 10);
  CHECK(CounterSwitchNs() == switch_ns);
}

TEST_CASE("without a counter nothing is measured") {
  SwitchCosts machine(0, Pmu([](const perf_event_attr&) { return ENOENT; }));
  CHECK_FALSE(CounterSwitchNs());
}

TEST_CASE("context switches are counted at what they cost") {
  const SourceKind kind = GENERATE(SourceKind::kEbs, SourceKind::kSwbt);
  const EventKind event = GENERATE(EventKind::kInstructions, EventKind::kTaskClock);
  const double page_fault_ns = GENERATE(0, 5'000);
  CAPTURE(page_fault_ns);
  ProcessorTiming processor;
  processor.page_fault_ns = page_fault_ns;
  SwitchCosts machine(kDearNs, PmuWithoutStacks());
  Backend* backend = nullptr;
  machine.Start(kind, event, &backend, &processor);
  constexpr int kSleeps = 40;
  for (int i = 0; i < kSleeps; ++i) ::usleep(100);
  const uint64_t spent_ns = backend->SwitchingNs();
  backend->Disable();
  backend->Close();
  if (event == EventKind::kInstructions) {
    CHECK(spent_ns >= kSleeps * kDearNs * 9 / 10);
  } else if (kind == SourceKind::kSwbt) {
    CHECK(ClockSwitchNs(5'000) > 4 * ClockSwitchNs(0));
    CHECK(spent_ns >= kSleeps * ClockSwitchNs(page_fault_ns));
  } else {
    CHECK(spent_ns == 0);
  }
}

// Is a thread that sleeps kSleeps times after Sleep was called, and then waits for its end.
class Sleeper {
 public:
  static constexpr int kSleeps = 50;

  Sleeper()
      : thread_([this] {
          tid_ = ::gettid();
          tid_.notify_one();
          stage_.wait(0);
          for (int i = 0; i < kSleeps; ++i) ::usleep(100);
          stage_ = 2;
          stage_.notify_one();
          stage_.wait(2);
        }) {
    tid_.wait(0);
  }
  ~Sleeper() {
    SetStage(3);
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t tid() const { return tid_; }
  void Sleep() {
    SetStage(1);
    stage_.wait(1);
  }

 private:
  void SetStage(int stage) {
    stage_ = stage;
    stage_.notify_one();
  }

  std::atomic<pid_t> tid_{0};
  std::atomic<int> stage_{0};
  std::thread thread_;
};

TEST_CASE("switches of the worker are not counted, those of others are") {
  Sleeper sleeper;
  SwitchCost cost;
  cost.Begin(0, {}, ::gettid(), 1);
  sleeper.Sleep();
  constexpr uint64_t kMany = 100 * Sleeper::kSleeps;
  for (uint64_t i = 0; i < kMany; ++i) ::usleep(1);
  const uint64_t spent_ns = cost.SpentNs();
  CHECK(spent_ns >= Sleeper::kSleeps);
  CHECK(spent_ns < kMany);
}

TEST_CASE("switches of chosen threads are counted") {
  Sleeper sleeper;
  SwitchCost cost;
  cost.Begin(0, {sleeper.tid()}, 0, 1000);
  for (int i = 0; i < 100; ++i) ::usleep(1);
  sleeper.Sleep();
  // Switches of threads are counted only every 50 ms.
  ::usleep(60'000);
  const uint64_t spent_ns = cost.SpentNs();
  CHECK(spent_ns % 1000 == 0);
  CHECK(spent_ns >= 1000 * Sleeper::kSleeps);
}

// A whole session ---------------------------------------------------------------------------------

extern "C" void HardwareTestLoop();
asm(R"(
  .text
  .globl HardwareTestLoop
  .type HardwareTestLoop, @function
HardwareTestLoop:
  mov $10, %ecx
1:
  dec %ecx
  jnz 1b
  ret
  .size HardwareTestLoop, . - HardwareTestLoop
)");

TEST_CASE("a session counts samples and stacks of the two sources, run after run") {
  PerfStandIn pmu(WholePmu());
  Session session(std::make_unique<PerfBackend>(SourceKind::kLbr, kSkylake), {});
  const auto start = reinterpret_cast<uint64_t>(&HardwareTestLoop);
  const uint64_t loop = start + 5, branch = loop + 2;
  for (int run = 1; run <= 2; ++run) {
    REQUIRE(session.Start().ok());
    const auto events = pmu.events();
    // The last events are those of this run.
    const auto last = [&events](bool has_stack) {
      return *std::find_if(events.rbegin(), events.rend(), [has_stack](const auto& event) {
        return event.ring != 0 && HasStack(event.attr) == has_stack;
      });
    };
    Play ips(&pmu, last(false)), stacks(&pmu, last(true));
    for (int i = 0; i < 10; ++i) REQUIRE(ips.Sample(loop));
    for (int i = 0; i < 4; ++i) {
      REQUIRE(stacks.Stack(std::vector<BranchEntry>(5, Branch(branch, loop))));
    }
    REQUIRE(session.Stop().ok());
    const ProfileData data = session.Snapshot();
    REQUIRE(data.sources.size() == 2);
    CHECK(data.sources[0].kind == SourceKind::kEbs);
    CHECK(data.sources[0].precise_ip == 3);
    CHECK(data.sources[1].kind == SourceKind::kLbr);
    CHECK(data.sources[1].event_name == "BR_INST_RETIRED.NEAR_TAKEN:u");
    REQUIRE(data.counts.size() == 1);
    CHECK(data.counts[0].source == 0);
    CHECK(data.counts[0].samples == 10u * static_cast<unsigned>(run));
    // There is one with the stream that follows it, and the last branch of each stack.
    REQUIRE(data.branches.size() == 2);
    double weights = 0;
    uint64_t number = 0, oldest = 0;
    double oldest_expected = 0;
    for (const BranchCount& count : data.branches) {
      CHECK(count.source == 1);
      oldest += count.oldest;
      oldest_expected += count.oldest_expected;
      weights += count.weights;
      number += count.number;
    }
    CHECK(number == 20u * static_cast<unsigned>(run));
    // One of five equal entries is the oldest.
    CHECK(oldest == 4u * static_cast<unsigned>(run));
    CHECK(oldest_expected == Approx(4.0 * run));
    CHECK(std::abs(weights - 4.0 * run * 1'000'037) < 1);
    CHECK(session.Info().samples == 14u * static_cast<unsigned>(run));
  }
}

}  // namespace
}  // namespace hbbp
