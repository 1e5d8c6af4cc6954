// Implements PerfStandIn. The functions syscall, ioctl, mmap and read at the end of the file
// replace those of libc; while a PerfStandIn exists, they call its Open, Control, Map and Read for
// perf events, and the kernel for everything else. Map creates the ring that the tested code reads,
// and Write appends the records of a test to it. The tests and the benchmark of the hardware
// backend use it.
#include "support/perf_stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "support/perf_record_builder.h"

namespace hbbp {
namespace {

// The functions of libc cannot be used, because they are interposed below.
long Kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  if (result > -4096 && result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

void* KernelMmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(Kernel(SYS_mmap, reinterpret_cast<long>(address),
                                        static_cast<long>(size), protection, flags, fd, offset));
}

constexpr size_t kPageBytes = 4096;

void SpinFor(uint64_t cpu_ns) {
  if (cpu_ns == 0) return;
  const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  while (ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns < cpu_ns) {
  }
}

// The shared memory of a ring, mapped here as well.
struct Ring {
  perf_event_mmap_page* page = nullptr;
  uint8_t* data = nullptr;
  size_t data_bytes = 0;
  size_t mapped_bytes = 0;
  uint64_t lost = 0;
};

}  // namespace

struct PerfStandIn::Impl {
  Answer answer;
  std::mutex mutex;
  std::vector<Event> events;
  std::vector<perf_event_attr> asked;
  std::map<uint64_t, Ring> rings;    // by event
  std::map<uint64_t, Count> counts;  // by event
  std::atomic<uint64_t> switch_ns{0};

  Event* Find(int fd) {
    uint64_t id = 0;
    if (Kernel(SYS_ioctl, fd, PERF_EVENT_IOC_ID, reinterpret_cast<long>(&id)) != 0) return nullptr;
    const auto found = std::find_if(events.begin(), events.end(),
                                    [id](const Event& event) { return event.id == id; });
    return found != events.end() ? &*found : nullptr;
  }

  std::optional<long> Open(const perf_event_attr& attr, pid_t tid, int cpu, long flags);
  std::optional<int> Control(int fd, unsigned long request, long argument);
  void* Map(int fd, size_t bytes, int protection);
  std::optional<long> Read(int fd, void* buffer, size_t bytes);
  static bool Append(Ring* ring, std::span<const uint8_t> record);
};

namespace {

std::atomic<PerfStandIn::Impl*> current{nullptr};

}  // namespace

PerfStandIn::PerfStandIn(Answer answer) : impl_(std::make_unique<Impl>()) {
  impl_->answer = std::move(answer);
  current = impl_.get();
}

PerfStandIn::~PerfStandIn() {
  current = nullptr;
  for (auto& [id, ring] : impl_->rings) ::munmap(ring.page, ring.mapped_bytes);
}

std::vector<PerfStandIn::Event> PerfStandIn::events() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->events;
}

std::vector<perf_event_attr> PerfStandIn::asked() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->asked;
}

void PerfStandIn::SetCount(const Event& event, Count count) {
  std::lock_guard lock(impl_->mutex);
  impl_->counts[event.id] = count;
}

void PerfStandIn::SetSwitchNs(uint64_t ns) { impl_->switch_ns = ns; }

std::optional<long> PerfStandIn::Impl::Open(const perf_event_attr& attr, pid_t tid, int cpu,
                                            long flags) {
  std::lock_guard lock(mutex);
  asked.push_back(attr);
  const std::optional<int> error_number = answer(attr);
  if (!error_number) return std::nullopt;
  if (*error_number != 0) {
    errno = *error_number;
    return -1;
  }
  perf_event_attr dummy;
  std::memset(&dummy, 0, sizeof(dummy));
  dummy.size = sizeof(dummy);
  dummy.type = PERF_TYPE_SOFTWARE;
  dummy.config = PERF_COUNT_SW_DUMMY;
  dummy.exclude_kernel = 1;
  const long fd = Kernel(SYS_perf_event_open, reinterpret_cast<long>(&dummy), tid, cpu, -1, flags);
  if (fd < 0) return fd;
  Event event;
  event.attr = attr;
  event.tid = tid;
  event.cpu = cpu;
  event.is_enabled = attr.disabled == 0;
  event.period = attr.sample_period;
  Kernel(SYS_ioctl, fd, PERF_EVENT_IOC_ID, reinterpret_cast<long>(&event.id));
  events.push_back(event);
  return fd;
}

std::optional<int> PerfStandIn::Impl::Control(int fd, unsigned long request, long argument) {
  std::lock_guard lock(mutex);
  Event* const event = Find(fd);
  if (event == nullptr) return std::nullopt;
  switch (request) {
    case PERF_EVENT_IOC_ENABLE:
    case PERF_EVENT_IOC_DISABLE:
      event->is_enabled = request == PERF_EVENT_IOC_ENABLE;
      SpinFor(switch_ns / 2);
      return 0;
    case PERF_EVENT_IOC_PERIOD:
      event->period = *reinterpret_cast<const uint64_t*>(argument);
      return 0;
    case PERF_EVENT_IOC_SET_OUTPUT: {
      const Event* const output = Find(static_cast<int>(argument));
      const bool may_be = output != nullptr && output->ring != 0 && output->cpu == event->cpu;
      if (!may_be) {
        errno = EINVAL;
        return -1;
      }
      event->ring = output->ring;
      return 0;
    }
    default:
      return std::nullopt;
  }
}

