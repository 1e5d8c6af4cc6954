#include "trace/breakpoint.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/raw_syscall.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kBreakOnExecution = 4;  // HW_BREAKPOINT_X
constexpr uint64_t kExecutionLength = sizeof(long);

perf_event_attr MakeAttr(uint64_t address, uint64_t signal_data, int signal) {
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

// Makes each hit send `signal` to the calling thread.
int SendSignalAtHits(long descriptor, int signal) {
  f_owner_ex owner = {F_OWNER_TID, static_cast<pid_t>(RawSyscall(SYS_gettid))};
  long result = RawSyscall(SYS_fcntl, descriptor, F_SETOWN_EX, &owner);
  if (result == 0) result = RawSyscall(SYS_fcntl, descriptor, F_SETSIG, signal);
  if (result == 0) result = RawSyscall(SYS_fcntl, descriptor, F_SETFL, O_ASYNC);
  return static_cast<int>(-result);
}

constexpr rlim_t kRoomAboveLimit = 2048;  // one for each thread that may be traced
// A larger table of descriptors takes too much memory of the kernel, and programs do not fill it.
constexpr rlim_t kMaxTable = 4096;
constexpr rlim_t kMinTableToShare = 256;

// Only one thread at a time raises the limit, so that limit_before is never a raised one.
std::atomic<bool> limit_is_raised{false};
constinit rlimit limit_before = {};

long SetLimit(const rlimit& limit, rlimit* before) {
  constexpr long kThisProcess = 0;
  return RawSyscall(SYS_prlimit64, kThisProcess, RLIMIT_NOFILE, &limit, before);
}

bool IsSame(const rlimit& a, const rlimit& b) {
  return a.rlim_cur == b.rlim_cur && a.rlim_max == b.rlim_max;
}

long Duplicate(long descriptor, rlim_t lowest) {
  return RawSyscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, static_cast<long>(lowest));
}

// If another thread sets the limit meanwhile, its value remains.
long DuplicateAboveLimit(long descriptor, const rlimit& limit) {
  rlimit raised = {limit.rlim_cur + kRoomAboveLimit, limit.rlim_max};
  if (raised.rlim_max < raised.rlim_cur) raised.rlim_max = raised.rlim_cur;
  if (limit_is_raised.exchange(true, std::memory_order_acquire)) return -EBUSY;
  long duplicate = SetLimit(raised, &limit_before);
  if (duplicate == 0) {
    duplicate = Duplicate(descriptor, limit_before.rlim_cur);
    rlimit meanwhile = {};
    const bool was_changed = SetLimit(limit_before, &meanwhile) == 0 && !IsSame(meanwhile, raised);
    if (was_changed) SetLimit(meanwhile, nullptr);
  }
  limit_is_raised.store(false, std::memory_order_release);
  return duplicate;
}

long DuplicateHigh(long descriptor) {
  constexpr long kThisProcess = 0;
  rlimit limit = {};
  const long result = RawSyscall(SYS_prlimit64, kThisProcess, RLIMIT_NOFILE, nullptr, &limit);
  if (result != 0) return result;
  if (limit.rlim_cur > kMaxTable) return Duplicate(descriptor, kMaxTable / 2);
  const long duplicate = DuplicateAboveLimit(descriptor, limit);
  if (duplicate >= 0 || limit.rlim_cur < kMinTableToShare) return duplicate;
  return Duplicate(descriptor, limit.rlim_cur - limit.rlim_cur / 8);
}

// Returns false if the descriptor is no longer a perf event. A child of fork may have the event,
// too, so that it outlives its descriptor here.
bool Close(long descriptor) {
  if (RawSyscall(SYS_ioctl, descriptor, PERF_EVENT_IOC_DISABLE, 0) != 0) return false;
  RawSyscall(SYS_close, descriptor);
  return true;
}

// Returns 0 if it is another kind of file.
uint64_t EventOf(long descriptor) {
  uint64_t event = 0;
  RawSyscall(SYS_ioctl, descriptor, PERF_EVENT_IOC_ID, reinterpret_cast<long>(&event));
  return event;
}

}  // namespace

int Breakpoint::Arm(uint64_t address, uint64_t signal_data, int signal) {
  earlier_address_ = address_;
  address_ = address;
  if (!armed()) return Open(address, signal_data, signal);
  perf_event_attr attr = MakeAttr(address, signal_data, signal);
  const long result = RawSyscall(SYS_ioctl, descriptor_plus_one_ - 1,
                                 PERF_EVENT_IOC_MODIFY_ATTRIBUTES, reinterpret_cast<long>(&attr));
  if (result == 0) return 0;
  // The program may have closed the descriptor, and its number may be that of another file now. If
  // not, the breakpoint still has its old address and would be hit for ever.
  Disarm();
  return Open(address, signal_data, signal);
}

int Breakpoint::Open(uint64_t address, uint64_t signal_data, int signal) {
  constexpr long kThisThread = 0, kAnyCpu = -1, kNoGroup = -1;
  perf_event_attr attr = MakeAttr(address, signal_data, signal);
  const long opened = RawSyscall(SYS_perf_event_open, reinterpret_cast<long>(&attr), kThisThread,
                                 kAnyCpu, kNoGroup, PERF_FLAG_FD_CLOEXEC);
  if (opened < 0) return static_cast<int>(-opened);
  const long descriptor = DuplicateHigh(opened);
  RawSyscall(SYS_close, opened);
  if (descriptor < 0) return EMFILE;
  descriptor_plus_one_ = static_cast<int>(descriptor) + 1;
  event_ = EventOf(descriptor);
  return signal == 0 ? 0 : SendSignalAtHits(descriptor, signal);
}

void Breakpoint::Disarm() {
  if (!armed()) return;
  (void)CloseEvent(true);
  descriptor_plus_one_ = 0;
}

bool Breakpoint::DisarmFromOutside() {
  if (armed() && !CloseEvent(false)) return false;
  descriptor_plus_one_ = 0;
  return true;
}

bool Breakpoint::CloseEvent(bool is_same_table) const {
  const long descriptor = descriptor_plus_one_ - 1;
  const uint64_t found = EventOf(descriptor);
  // The kernel may not have said it, now or before.
  const bool is_known = found != 0 && event_ != 0;
  if (is_known ? found != event_ : !is_same_table) return false;
  return Close(descriptor);
}

int Breakpoint::TakeDescriptor() {
  const int descriptor = descriptor_plus_one_ - 1;
  descriptor_plus_one_ = 0;
  return descriptor;
}

void Breakpoint::ResetInChild() {
  if (limit_is_raised) SetLimit(limit_before, nullptr);
  limit_is_raised = false;
}

void DeferredDescriptors::Add(int descriptor) {
  for (std::atomic<int>& plus_one : plus_one_) {
    int none = 0;
    if (!plus_one.compare_exchange_strong(none, descriptor + 1)) continue;
    has_any_ = true;
    return;
  }
}

void DeferredDescriptors::CloseAll() {
  has_any_ = false;
  for (std::atomic<int>& plus_one : plus_one_) {
    const int descriptor_plus_one = plus_one.exchange(0);
    if (descriptor_plus_one != 0) (void)Close(descriptor_plus_one - 1);
  }
}

void DeferredDescriptors::ResetInChild() {
  for (std::atomic<int>& plus_one : plus_one_) plus_one = 0;
  has_any_ = false;
}

}  // namespace hbbp::trace
