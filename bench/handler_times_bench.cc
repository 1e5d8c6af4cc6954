// Measures the cost of HandlerTimes: recording in a handler, and a look-up by the worker for a
// sample.
#include <benchmark/benchmark.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>
#include <memory>

#include "base/raw_syscall.h"
#include "trace/handler_times.h"

namespace hbbp::trace {
namespace {

uint64_t NowNs() {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void BM_HandlerSaysItsTime(benchmark::State& state) {
  const auto times = std::make_unique<HandlerTimes>();
  for (auto _ : state) {
    times->Begin(NowNs());
    times->End(NowNs());
  }
}
BENCHMARK(BM_HandlerSaysItsTime);

void BM_WorkerAsksForASample(benchmark::State& state) {
  const auto times = std::make_unique<HandlerTimes>();
  const auto handlers = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 1; i <= handlers; ++i) {
    times->Begin(1000 * i);
    times->End(1000 * i + 8);
  }
  uint64_t time_ns = 0;
  for (auto _ : state) {
    time_ns = (time_ns + 7919) % (1000 * handlers);
    benchmark::DoNotOptimize(times->Contain(time_ns));
  }
}
BENCHMARK(BM_WorkerAsksForASample)->Arg(50)->Arg(HandlerTimes::kKept);

}  // namespace
}  // namespace hbbp::trace
