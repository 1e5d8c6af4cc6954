// Traces branches of the test's own process in software, with a worker as in a session.
#ifndef HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_
#define HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/swbt.h"
#include "base/clock.h"
#include "perf/breakpoint_check.h"
#include "support/catch.h"
#include "trace/breakpoint.h"

namespace hbbp {

struct BranchSink : EventSink {
  std::vector<std::pair<uint32_t, std::vector<TakenBranch>>> bursts;  // by thread
  std::vector<std::vector<RecordedAccess>> accesses;                  // of bursts
  std::vector<uint64_t> burst_times_ns;
  std::vector<uint64_t> periods;
  TraceStatistics statistics;

  void OnSample(const IpSample&) override {}
  void OnMapping(MappingEvent) override {}
  void OnThreadName(uint32_t, uint32_t, const std::string&) override {}
  void OnLost(uint32_t, uint64_t) override {}
  void OnThrottled(uint32_t) override {}
  void OnBurst(const BurstSample& burst) override {
    bursts.emplace_back(burst.tid, std::vector(burst.branches.begin(), burst.branches.end()));
    accesses.emplace_back(burst.accesses.begin(), burst.accesses.end());
    burst_times_ns.push_back(burst.time_ns);
    periods.push_back(burst.period);
  }
  void OnTraceStatistics(uint32_t, const TraceStatistics& reported) override {
    statistics = reported;
  }

  // A burst that gaps divide has several parts.
  std::vector<uint64_t> PeriodsOfWholeBursts() const {
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> sums;
    for (size_t i = 0; i < bursts.size(); ++i) {
      sums[{burst_times_ns[i], bursts[i].first}] = periods[i];
    }
    std::vector<uint64_t> whole;
    for (const auto& [burst, period] : sums) whole.push_back(period);
    return whole;
  }

  uint64_t CounterOf(const std::string& name) const {
    for (const auto& [counter, value] : statistics.counters) {
      if (counter == name) return value;
    }
    return 0;
  }
  std::string Describe() const {
    std::string text = statistics.mode + ", " + statistics.method + ": bursts " +
                       std::to_string(statistics.bursts) + ", branches " +
                       std::to_string(statistics.taken_branches) + ", breakpoints " +
                       std::to_string(statistics.breakpoints);
    for (const auto& [name, value] : statistics.counters) {
      text += ", " + name + " " + std::to_string(value);
    }
    return text;
  }
};

inline void SleepMs(long milliseconds) {
  const timespec interval = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&interval, nullptr);
}

inline bool HasBreakpointsForTracing() {
  trace::Breakpoint breakpoint = {};
  const bool works = breakpoint.Arm(reinterpret_cast<uint64_t>(&HasBreakpointsForTracing), 0) == 0;
  breakpoint.Disarm();
  return works && BreakpointsAreHit();
}

inline std::vector<TraceMode> ModesOfThisMachine() {
  if (!HasBreakpointsForTracing()) return {TraceMode::kLookAhead};
  return {TraceMode::kLookAhead, TraceMode::kBreakpoint, TraceMode::kVerify};
}

enum class TracingMethod { kBest, kRealTimeSignals, kTimers };

inline BackendConfig BranchConfig(TraceMode mode, uint32_t burst = 0) {
  BackendConfig config;
  config.trace_mode = mode;
  config.burst_branches = burst;
  config.event = EventKind::kTaskClock;
  config.period = 500'000;
  return config;
}

// Runs `work` in the calling thread, and meanwhile `drain` repeatedly in a worker, once more after
// the end.
inline void RunTraced(SwbtBackend* backend, const BackendConfig& config, BackendChoice* choice,
                      const std::function<void()>& once_started, const std::function<void()>& drain,
                      const std::function<void()>& work) {
  std::atomic<bool> started{false}, done{false};
  Status status;
  std::thread worker([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    status = backend->Start(config, ::gettid(), choice);
    if (status.ok()) once_started();
    started = true;
    if (!status.ok()) return;
    while (!done) drain();
    backend->Disable();
    drain();
    backend->Close();
  });
  while (!started) SleepMs(1);
  if (status.ok()) work();
  done = true;
  worker.join();
  INFO(status.message());
  CHECK(status.ok());
}

inline void TraceBranchesInto(
    BranchSink* sink, const BackendConfig& config, const std::function<void()>& work,
    const std::function<void()>& once_started = [] {},
    TracingMethod method = TracingMethod::kBest) {
  SwbtBackend backend;
  if (method == TracingMethod::kTimers) backend.PreferTimers();
  if (method == TracingMethod::kRealTimeSignals) backend.PreferRealTimeSignals();
  BackendChoice choice;
  const auto drain = [&] {
    SleepMs(5);
    backend.Drain(sink);
  };
  RunTraced(&backend, config, &choice, once_started, drain, work);
}

inline BranchSink TraceBranches(
    const BackendConfig& config, const std::function<void()>& work,
    const std::function<void()>& once_started = [] {},
    TracingMethod method = TracingMethod::kBest) {
  BranchSink sink;
  TraceBranchesInto(&sink, config, work, once_started, method);
  return sink;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_
