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

perf_event_attr AttrOf(uint64_t address, uint64_t signal_data, int signal) {
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
  attr.wakeup_events = 1;
  if (signal != 0) return attr;
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  attr.sig_data = signal_data;
  return attr;
}

// Has the calling thread get `signal` at each hit.
int SendSignalOf(long descriptor, int signal) {
  f_owner_ex owner = {F_OWNER_TID, static_cast<pid_t>(RawSyscall(SYS_gettid))};
  long result = RawSyscall(SYS_fcntl, descriptor, F_SETOWN_EX, &owner);
  if (result == 0) result = RawSyscall(SYS_fcntl, descriptor, F_SETSIG, signal);
  if (result == 0) result = RawSyscall(SYS_fcntl, descriptor, F_SETFL, O_ASYNC);
  return static_cast<int>(-result);
}

}  // namespace

int Breakpoint::Arm(uint64_t address, uint64_t signal_data, int least_descriptor, int signal) {
  address_ = address;
  if (!armed()) return Open(address, signal_data, least_descriptor, signal);
  perf_event_attr attr = AttrOf(address, signal_data, signal);
  const long result = RawSyscall(SYS_ioctl, descriptor_plus_one_ - 1,
                                 PERF_EVENT_IOC_MODIFY_ATTRIBUTES, reinterpret_cast<long>(&attr));
  if (result == 0) return 0;
  // The program may have closed the descriptor, and the number may be that of a file of its own.
  descriptor_plus_one_ = 0;
  return Open(address, signal_data, least_descriptor, signal);
}

int Breakpoint::Open(uint64_t address, uint64_t signal_data, int least_descriptor, int signal) {
  constexpr long kThisThread = 0, kAnyCpu = -1, kNoGroup = -1;
  perf_event_attr attr = AttrOf(address, signal_data, signal);
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
  return signal == 0 ? 0 : SendSignalOf(descriptor, signal);
}

void Breakpoint::Disarm() {
  if (armed()) CloseDescriptor(TakeDescriptor());
}

int Breakpoint::TakeDescriptor() {
  const int descriptor = descriptor_plus_one_ - 1;
  descriptor_plus_one_ = 0;
  return descriptor;
}

void Breakpoint::CloseDescriptor(int descriptor) {
  // A descriptor that is no longer a perf event refuses the first.
  if (RawSyscall(SYS_ioctl, descriptor, PERF_EVENT_IOC_DISABLE, 0) == 0) {
    RawSyscall(SYS_close, descriptor);
  }
}

}  // namespace hbbp::trace
