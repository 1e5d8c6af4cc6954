#include "backends/branch_tracing_probe.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "backends/thread_sampler.h"
#include "perf/breakpoint_check.h"
#include "perf/perf_event.h"
#include "trace/breakpoint.h"
#include "trace/native/native_stub.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000'000;

std::string NameOfErrno(int error_number) {
  const char* name = strerrorname_np(error_number);
  return name != nullptr ? name : std::to_string(error_number);
}

int TryToOpen(const perf_event_attr& attr) {
  const UniqueFd event(RawPerfEventOpen(attr, 0, -1));
  return event.valid() ? 0 : errno;
}

// No one calls this function; its address is that of the breakpoint.
void BreakpointTarget() {}

int TryBreakpoint() {
  trace::Breakpoint breakpoint = {};
  constexpr uint64_t kUnusedSignalData = 0;
  const int error_number =
      breakpoint.Arm(reinterpret_cast<uint64_t>(&BreakpointTarget), kUnusedSignalData);
  breakpoint.Disarm();
  return error_number;
}

Capability ProbeTimers() {
  const StatusOr<ThreadSampler> timer =
      ThreadSampler::OpenTimer(kPeriodNs, kPeriodNs, ::gettid(), 0);
  if (timer.ok()) {
    return {"thread_timers", CapabilityState::kSupported, "CPU-time timers of threads", ""};
  }
  return {"thread_timers", CapabilityState::kDenied, timer.status().message(),
          "allow timer_create, and more pending signals (ulimit -i)"};
}

Capability ProbeStubs() {
  constexpr size_t kBytes = 64 * 1024;
  trace::NativeRegion* region = trace::NativeRegion::Create(kBytes);
  if (region == nullptr) {
    return {"native_stubs", CapabilityState::kDenied,
            "this process may not have executable memory of its own",
            "vector and floating-point instructions without a handler will cost breakpoints; see "
            "vm.memfd_noexec, SELinux execmem, or the limit of file sizes (ulimit -f)"};
  }
  trace::NativeRegion::Destroy(region);
  return {"native_stubs", CapabilityState::kSupported,
          "a memfd mapped twice, never writable and executable at one address", ""};
}

Capability ProbeMethod(const Capability& timers) {
  static constexpr char kName[] = "branch_tracing";
  perf_event_attr attr = MakeSigtrapAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, kPeriodNs);
  attr.disabled = 1;
  int error_number = TryToOpen(attr);
  if (error_number == EINVAL || error_number == E2BIG) {
    attr.sigtrap = 0;
    attr.remove_on_exec = 0;
    error_number = TryToOpen(attr);
    if (error_number == 0) {
      return {kName, CapabilityState::kSupported,
              "perf events with real-time signals, and breakpoints",
              "Linux 5.13 or newer gives synchronous signals (sigtrap)"};
    }
  }
  if (error_number == 0 && !BreakpointsAreHit()) {
    return {kName, CapabilityState::kSupported,
            std::string("perf events with sigtrap and look-ahead alone; ") + kNeverHit,
            "without breakpoints bursts end at what look-ahead does not know"};
  }
  if (error_number == 0) {
    const int no_breakpoint = TryBreakpoint();
    if (no_breakpoint == 0) {
      return {kName, CapabilityState::kSupported, "perf events with sigtrap, and breakpoints", ""};
    }
    return {
        kName, CapabilityState::kSupported,
        "perf events with sigtrap and look-ahead alone; breakpoints: " + NameOfErrno(no_breakpoint),
        "the debug registers are taken, by a debugger perhaps; without them bursts end at "
        "what look-ahead does not know"};
  }
  const std::string why = "perf_event_open: " + NameOfErrno(error_number);
  if (timers.state != CapabilityState::kSupported) {
    return {kName, CapabilityState::kDenied, why + "; no timers either", timers.advice};
  }
  return {kName, CapabilityState::kSupported, "timers and look-ahead alone, no breakpoints; " + why,
          PerfEventOpenStatus(error_number, "task-clock").message()};
}

}  // namespace

std::vector<Capability> ProbeBranchTracing() {
  const Capability timers = ProbeTimers();
  return {ProbeMethod(timers), timers, ProbeStubs()};
}

}  // namespace hbbp
