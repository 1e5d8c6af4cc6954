// ThreadSampler sends a thread a signal in each period of its CPU time or of its events.
//
// There are three methods. A perf event with `sigtrap` sends a synchronous SIGTRAP with the full
// context; it needs perf_event_open and Linux 5.13. On older kernels, a perf event sends a signal
// as any descriptor does (F_SETSIG). A POSIX timer on the thread's CPU clock needs no privilege; it
// is checked at the kernel's tick, and samples in the kernel arrive after the system call.
#ifndef HBBP_LIB_BACKENDS_THREAD_SAMPLER_H_
#define HBBP_LIB_BACKENDS_THREAD_SAMPLER_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

class ThreadSampler {
 public:
  // `attr` is that of the sampling event; its sig_data is replaced by `signal_data`. If it does not
  // ask for sigtrap, the thread gets `signal`. Returns errors of perf_event_open, or kNotFound if
  // the thread has ended.
  static StatusOr<ThreadSampler> OpenEvent(perf_event_attr attr, pid_t tid, uint64_t signal_data,
                                           int signal);
  // The first period is `first_ns` long.
  static StatusOr<ThreadSampler> OpenTimer(uint64_t period_ns, uint64_t first_ns, pid_t tid,
                                           uint64_t signal_data);

  ThreadSampler(ThreadSampler&& other) noexcept;
  ThreadSampler& operator=(ThreadSampler&& other) noexcept;
  ~ThreadSampler() { Close(); }

  // Returns whether threads that its thread starts get one like it.
  bool IsInherited() const { return is_inherited_; }
  bool HasEvent() const { return event_.valid(); }

  // Has another event with sigtrap send signals to `tid`, the thread, and to threads that it starts
  // if they inherit its event, each `period`. Those that have started already get none any longer.
  // `attr` is as in OpenEvent.
  void DivideFirstPeriods(perf_event_attr attr, uint64_t period, pid_t tid);
  void EndFirstPeriods();

  void SetPeriod(uint64_t period);
  void Stop();
  void Close();

  // Closes the sampler in the child after a fork, which has inherited no timer, and whose
  // descriptor is that of the parent's event.
  void ResetInChild();

 private:
  ThreadSampler() = default;

  UniqueFd event_;
  UniqueFd first_event_;
  int timer_ = -1;
  bool is_inherited_ = false;
  uint64_t signal_data_ = 0;
};

// Returns the CPU time of a thread of this process, or 0 if it has ended.
uint64_t CpuNsOf(pid_t tid);

// Returns an attr for ThreadSampler::OpenEvent that counts user code only, of the thread and of
// those that it starts.
perf_event_attr MakeSigtrapAttr(uint32_t type, uint64_t config, uint64_t period);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREAD_SAMPLER_H_
