// Measures bytes per second of reading recordings, from a file in the page cache.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "perf/perf_event.h"
#include "perf_data/perf_data_reader.h"
#include "support/perf_data_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr size_t kRecordingBytes = 64 << 20;
constexpr size_t kRoundBytes = 1 << 20;
constexpr uint64_t kCpus = 8;

struct Sum : PerfDataVisitor {
  void OnSample(const PerfEvent&, const SampleRecord& sample) override {
    sum += sample.ip;
    for (size_t i = 0; i < sample.branches.size(); ++i) sum += sample.branches[i].to;
    ++samples;
  }
  uint64_t sum = 0;
  uint64_t samples = 0;
};

perf_event_attr Attr(size_t branches) {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
  if (branches != 0) attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  attr.sample_id_all = 1;
  return attr;
}

// Returns a recording of two events with as many ids as there are CPUs, whose samples come CPU by
// CPU in each round.
std::vector<uint8_t> MakeRecording(size_t branches) {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(branches);
  data.AddEvent(attr, {0, 1, 2, 3, 4, 5, 6, 7}).AddEvent(attr, {8, 9, 10, 11, 12, 13, 14, 15});
  const std::vector<BranchEntry> stack(branches, {.from = 0x401000, .to = 0x402000});
  for (uint64_t round = 0; data.DataBytes() < kRecordingBytes; ++round) {
    const size_t end = data.DataBytes() + kRoundBytes;
    for (uint64_t i = 0; data.DataBytes() < end; ++i) {
      const uint64_t cpu = i / 2048 % kCpus;
      const uint64_t time = (round << 32) + (i % 2048) * 1000 + cpu + 1;
      PerfRecordBuilder sample(data.MakeRecordFormat(attr));
      sample.Id(i % 2 * kCpus + cpu).Ip(0x401000 + i).Pid(1).Tid(2).Time(time).Period(1);
      data.Add(sample.Branches(stack, 0, {}).Sample());
    }
    data.FinishRound();
  }
  return data.File();
}

void ReadRecording(benchmark::State& state, size_t branches, PerfDataOptions::Order order) {
  const TemporaryFolder directory;
  const std::string path = directory.File("perf.data");
  const std::vector<uint8_t> recording = MakeRecording(branches);
  if (!WriteFileAtomically(path, recording).ok()) {
    state.SkipWithError("no room for a temporary file");
    return;
  }
  PerfDataOptions options;
  options.order = order;
  Sum sum;
  for (auto _ : state) {
    auto reader = PerfDataReader::Open(path);
    if (!reader.ok() || !(*reader)->Read(&sum, options).ok()) {
      state.SkipWithError("the recording cannot be read");
      return;
    }
  }
  benchmark::DoNotOptimize(sum.sum);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * recording.size()));
  state.SetItemsProcessed(static_cast<int64_t>(sum.samples));
}

void BM_ReadAsWritten(benchmark::State& state) {
  ReadRecording(state, static_cast<size_t>(state.range(0)), PerfDataOptions::Order::kAsWritten);
}
BENCHMARK(BM_ReadAsWritten)->ArgName("branches")->Arg(0)->Arg(32)->Unit(benchmark::kMillisecond);

void BM_ReadByTime(benchmark::State& state) {
  ReadRecording(state, static_cast<size_t>(state.range(0)), PerfDataOptions::Order::kByTime);
}
BENCHMARK(BM_ReadByTime)->ArgName("branches")->Arg(0)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hbbp
