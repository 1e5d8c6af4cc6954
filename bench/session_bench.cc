// Measures the cost of a session through the C ABI: from its creation to its end if it does not
// sample (time, and CPU time of the process including the worker), and what glibc's malloc takes
// while it runs.
#include <benchmark/benchmark.h>
#include <hbbp/hbbp.h>

#include <array>
#include <cstdlib>

namespace {

void BM_WholeSession(benchmark::State& state) {
  for (auto _ : state) {
    HBBP_INIT(hbbp_session_options, options);
    HBBP_INIT(hbbp_error, error);
    options.source = static_cast<hbbp_source_kind>(state.range(0));
    hbbp_session* session = nullptr;
    hbbp_profile* profile = nullptr;
    if (hbbp_session_create(&options, &session, &error) != HBBP_OK ||
        hbbp_session_start(session, &error) != HBBP_OK ||
        hbbp_session_stop(session, &error) != HBBP_OK ||
        hbbp_session_snapshot(session, nullptr, &profile, &error) != HBBP_OK) {
      state.SkipWithError(error.message);
    }
    hbbp_profile_destroy(profile);
    hbbp_session_destroy(session);
  }
}
BENCHMARK(BM_WholeSession)
    ->ArgName("source")
    ->Arg(HBBP_SOURCE_EBS)
    ->Arg(HBBP_SOURCE_SWBT)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// Once the process has had a second thread, glibc takes its longer paths for ever: it must be asked
// for by itself (--benchmark_filter).
enum MallocSession { kNone, kDrainedByHost, kWithWorker };

void BM_Malloc(benchmark::State& state) {
  constexpr int kDrainEach = 4096;
  HBBP_INIT(hbbp_session_options, options);
  HBBP_INIT(hbbp_error, error);
  options.source = HBBP_SOURCE_EBS;
  options.drained_by_host = state.range(0) == kDrainedByHost ? 1 : 0;
  hbbp_session* session = nullptr;
  if (state.range(0) != kNone && (hbbp_session_create(&options, &session, &error) != HBBP_OK ||
                                  hbbp_session_start(session, &error) != HBBP_OK)) {
    state.SkipWithError(error.message);
  }
  // Blocks of this size are not kept in the caches of threads.
  constexpr size_t kBytes = 1100;
  std::array<void*, 64> blocks{};
  int until_drain = kDrainEach;
  for (auto _ : state) {
    for (void*& block : blocks) benchmark::DoNotOptimize(block = std::malloc(kBytes));
    for (void* block : blocks) std::free(block);
    if (options.drained_by_host != 0 && --until_drain == 0) {
      until_drain = kDrainEach;
      hbbp_session_drain(session, nullptr, nullptr);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(blocks.size()));
  hbbp_session_destroy(session);
}
BENCHMARK(BM_Malloc)->ArgName("session")->Arg(kNone)->Arg(kDrainedByHost)->Arg(kWithWorker);

}  // namespace
