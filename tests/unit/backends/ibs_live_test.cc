// Tests live sessions of IBS on a stand-in for the PMU, into whose rings registers are played.
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/perf_backend.h"
#include "events/ibs_level.h"
#include "profile/ibs_buckets.h"
#include "session/session.h"
#include "support/catch.h"
#include "support/ibs_pmu.h"
#include "support/perf_stand_in.h"

namespace hbbp {
namespace {

BackendConfig Config(const char* event, PeriodMode mode = PeriodMode::kPrime) {
  BackendConfig config;
  config.event_name = event;
  config.period_mode = mode;
  return config;
}

bool Play(PerfStandIn* pmu, uint32_t type, uint64_t ip, std::vector<uint8_t> raw) {
  const uint64_t period = FindIbsEvent(*pmu, type).attr.sample_period;
  return Play(IbsPlay{type, ip, std::move(raw), period}, pmu);
}

std::vector<uint8_t> Raw(const std::vector<uint64_t>& registers) {
  std::vector<uint8_t> bytes(sizeof(uint32_t) + registers.size() * sizeof(uint64_t));
  std::memcpy(bytes.data() + sizeof(uint32_t), registers.data(),
              registers.size() * sizeof(uint64_t));
  return bytes;
}

asm(R"(
  .text
  .globl IbsLiveTestCode
  .type IbsLiveTestCode, @function
IbsLiveTestCode:
  mov (%rsp), %rax
  mov (%rsp), %rcx
  ret
  .size IbsLiveTestCode, . - IbsLiveTestCode
)");

uint64_t CodeAddress() { return reinterpret_cast<uint64_t>(&IbsLiveTestCode); }

constexpr uint64_t kLoadThatMissed = uint64_t{300} << 32 | 1 << 17 | 0x80 | 1;

std::map<std::string, uint64_t> FindCounters(const ProfileData& data, size_t source) {
  std::map<std::string, uint64_t> counters;
  for (const auto& [name, value] : data.sources.at(source).trace.counters) counters[name] = value;
  return counters;
}

uint64_t FindOffset(const ProfileData& data, const char* event, uint32_t source) {
  for (const IbsCount& count : data.ibs_counts) {
    if (data.ibs_names[count.name] == event && count.source == source) return count.offset;
  }
  return 0;
}

TEST_CASE("a live op is of the instruction that its registers name, and has what they say") {
  PerfStandIn pmu(AnswerOfIbs());
  Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, CpuWithIbs()), {});
  REQUIRE(session.Start().ok());
  const uint64_t op = CodeAddress(), later = op + 4;
  REQUIRE(Play(&pmu, kIbsOpType, later, Raw({0, op, 0, 3, kLoadThatMissed, 0x7040, 0})));
  REQUIRE(session.Stop().ok());
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].kind == SourceKind::kIbs);
  CHECK(data.sources[0].period_mode == PeriodMode::kRandom);
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].offset == FindOffset(data, "op-nb-local-dram", 0));
  const auto counters = FindCounters(data, 0);
  CHECK(counters.at("op-loads") == 1);
  CHECK(counters.at("op-dc-load-miss-cycles") == 300);
  REQUIRE(data.ibs_lines.size() == 1);
  CHECK(data.ibs_lines[0].address == 0x7040);
  CHECK(data.ibs_lines[0].miss_cycles == 300);
  const IbsCount& load = data.ibs_buckets.at(0);
  CHECK(data.ibs_names[load.name] == "load");
  CHECK(load.offset == data.counts[0].offset);
  CHECK(load.level == static_cast<uint32_t>(IbsLevel::kLocalDram));
  CHECK(load.bucket == IbsBucketOf(300));

  // The address is that of the sample where the registers say that theirs is invalid.
  constexpr uint64_t kIpIsInvalid = uint64_t{1} << 38;
  REQUIRE(session.Start().ok());
  REQUIRE(Play(&pmu, kIbsOpType, later, Raw({0, op, kIpIsInvalid, 3, kLoadThatMissed, 0, 0})));
  REQUIRE(Play(&pmu, kIbsOpType, later, {1, 2, 3}));
  REQUIRE(session.Stop().ok());
  const ProfileData both = session.Snapshot();
  REQUIRE(both.counts.size() == 2);
  CHECK(both.counts[1].offset == both.counts[0].offset + 4);
  CHECK(both.counts[1].samples == 2);
  CHECK(FindCounters(both, 0).at("undecodable-ibs-samples") == 1);
}

