// Measures the collection: the cost of a sample in the worker, and of a session in the process.
#include <benchmark/benchmark.h>

#include <memory>
#include <span>
#include <vector>

#include "backends/perf_backend.h"
#include "collect/recorder.h"
#include "profile/profile_file.h"
#include "session/session.h"

namespace hbbp {
namespace {

constexpr uint64_t kTextStart = 0x400000;
constexpr uint64_t kTextBytes = 16 << 20;

// Has a recorder that knows one large module, and samples spread over `addresses` of its addresses.
class SyntheticRun {
 public:
  explicit SyntheticRun(uint64_t addresses) : addresses_(addresses) {
    SourceRecord source;
    source.kind = SourceKind::kEbs;
    recorder_.AddSource(source);
    MappingEvent mapping;
    mapping.start = RuntimeAddress{kTextStart};
    mapping.end = RuntimeAddress{kTextStart + kTextBytes};
    mapping.path = "/nonexistent/program";
    recorder_.OnMapping(mapping);
  }

  void Add(uint64_t samples) {
    for (uint64_t i = 0; i < samples; ++i) {
      state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
      const uint64_t offset = (state_ >> 33) % addresses_ * (kTextBytes / addresses_);
      recorder_.OnSample({RuntimeAddress{kTextStart + offset}, 1, 1, ++time_, 4999999});
    }
    recorder_.Commit(time_);
  }

  Recorder& recorder() { return recorder_; }

 private:
  uint64_t addresses_;
  uint64_t state_ = 1;
  uint64_t time_ = 0;
  Recorder recorder_;
};

void BM_CountSample(benchmark::State& state) {
  SyntheticRun run(static_cast<uint64_t>(state.range(0)));
  constexpr uint64_t kBatch = 1000;
  for (auto _ : state) run.Add(kBatch);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}
BENCHMARK(BM_CountSample)->Arg(100)->Arg(10'000)->Arg(1'000'000);

// Bursts have 64 branches between random addresses.
void BM_CountBurst(benchmark::State& state) {
  SyntheticRun run(1);
  const auto addresses = static_cast<uint64_t>(state.range(0));
  constexpr size_t kBranches = 64;
  constexpr uint64_t kBatch = 256;
  std::vector<TakenBranch> branches;
  uint64_t random = 1;
  const auto next_address = [&] {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return kTextStart + (random >> 33) % addresses * (kTextBytes / addresses);
  };
  for (size_t i = 0; i < kBranches * kBatch; ++i) branches.push_back({next_address(), {}});
  for (size_t i = 0; i + 1 < branches.size(); ++i) branches[i].to = branches[i + 1].from;
  uint64_t time_ns = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < branches.size(); i += kBranches) {
      BurstSample burst;
      burst.pid = burst.tid = 1;
      burst.time_ns = ++time_ns;
      burst.period = 100;
      burst.branches = std::span<const TakenBranch>(branches).subspan(i, kBranches);
      run.recorder().OnBurst(burst);
    }
    run.recorder().Commit(time_ns);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(branches.size()));
}
BENCHMARK(BM_CountBurst)->Arg(100)->Arg(10'000)->Arg(1'000'000);

void BM_Snapshot(benchmark::State& state) {
  SyntheticRun run(static_cast<uint64_t>(state.range(0)));
  run.Add(static_cast<uint64_t>(state.range(0)) * 2);
  for (auto _ : state) benchmark::DoNotOptimize(run.recorder().Snapshot());
}
BENCHMARK(BM_Snapshot)->Arg(1'000)->Arg(100'000);

void BM_SerializeProfile(benchmark::State& state) {
  SyntheticRun run(100'000);
  run.Add(200'000);
  const ProfileData data = run.recorder().Snapshot();
  size_t bytes = 0;
  for (auto _ : state) bytes = SerializeProfile(data).size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(BM_SerializeProfile);

void BM_ParseProfile(benchmark::State& state) {
  SyntheticRun run(100'000);
  run.Add(200'000);
  const std::vector<uint8_t> bytes = SerializeProfile(run.recorder().Snapshot());
  for (auto _ : state) benchmark::DoNotOptimize(ParseProfile(bytes).ok());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_ParseProfile);

void BM_StartAndStopSession(benchmark::State& state) {
  BackendConfig config;
  config.event = EventKind::kTaskClock;
  SessionSettings settings;
  settings.backend = config;
  Session session(std::make_unique<PerfBackend>(SourceKind::kEbs), settings);
  for (auto _ : state) {
    if (!session.Start().ok() || !session.Stop().ok()) {
      state.SkipWithError("perf_event_open refused");
      break;
    }
  }
}
BENCHMARK(BM_StartAndStopSession)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hbbp
