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

std::vector<TakenBranch> BranchesBetween(uint64_t addresses, size_t count) {
  std::vector<TakenBranch> branches;
  uint64_t random = 1;
  const auto next_address = [&] {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return kTextStart + (random >> 33) % addresses * (kTextBytes / addresses);
  };
  for (size_t i = 0; i < count; ++i) branches.push_back({next_address(), {}});
  for (size_t i = 0; i + 1 < branches.size(); ++i) branches[i].to = branches[i + 1].from;
  return branches;
}

constexpr size_t kBurstBranches = 64;

void CountBursts(std::span<const TakenBranch> branches, Recorder* recorder) {
  uint64_t time_ns = 0;
  for (size_t i = 0; i + kBurstBranches <= branches.size(); i += kBurstBranches) {
    BurstSample burst;
    burst.pid = burst.tid = 1;
    burst.time_ns = ++time_ns;
    burst.period = 100;
    burst.branches = branches.subspan(i, kBurstBranches);
    recorder->OnBurst(burst);
  }
  recorder->Commit(time_ns);
}

void BM_CountBurst(benchmark::State& state) {
  SyntheticRun run(1);
  const std::vector<TakenBranch> branches =
      BranchesBetween(static_cast<uint64_t>(state.range(0)), 256 * kBurstBranches);
  for (auto _ : state) CountBursts(branches, &run.recorder());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(branches.size()));
}
BENCHMARK(BM_CountBurst)->Arg(100)->Arg(10'000)->Arg(1'000'000);

// Between two snapshots a tenth of all branches is counted again.
void BM_SnapshotOfBranches(benchmark::State& state) {
  SyntheticRun run(1);
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<TakenBranch> branches = BranchesBetween(1'000'000, count);
  CountBursts(branches, &run.recorder());
  for (auto _ : state) {
    CountBursts(std::span(branches).first(count / 10), &run.recorder());
    benchmark::DoNotOptimize(run.recorder().Snapshot());
  }
}
BENCHMARK(BM_SnapshotOfBranches)->Arg(4'096)->Arg(65'536);

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
