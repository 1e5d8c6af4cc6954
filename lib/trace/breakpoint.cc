#include "trace/breakpoint.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "trace/raw_syscall.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kBreakOnExecution = 4;  // HW_BREAKPOINT_X
constexpr uint64_t kExecutionLength = sizeof(long);

perf_event_attr AttrOf(uint64_t address, uint64_t signal_data) {
  perf_event_attr attr;
  __builtin_memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = kBreakOnExecution;
  attr.bp_addr = address;
  attr.bp_len = kExecutionLength;
  attr.sample_period = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  attr.sig_data = signal_data;
  return attr;
}

}  // namespace

int Breakpoint::Arm(uint64_t address, uint64_t signal_data, int least_descriptor) {
  address_ = address;
  if (!armed()) return Open(address, signal_data, least_descriptor);
  perf_event_attr attr = AttrOf(address, signal_data);
  const long result = RawSyscall(SYS_ioctl, descriptor_plus_one_ - 1,
                                 PERF_EVENT_IOC_MODIFY_ATTRIBUTES, reinterpret_cast<long>(&attr));
  if (result == 0) return 0;
  // The program may have closed the descriptor, and the number may be that of a file of its own.
  descriptor_plus_one_ = 0;
  return Open(address, signal_data, least_descriptor);
}

int Breakpoint::Open(uint64_t address, uint64_t signal_data, int least_descriptor) {
  constexpr long kThisThread = 0, kAnyCpu = -1, kNoGroup = -1;
  perf_event_attr attr = AttrOf(address, signal_data);
  const long opened = RawSyscall(SYS_perf_event_open, reinterpret_cast<long>(&attr), kThisThread,
                                 kAnyCpu, kNoGroup, PERF_FLAG_FD_CLOEXEC);
  if (opened < 0) return static_cast<int>(-opened);
  long descriptor = opened;
  if (opened < least_descriptor) {
    const long moved = RawSyscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, least_descriptor);
    if (moved >= 0) {
      RawSyscall(SYS_close, opened);
      descriptor = moved;
    }
  }
  descriptor_plus_one_ = static_cast<int>(descriptor) + 1;
  return 0;
}

void Breakpoint::Disarm() {
  if (!armed()) return;
  // A descriptor that is no longer a perf event refuses this.
  if (RawSyscall(SYS_ioctl, descriptor_plus_one_ - 1, PERF_EVENT_IOC_DISABLE, 0) == 0) {
    RawSyscall(SYS_close, descriptor_plus_one_ - 1);
  }
  descriptor_plus_one_ = 0;
}

}  // namespace hbbp::trace