void* PerfStandIn::Impl::Map(int fd, size_t bytes, int protection) {
  std::lock_guard lock(mutex);
  Event* const event = Find(fd);
  if (event == nullptr) return nullptr;
  const size_t data_bytes = bytes - kPageBytes;
  if (bytes < 2 * kPageBytes || (data_bytes & (data_bytes - 1)) != 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  const int memory = ::memfd_create("ring", MFD_CLOEXEC);
  if (memory < 0 || ::ftruncate(memory, static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  Ring ring;
  void* const own = KernelMmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  void* const asked_for = KernelMmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  ::close(memory);
  ring.page = static_cast<perf_event_mmap_page*>(own);
  ring.data = static_cast<uint8_t*>(own) + kPageBytes;
  ring.data_bytes = data_bytes;
  ring.mapped_bytes = bytes;
  ring.page->data_offset = kPageBytes;
  ring.page->data_size = data_bytes;
  event->ring = event->id;
  event->is_overwritten = (protection & PROT_WRITE) == 0;
  rings[event->id] = ring;
  return asked_for;
}

std::optional<long> PerfStandIn::Impl::Read(int fd, void* buffer, size_t bytes) {
  std::lock_guard lock(mutex);
  const Event* const event = counts.empty() ? nullptr : Find(fd);
  const auto found = event == nullptr ? counts.end() : counts.find(event->id);
  if (found == counts.end() || bytes < sizeof(Count)) return std::nullopt;
  std::memcpy(buffer, &found->second, sizeof(Count));
  return sizeof(Count);
}

bool PerfStandIn::Impl::Append(Ring* ring, std::span<const uint8_t> record) {
  const uint64_t head = ring->page->data_head;
  const uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
  if (ring->data_bytes - (head - tail) < record.size()) return false;
  for (size_t i = 0; i < record.size(); ++i) {
    ring->data[(head + i) % ring->data_bytes] = record[i];
  }
  __atomic_store_n(&ring->page->data_head, head + record.size(), __ATOMIC_RELEASE);
  return true;
}

bool PerfStandIn::Write(const Event& event, std::span<const uint8_t> record) {
  std::lock_guard lock(impl_->mutex);
  const auto known = std::find_if(impl_->events.begin(), impl_->events.end(),
                                  [&](const Event& other) { return other.id == event.id; });
  if (known == impl_->events.end() || known->ring == 0) return false;
  Ring* const ring = &impl_->rings[known->ring];
  if (ring->lost != 0) {
    const std::vector<uint8_t> lost_record =
        PerfRecordBuilder(RecordFormat{.sample_type = event.attr.sample_type})
            .Id(event.id)
            .Lost(ring->lost);
    if (!Impl::Append(ring, lost_record)) {
      ++ring->lost;
      return false;
    }
    ring->lost = 0;
  }
  if (Impl::Append(ring, record)) return true;
  ++ring->lost;
  return false;
}

}  // namespace hbbp

// These interpose libc's functions. Everything that is not a perf event goes to the kernel.
extern "C" {

// Reading six arguments where there are fewer is an error to a sanitizer.
__attribute__((no_sanitize_address)) long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  hbbp::PerfStandIn::Impl* const stand_in = hbbp::current.load();
  if (number == SYS_perf_event_open && stand_in != nullptr) {
    const auto* attr = reinterpret_cast<const perf_event_attr*>(arguments[0]);
    const auto answer = stand_in->Open(*attr, static_cast<pid_t>(arguments[1]),
                                       static_cast<int>(arguments[2]), arguments[4]);
    if (answer) return *answer;
  }
  return hbbp::Kernel(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                      arguments[5]);
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  const long argument = va_arg(list, long);
  va_end(list);
  hbbp::PerfStandIn::Impl* const stand_in = hbbp::current.load();
  if (stand_in != nullptr) {
    if (const auto answer = stand_in->Control(fd, request, argument)) return *answer;
  }
  return static_cast<int>(hbbp::Kernel(SYS_ioctl, fd, static_cast<long>(request), argument));
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  hbbp::PerfStandIn::Impl* const stand_in = hbbp::current.load();
  if (stand_in != nullptr && fd >= 0) {
    if (void* const ring = stand_in->Map(fd, size, protection)) return ring;
  }
  return hbbp::KernelMmap(address, size, protection, flags, fd, offset);
}

ssize_t read(int fd, void* buffer, size_t bytes) {
  hbbp::PerfStandIn::Impl* const stand_in = hbbp::current.load();
  if (stand_in != nullptr) {
    if (const auto count = stand_in->Read(fd, buffer, bytes)) return *count;
  }
  return hbbp::Kernel(SYS_read, fd, reinterpret_cast<long>(buffer), static_cast<long>(bytes));
}

}  // extern "C"
