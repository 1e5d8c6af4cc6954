#include "perf/perf_event.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace hbbp {
namespace {

std::string PermissionAdvice() {
  std::optional<int> paranoid = PerfEventParanoid();
  if (!paranoid) return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
  if (*paranoid > 2) {
    return "kernel.perf_event_paranoid is " + std::to_string(*paranoid) +
           "; set it to 2 with sysctl, or grant CAP_PERFMON";
  }
  if (*paranoid == 2) {
    return "kernel.perf_event_paranoid is 2, which allows only user code of own processes; for "
           "kernel code set it to 1 with sysctl or grant CAP_PERFMON; in a container, the seccomp "
           "profile may refuse perf_event_open";
  }
  return "kernel.perf_event_paranoid is " + std::to_string(*paranoid) +
         " and not the cause; a seccomp profile or a security module refuses perf_event_open";
}

}  // namespace

perf_event_attr MakePerfEventAttr(uint32_t type, uint64_t config) {
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = type;
  attr.config = config;
  return attr;
}

int RawPerfEventOpen(const perf_event_attr& attr, pid_t tid, int cpu) {
  UniqueFd fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  (void)fd.MoveUp();
  return fd.Release();
}

StatusOr<UniqueFd> OpenPerfEvent(const perf_event_attr& attr, pid_t tid, int cpu,
                                 const std::string& event_name) {
  int fd = RawPerfEventOpen(attr, tid, cpu);
  if (fd < 0) return PerfEventOpenStatus(errno, event_name);
  return UniqueFd(fd);
}

// This works without /proc, and changes nothing of an event that a child shares with its parent.
bool IsPerfEvent(int fd) {
  uint64_t id = 0;
  return ::ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0;
}

Status PerfEventOpenStatus(int error_number, const std::string& event_name) {
  std::string what = "perf_event_open(" + event_name + ")";
  switch (error_number) {
    case EACCES:
    case EPERM:
      return MakeStatus(StatusCode::kPermission, "%s: %s; %s", what.c_str(),
                        error_number == EACCES ? "EACCES" : "EPERM", PermissionAdvice().c_str());
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case ENXIO:
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: %s; this machine has no such event (a VM without a PMU has only "
                        "events of the kernel, such as task-clock and page-faults)",
                        what.c_str(), strerrorname_np(error_number));
    case ENOSYS:
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: ENOSYS; the kernel or a seccomp profile has no perf_event_open",
                        what.c_str());
    case EMFILE:
    case ENFILE:
      return MakeStatus(StatusCode::kBusy, "%s: %s; out of file descriptors: raise ulimit -n",
                        what.c_str(), strerrorname_np(error_number));
    case EINVAL:
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: EINVAL; this kernel does not know an option of the event (Linux 5.13 "
                        "or newer knows all)",
                        what.c_str());
    default:
      return ErrnoStatus(error_number, what);
  }
}

Status CheckHappensInUserCode(uint32_t type, uint64_t config, const std::string& event_name) {
  constexpr uint64_t kCgroupSwitches = 11;  // since Linux 5.13
  if (type != PERF_TYPE_SOFTWARE) return OkStatus();
  switch (config) {
    case PERF_COUNT_SW_CONTEXT_SWITCHES:
    case PERF_COUNT_SW_CPU_MIGRATIONS:
    case PERF_COUNT_SW_DUMMY:
    case PERF_COUNT_SW_BPF_OUTPUT:
    case kCgroupSwitches:
      return MakeStatus(StatusCode::kUnsupported,
                        "event %s: it happens in the kernel only; sample instruction pointers "
                        "(EBS) of the kernel too (--kernel)",
                        event_name.c_str());
    default:
      return OkStatus();
  }
}

std::optional<int> PerfEventParanoid() {
  StatusOr<std::string> text = ReadTextFile("/proc/sys/kernel/perf_event_paranoid");
  if (!text.ok()) return std::nullopt;
  return std::atoi(text->c_str());
}

}  // namespace hbbp
