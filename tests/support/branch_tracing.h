// TraceBranches: software branch tracing of the test's own process, with a worker as in a session.
#ifndef HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_
#define HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backends/swbt.h"
#include "support/catch.h"
#include "trace/breakpoint.h"

namespace hbbp {

struct BranchSink : SampleSink {
  std::vector<uint64_t> burst_times_ns;
  TraceStatistics statistics;

  void OnSample(const IpSample&) override {}
  void OnMapping(MappingEvent) override {}
  void OnThreadName(uint32_t, uint32_t, const std::string&) override {}
  void OnLost(uint64_t) override {}
  void OnThrottled() override {}
  void OnBurst(const BurstSample& burst) override { burst_times_ns.push_back(burst.time_ns); }
  void OnTraceStatistics(const TraceStatistics& told) override { statistics = told; }
};

inline void SleepMs(long milliseconds) {
  const timespec interval = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&interval, nullptr);
}

inline uint64_t ClockNs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline bool HasBreakpointsForTracing() {
  trace::Breakpoint breakpoint = {};
  const bool works =
      breakpoint.Arm(reinterpret_cast<uint64_t>(&HasBreakpointsForTracing), 0, 0) == 0;
  breakpoint.Disarm();
  return works;
}

inline std::vector<TraceMode> ModesOfThisMachine() {
  if (!HasBreakpointsForTracing()) return {TraceMode::kLookAhead};
  return {TraceMode::kLookAhead, TraceMode::kBreakpoint, TraceMode::kVerify};
}

inline BranchSink TraceBranches(
    TraceMode mode, const std::function<void()>& work,
    const std::function<void()>& once_started = [] {}) {
  BackendConfig config;
  config.trace_mode = mode;
  config.period = 500'000;
  SwbtBackend backend;
  BranchSink sink;
  std::atomic<bool> started{false}, done{false};
  Status status;
  std::thread worker([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    BackendChoice choice;
    status = backend.Start(config, ::gettid(), &choice);
    if (status.ok()) once_started();
    started = true;
    while (status.ok() && !done) {
      SleepMs(5);
      backend.Drain(&sink);
    }
    if (!status.ok()) return;
    backend.Disable();
    backend.Drain(&sink);
    backend.Close();
  });
  while (!started) SleepMs(1);
  if (status.ok()) work();
  done = true;
  worker.join();
  INFO(status.message());
  CHECK(status.ok());
  return sink;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_BRANCH_TRACING_H_
