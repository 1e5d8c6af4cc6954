// ProbeCapabilities runs one Probe function for each capability. Each tries what it is about,
// mostly by opening an event as a backend would, and turns the error into a state and advice.
#include "perf/capability_probe.h"

#include <linux/hw_breakpoint.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "perf/breakpoint_check.h"
#include "perf/perf_event.h"
#include "perf/switch_cost.h"

namespace hbbp {
namespace {

// This is the target of the breakpoint that is opened, disabled, and closed again.
void BreakpointTarget() {}

perf_event_attr UserOnly(uint32_t type, uint64_t config) {
  perf_event_attr attr = MakePerfEventAttr(type, config);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.disabled = 1;
  return attr;
}

perf_event_attr Sampled(uint32_t type, uint64_t config, uint64_t period) {
  perf_event_attr attr = UserOnly(type, config);
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP;
  return attr;
}

// Returns 0, or the errno of the attempt to open it on the calling thread.
int Try(const perf_event_attr& attr, int cpu = -1) {
  int fd = RawPerfEventOpen(attr, 0, cpu);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

CapabilityState StateOf(int error_number) {
  switch (error_number) {
    case 0:
      return CapabilityState::kSupported;
    case EACCES:
    case EPERM:
    case ENOSYS:
      return CapabilityState::kDenied;
    case EBUSY:
    case ENOSPC:
    case EMFILE:
      return CapabilityState::kUnknown;
    default:
      return CapabilityState::kMissing;
  }
}

Capability FromAttempt(const char* name, int error_number, std::string found, std::string advice) {
  Capability capability{name, StateOf(error_number), {}, {}};
  if (error_number == 0) {
    capability.detail = std::move(found);
    return capability;
  }
  const char* error_name = strerrorname_np(error_number);
  capability.detail =
      std::string("perf_event_open: ") + (error_name != nullptr ? error_name : "unknown error");
  if (capability.state == CapabilityState::kDenied) {
    capability.advice = PerfEventOpenStatus(error_number, name).message();
  } else if (error_number == EBUSY || error_number == ENOSPC) {
    capability.advice = "taken by another user, such as a debugger; try again without it";
  } else {
    capability.advice = std::move(advice);
  }
  return capability;
}

Capability ProbePerfEventOpen() {
  int error_number = Try(UserOnly(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY));
  std::optional<int> paranoid = PerfEventParanoid();
  utsname kernel;
  std::string release = ::uname(&kernel) == 0 ? kernel.release : "unknown";
  return FromAttempt("perf_event_open", error_number,
                     "Linux " + release + ", kernel.perf_event_paranoid " +
                         (paranoid ? std::to_string(*paranoid) : "unknown"),
                     "use a kernel with CONFIG_PERF_EVENTS");
}

Capability ProbeInstructions(std::string advice) {
  const int error_number = Try(Sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 10'000'000));
  std::string found = "instructions retired can be sampled";
  if (error_number == 0) {
    if (const std::optional<uint64_t> switch_ns = CounterSwitchNs()) {
      found += "; " + SwitchCostText(*switch_ns);
      if (*switch_ns > kMaxCheapSwitchNs) found += ", so the default is task-clock";
    }
  }
  return FromAttempt("hardware_instructions", error_number, std::move(found), std::move(advice));
}

Capability ProbePreciseInstructions() {
  const char* advice =
      "precise events need a PMU with PEBS or IBS; block counts rest on "
      "imprecise samples instead";
  int last_error = ENOENT;
  for (unsigned precise_ip = 3; precise_ip >= 1; --precise_ip) {
    perf_event_attr attr = Sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 10'000'000);
    attr.precise_ip = precise_ip;
    last_error = Try(attr);
    if (last_error == 0) {
      return FromAttempt("precise_instructions", 0, "precise_ip " + std::to_string(precise_ip), "");
    }
  }
  return FromAttempt("precise_instructions", last_error, "", advice);
}

Capability ProbeBranchStack() {
  perf_event_attr attr = Sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10'000'000);
  attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  return FromAttempt("branch_stack", Try(attr), "last branch records of user code",
                     "LBR (Intel) or LBRv2 (AMD Zen 4) must be given to the virtual machine, or "
                     "run on bare metal");
}