TEST_CASE("ops and fetches are sources of one session") {
  PerfStandIn pmu(AnswerOfIbs());
  SessionSettings settings;
  settings.backend = Config("ibs_op,ibs_fetch");
  Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, CpuWithIbs()), settings);
  REQUIRE(session.Start().ok());
  const uint64_t code = CodeAddress();
  constexpr uint64_t kCompleteFetch = uint64_t{1} << 50 | uint64_t{77} << 32;
  REQUIRE(Play(&pmu, kIbsOpType, code, Raw({0, code, 0, 0, 1, 0, 0})));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(Play(&pmu, kIbsFetchType, code, Raw({kCompleteFetch, code + 8, 0})));
  }
  REQUIRE(session.Stop().ok());
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[0].event == EventKind::kUops);
  CHECK(data.sources[1].kind == SourceKind::kIbs);
  CHECK(data.sources[1].event == EventKind::kOther);
  CHECK(data.sources[1].event_name == "ibs_fetch/rand_en=1/");
  CHECK(FindCounters(data, 0).at("op-loads") == 1);
  CHECK(FindCounters(data, 1).at("fetch-latency-cycles") == 3 * 77);
  CHECK(!FindCounters(data, 0).contains("fetch-samples"));
  CHECK(FindOffset(data, "fetch-completed", 1) == FindOffset(data, "op-loads", 0) + 8);
}

TEST_CASE("a session of fetches needs no PMU of ops, and says which is missing") {
  CpuEvents amd = CpuWithIbs();
  amd.ibs_op_type = 0;
  PerfStandIn pmu(AnswerOfIbs());
  CHECK(PlanIbs(Config("ibs_fetch"), amd).ok());
  CHECK(PlanIbs({}, amd).status().message().starts_with("no PMU ibs_op in sysfs"));
  amd = CpuWithIbs();
  amd.ibs_fetch_type = 0;
  CHECK(PlanIbs(Config("ibs_op,ibs_fetch"), amd)
            .status()
            .message()
            .starts_with("no PMU ibs_fetch in sysfs"));
}

TEST_CASE("the low bits of periods are drawn, or what asks for others is refused") {
  constexpr uint64_t kDrawLowBits = uint64_t{1} << 57;
  PerfStandIn pmu(AnswerOfIbs());
  const auto fetches = [](PeriodMode mode) {
    const auto plan = PlanIbs(Config("ibs_fetch", mode), CpuWithIbs());
    REQUIRE(plan.ok());
    return plan->events.at(0);
  };
  for (const PeriodMode mode : {PeriodMode::kPrime, PeriodMode::kRandom}) {
    CHECK(fetches(mode).variants.at(0).attr.config == kDrawLowBits);
    CHECK(fetches(mode).choice.period_mode == PeriodMode::kRandom);
  }
  CHECK(fetches(PeriodMode::kFixed).variants.at(0).attr.config == 0);
  CHECK(fetches(PeriodMode::kFixed).choice.period_mode == PeriodMode::kFixed);

  const Status fixed_ops = PlanIbs(Config("ibs_op", PeriodMode::kFixed), CpuWithIbs()).status();
  CHECK(fixed_ops.code() == StatusCode::kInvalidArgument);
  CHECK(fixed_ops.message().find("lowest 7 bits") != std::string::npos);
}

TEST_CASE("random periods of IBS are redrawn, each of which the PMU can count") {
  PerfStandIn pmu(AnswerOfIbs());
  PerfBackend backend(SourceKind::kIbs, CpuWithIbs());
  BackendChoice choice;
  BackendConfig config = Config("ibs_op,ibs_fetch", PeriodMode::kRandom);
  config.period = 160'000;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  for (const uint32_t type : {kIbsOpType, kIbsFetchType}) {
    const uint64_t first = FindIbsEvent(pmu, type).period;
    bool has_changed = false;
    EventSink ignored;
    for (int i = 0; i < 20; ++i) {
      IbsPlay sample;
      sample.type = type;
      REQUIRE(Play(sample, &pmu));
      backend.Drain(&ignored);
      const uint64_t period = FindIbsEvent(pmu, type).period;
      CHECK(period % 16 == 0);
      has_changed |= period != first;
    }
    CHECK(has_changed);
  }
  backend.Close();
}

}  // namespace
}  // namespace hbbp
