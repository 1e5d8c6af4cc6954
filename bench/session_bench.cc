// Measures the cost of a session that does not sample, from its creation to its end, through the C
// ABI: time, and CPU time of the process including the worker.
#include <benchmark/benchmark.h>
#include <hbbp/hbbp.h>

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

}  // namespace
