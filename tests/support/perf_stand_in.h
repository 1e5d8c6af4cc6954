// PerfStandIn is a PMU for the calling process on machines without one.
//
// It interposes the functions syscall, ioctl and mmap of libc, so that the tested code runs
// unchanged. An event that it accepts is in truth a dummy event of the kernel, so threads and CPUs
// must exist; its ring is shared memory, into which a test writes records.
//
//   PerfStandIn pmu([](const perf_event_attr& attr) { return attr.precise_ip > 2 ? EOPNOTSUPP : 0;
//   });
//   ... open events ...
//   pmu.Write(pmu.events().front(), PerfRecordBuilder(type).Id(pmu.events().front().id).Sample());
#ifndef HBBP_TESTS_SUPPORT_PERF_STAND_IN_H_
#define HBBP_TESTS_SUPPORT_PERF_STAND_IN_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hbbp {

class PerfStandIn {
 public:
  // The kernel's answer to perf_event_open: 0, or an errno. Without one, the kernel is asked.
  using Answer = std::function<std::optional<int>(const perf_event_attr&)>;

  struct Event {
    perf_event_attr attr;
    pid_t tid = 0;
    int cpu = 0;
    uint64_t id = 0;
    bool is_enabled = true;
    uint64_t period = 0;
    uint64_t ring = 0;  // id of the event that its records go to; 0: none is mapped yet
    // Its ring was mapped for reading only, so the kernel would overwrite it.
    bool is_overwritten = false;
  };

  // Only one may exist at a time.
  explicit PerfStandIn(Answer answer);
  ~PerfStandIn();
  PerfStandIn(const PerfStandIn&) = delete;
  PerfStandIn& operator=(const PerfStandIn&) = delete;

  // Returns the events that were ever accepted, in order.
  std::vector<Event> events() const;
  // Returns all requests, whatever the answer was.
  std::vector<perf_event_attr> asked() const;

  // What read() returns of an event whose format is that of a count and its times.
  struct Count {
    uint64_t value, enabled_ns, running_ns;
  };
  void SetCount(const Event& event, Count count);

  // Sets the CPU time that enabling and disabling an event takes together, as if each access to the
  // PMU trapped to the hypervisor.
  void SetSwitchNs(uint64_t ns);

  // Behaves like the kernel: a record that does not fit is lost, and the next one that fits follows
  // a record with the number of lost ones. Returns false if it was lost.
  bool Write(const Event& event, std::span<const uint8_t> record);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PERF_STAND_IN_H_
