// Tests live sessions of IBS on a stand-in for the PMU, into whose rings registers are played:
// synthetic ones, and those that were recorded on Zen 2 and Zen 4, which must count for what an
// import of the same recording counts.
#include <linux/perf_event.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/perf_backend.h"
#include "base/clock.h"
#include "collect/perf_import.h"
#include "events/ibs_level.h"
#include "perf_data/perf_data_reader.h"
#include "profile/ibs_buckets.h"
#include "session/session.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"
#include "support/perf_stand_in.h"
#include "unit/perf_data/recordings.h"

namespace hbbp {
namespace {

constexpr uint32_t kOpType = 11, kFetchType = 12;

CpuEvents Amd() {
  CpuEvents amd = FindCpuEvents({"AuthenticAMD", 0x19, 0x11}, "/nonexistent");
  amd.ibs_op_type = kOpType;
  amd.ibs_fetch_type = kFetchType;
  return amd;
}

PerfStandIn::Answer Ibs() {
  return [](const perf_event_attr& attr) -> std::optional<int> {
    if (attr.type != kOpType && attr.type != kFetchType) return std::nullopt;
    return attr.sample_period % 16 != 0 || attr.precise_ip != 0 ? EINVAL : 0;
  };
}

BackendConfig Config(const char* event, PeriodMode mode = PeriodMode::kPrime) {
  BackendConfig config;
  config.event_name = event;
  config.period_mode = mode;
  return config;
}

// Returns the last event of this thread that has a PMU's type; its ring may be that of another.
PerfStandIn::Event FindEvent(const PerfStandIn& pmu, uint32_t type) {
  const auto events = pmu.events();
  const auto found = std::find_if(events.rbegin(), events.rend(), [type](const auto& event) {
    return event.ring != 0 && event.tid == ::gettid() && event.attr.type == type;
  });
  REQUIRE(found != events.rend());
  return *found;
}

bool Play(PerfStandIn* pmu, uint32_t type, uint64_t ip, std::vector<uint8_t> raw) {
  const PerfStandIn::Event event = FindEvent(*pmu, type);
  PerfRecordBuilder record(RecordFormat{.sample_type = event.attr.sample_type});
  record.Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
  record.Time(ClockNs(CLOCK_MONOTONIC)).Id(event.id).Period(event.attr.sample_period);
  return pmu->Write(event, record.Ip(ip).Raw(std::move(raw)).Sample());
}

std::vector<uint8_t> Raw(const std::vector<uint64_t>& registers) {
  std::vector<uint8_t> bytes(sizeof(uint32_t) + registers.size() * sizeof(uint64_t));
  std::memcpy(bytes.data() + sizeof(uint32_t), registers.data(),
              registers.size() * sizeof(uint64_t));
  return bytes;
}

extern "C" void IbsLiveTestCode();
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
  PerfStandIn pmu(Ibs());
  Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, Amd()), {});
  REQUIRE(session.Start().ok());
  const uint64_t op = CodeAddress(), later = op + 4;
  REQUIRE(Play(&pmu, kOpType, later, Raw({0, op, 0, 3, kLoadThatMissed, 0x7040, 0})));
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
  REQUIRE(Play(&pmu, kOpType, later, Raw({0, op, kIpIsInvalid, 3, kLoadThatMissed, 0, 0})));
  REQUIRE(Play(&pmu, kOpType, later, {1, 2, 3}));
  REQUIRE(session.Stop().ok());
  const ProfileData both = session.Snapshot();
  REQUIRE(both.counts.size() == 2);
  CHECK(both.counts[1].offset == both.counts[0].offset + 4);
  CHECK(both.counts[1].samples == 2);
  CHECK(FindCounters(both, 0).at("undecodable-ibs-samples") == 1);
}

TEST_CASE("ops and fetches are sources of one session") {
  PerfStandIn pmu(Ibs());
  SessionSettings settings;
  settings.backend = Config("ibs_op,ibs_fetch");
  Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, Amd()), settings);
  REQUIRE(session.Start().ok());
  const uint64_t code = CodeAddress();
  constexpr uint64_t kCompleteFetch = uint64_t{1} << 50 | uint64_t{77} << 32;
  REQUIRE(Play(&pmu, kOpType, code, Raw({0, code, 0, 0, 1, 0, 0})));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(Play(&pmu, kFetchType, code, Raw({kCompleteFetch, code + 8, 0})));
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
  CpuEvents amd = Amd();
  amd.ibs_op_type = 0;
  PerfStandIn pmu(Ibs());
  CHECK(PlanIbs(Config("ibs_fetch"), amd).ok());
  CHECK(PlanIbs({}, amd).status().message().starts_with("no PMU ibs_op in sysfs"));
  amd = Amd();
  amd.ibs_fetch_type = 0;
  CHECK(PlanIbs(Config("ibs_op,ibs_fetch"), amd)
            .status()
            .message()
            .starts_with("no PMU ibs_fetch in sysfs"));
}

