// Measures the cost of a sample of a hardware event in the worker that drains the ring, from record
// to count.
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/perf_backend.h"
#include "base/clock.h"
#include "collect/recorder.h"
#include "support/perf_record_builder.h"
#include "support/perf_stand_in.h"

namespace hbbp {
namespace {

constexpr uint64_t kTextStart = 0x7f0000000000;
constexpr uint64_t kTextBytes = 16 << 20;
constexpr size_t kBranches = 32;

class Run {
 public:
  Run() : pmu_([](const perf_event_attr&) { return 0; }) {
    const CpuEvents skylake = FindCpuEvents({"GenuineIntel", 6, 0x55}, "/nonexistent");
    backend_ = std::make_unique<PerfBackend>(SourceKind::kLbr, skylake);
    BackendConfig config;
    config.buffer_bytes = 8 << 20;
    BackendChoice choice;
    if (!backend_->Start(config, 0, &choice).ok()) return;
    std::vector<SourceRecord> sources(2);
    for (size_t i = 0; i < 2; ++i) sources[i].kind = choice.sources[i].kind;
    recorder_.AddSources(std::move(sources));
    MappingEvent text;
    text.start = {kTextStart};
    text.end = {kTextStart + kTextBytes};
    text.path = "/nonexistent/program";
    recorder_.OnMapping(text);
    for (const PerfStandIn::Event& event : pmu_.events()) {
      if (event.ring == 0) continue;
      const bool has_stack = (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
      (has_stack ? stacks_ : ips_) = event;
    }
  }
  ~Run() { backend_->Close(); }

  bool is_open() const { return ips_.ring != 0 && stacks_.ring != 0; }

  void WriteSample() { Write(ips_, Record(ips_).Ip(Address()).Sample()); }
  void WriteStack() {
    std::vector<BranchEntry> entries(kBranches);
    // The branches are those of a loop, like in real stacks.
    for (BranchEntry& entry : entries) {
      entry.to = Address() & ~uint64_t{0xfff};
      entry.from = entry.to + 40;
    }
    Write(stacks_, Record(stacks_).Branches(std::move(entries), 0, {}).Sample());
  }
  void Drain() {
    backend_->Drain(&recorder_);
    recorder_.Commit(UINT64_MAX);
  }

 private:
  PerfRecordBuilder Record(const PerfStandIn::Event& event) const {
    PerfRecordBuilder record(RecordFormat{.sample_type = event.attr.sample_type});
    record.Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
    record.Time(ClockNs(CLOCK_MONOTONIC)).Id(event.id).Period(event.attr.sample_period);
    return record;
  }
  void Write(const PerfStandIn::Event& event, const std::vector<uint8_t>& record) {
    pmu_.Write(event, record);
  }
  uint64_t Address() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return kTextStart + (state_ >> 33) % kTextBytes;
  }

  PerfStandIn pmu_;
  std::unique_ptr<PerfBackend> backend_;
  Recorder recorder_;
  PerfStandIn::Event ips_, stacks_;
  uint64_t state_ = 1;
};

constexpr int kBatch = 1000;

void BM_DrainSamples(benchmark::State& state) {
  Run run;
  if (!run.is_open()) return state.SkipWithError("perf events are not permitted");
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kBatch; ++i) run.WriteSample();
    state.ResumeTiming();
    run.Drain();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_DrainSamples);

void BM_DrainStacks(benchmark::State& state) {
  Run run;
  if (!run.is_open()) return state.SkipWithError("perf events are not permitted");
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kBatch; ++i) run.WriteStack();
    state.ResumeTiming();
    run.Drain();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_DrainStacks);

}  // namespace
}  // namespace hbbp