Capability ProbeIbs(const char* name) {
  StatusOr<std::string> type =
      ReadTextFile(std::string("/sys/bus/event_source/devices/") + name + "/type");
  if (!type.ok()) {
    return {name, CapabilityState::kMissing, "no such PMU in sysfs",
            "IBS needs an AMD processor, family 10h or newer, outside a virtual machine"};
  }
  perf_event_attr attr = MakePerfEventAttr(static_cast<uint32_t>(std::stoul(*type)), 0);
  attr.sample_period = 0x100000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW;
  attr.disabled = 1;
  return FromAttempt(name, Try(attr), "PMU type " + std::to_string(attr.type), "");
}

perf_event_attr BreakpointAttr() {
  perf_event_attr attr = UserOnly(PERF_TYPE_BREAKPOINT, 0);
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<uint64_t>(&BreakpointTarget);
  attr.bp_len = sizeof(long);
  attr.sample_period = 1;
  return attr;
}

Capability ProbeBreakpoint() {
  if (!BreakpointsAreHit()) {
    return {
        "breakpoint", CapabilityState::kMissing, kNeverHit,
        "branch tracing does with look-ahead alone; its modes breakpoint and verify need another "
        "machine"};
  }
  int count = 0;
  int last_error = 0;
  UniqueFd fds[16];
  for (UniqueFd& fd : fds) {
    fd = UniqueFd(RawPerfEventOpen(BreakpointAttr(), 0, -1));
    if (!fd.valid()) {
      last_error = errno;
      break;
    }
    ++count;
  }
  return FromAttempt("breakpoint", count > 0 ? 0 : last_error,
                     std::to_string(count) + " debug registers are free on this thread",
                     "software branch tracing needs debug registers");
}

Capability ProbeSigtrap() {
  perf_event_attr attr = BreakpointAttr();
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  return FromAttempt("sigtrap", Try(attr), "events can arrive as synchronous SIGTRAP",
                     "needs Linux 5.13 or newer");
}

Capability ProbeInheritThread() {
  perf_event_attr attr = Sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1'000'000'000);
  attr.inherit = 1;
  attr.inherit_thread = 1;
  return FromAttempt("inherit_thread", Try(attr, 0), "new threads are followed, new processes not",
                     "needs Linux 5.13 or newer; without it children made by fork are sampled "
                     "too, and their samples are dropped");
}

Capability ProbeKernelSampling() {
  perf_event_attr attr = Sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1'000'000'000);
  attr.exclude_kernel = 0;
  return FromAttempt("kernel_sampling", Try(attr), "kernel code can be sampled", "");
}

Capability ProbeSeccomp() {
  int mode = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  switch (mode) {
    case 0:
      return {"seccomp", CapabilityState::kSupported, "no filter", ""};
    case 2:
      return {"seccomp", CapabilityState::kUnknown, "a filter is active (prctl)",
              "if perf_event_open is denied above, allow it in the container's seccomp profile"};
    default:
      return {"seccomp", CapabilityState::kUnknown, "mode " + std::to_string(mode), ""};
  }
}

}  // namespace

std::vector<Capability> ProbeCapabilities() {
  const std::string pmu_advice =
      "this machine shows no PMU (most virtual machines); run on bare metal or enable the virtual "
      "PMU; until then time-based sampling is used";
  std::vector<Capability> capabilities;
  capabilities.push_back(ProbePerfEventOpen());
  capabilities.push_back(FromAttempt(
      "task_clock", Try(Sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1'000'000'000)),
      "time-based sampling of threads", ""));
  capabilities.push_back(FromAttempt(
      "cpu_clock", Try(Sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1'000'000'000)),
      "time-based sampling by the CPU's clock", ""));
  capabilities.push_back(ProbeInstructions(pmu_advice));
  capabilities.push_back(ProbePreciseInstructions());
  capabilities.push_back(ProbeBranchStack());
  capabilities.push_back(ProbeIbs("ibs_op"));
  capabilities.push_back(ProbeIbs("ibs_fetch"));
  capabilities.push_back(ProbeBreakpoint());
  capabilities.push_back(ProbeSigtrap());
  capabilities.push_back(ProbeInheritThread());
  capabilities.push_back(ProbeKernelSampling());
  capabilities.push_back(ProbeSeccomp());
  return capabilities;
}

}  // namespace hbbp