TEST_CASE("the low bits of periods are drawn, or what asks for others is refused") {
  constexpr uint64_t kDrawLowBits = uint64_t{1} << 57;
  PerfStandIn pmu(Ibs());
  const auto fetches = [](PeriodMode mode) {
    const auto plan = PlanIbs(Config("ibs_fetch", mode), Amd());
    REQUIRE(plan.ok());
    return plan->events.at(0);
  };
  for (const PeriodMode mode : {PeriodMode::kPrime, PeriodMode::kRandom}) {
    CHECK(fetches(mode).variants.at(0).attr.config == kDrawLowBits);
    CHECK(fetches(mode).choice.period_mode == PeriodMode::kRandom);
  }
  CHECK(fetches(PeriodMode::kFixed).variants.at(0).attr.config == 0);
  CHECK(fetches(PeriodMode::kFixed).choice.period_mode == PeriodMode::kFixed);

  const Status fixed_ops = PlanIbs(Config("ibs_op", PeriodMode::kFixed), Amd()).status();
  CHECK(fixed_ops.code() == StatusCode::kInvalidArgument);
  CHECK(fixed_ops.message().find("lowest 7 bits") != std::string::npos);
}

TEST_CASE("random periods of IBS are redrawn, each of which the PMU can count") {
  PerfStandIn pmu(Ibs());
  PerfBackend backend(SourceKind::kIbs, Amd());
  BackendChoice choice;
  BackendConfig config = Config("ibs_op,ibs_fetch", PeriodMode::kRandom);
  config.period = 160'000;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  for (const uint32_t type : {kOpType, kFetchType}) {
    const uint64_t first = FindEvent(pmu, type).period;
    bool has_changed = false;
    EventSink ignored;
    for (int i = 0; i < 20; ++i) {
      backend.Drain(&ignored);
      const uint64_t period = FindEvent(pmu, type).period;
      CHECK(period % 16 == 0);
      has_changed |= period != first;
    }
    CHECK(has_changed);
  }
  backend.Close();
}

// Plays the registers of a recording.
class Player : public PerfDataVisitor {
 public:
  explicit Player(PerfStandIn* pmu) : pmu_(pmu) {}

  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    const uint32_t type = event.name.starts_with("ibs_op") ? kOpType : kFetchType;
    REQUIRE(Play(pmu_, type, sample.ip, {sample.raw.begin(), sample.raw.end()}));
  }

 private:
  PerfStandIn* pmu_;
};

TEST_CASE("recorded registers count live for what they count imported") {
  for (const char* name : {"ibs/zen4_genoa.ibs.perf.data", "ibs/zen2_rome.ibs.perf.data"}) {
    const auto path = RecordingPath(name);
    if (!path) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
    PerfStandIn pmu(Ibs());
    SessionSettings settings;
    settings.backend = Config("ibs_op,ibs_fetch");
    settings.backend.include_kernel = true;
    Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, Amd()), settings);
    REQUIRE(session.Start().ok());
    Player player(&pmu);
    auto reader = PerfDataReader::Open(*path);
    REQUIRE(reader.ok());
    REQUIRE((*reader)->Read(&player).ok());
    REQUIRE(session.Stop().ok());
    const ProfileData live = session.Snapshot();
    const auto imported = ImportRecording(*path, {});
    REQUIRE(imported.ok());
    const auto sums = [](const ProfileData& data) {
      std::map<std::string, uint64_t> all;
      for (size_t i = 0; i < data.sources.size(); ++i) {
        for (const auto& [event, value] : FindCounters(data, i)) {
          if (event.starts_with("op-") || event.starts_with("fetch-")) all[event] += value;
        }
      }
      return all;
    };
    CHECK(sums(live).at("op-samples") == 1);
    CHECK(sums(live) == sums(*imported));
  }
}

}  // namespace
}  // namespace hbbp
