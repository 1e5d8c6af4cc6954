// ThreadSampler: sends a thread a signal each period of the CPU time (or events) that it uses.
//
// Three rungs. A perf event with `sigtrap` gives a synchronous SIGTRAP with the full context; it
// needs perf_event_open and Linux 5.13. Before that, a perf event sends a signal as any descriptor
// does (F_SETSIG). A POSIX timer on the thread's CPU clock needs no privilege;
// it is checked at the kernel's tick, and samples that fall in the kernel arrive behind the system
// call.
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
  // `attr` is that of the sampling event; its sig_data is replaced by `signal_data`.
  // If it does not ask for sigtrap, the thread gets `signal`. Errors: those of perf_event_open;
  // kNotFound if the thread has ended.
  static StatusOr<ThreadSampler> OpenEvent(perf_event_attr attr, pid_t tid, uint64_t signal_data,
                                           int signal);
  static StatusOr<ThreadSampler> OpenTimer(uint64_t period_ns, pid_t tid, uint64_t signal_data);

  ThreadSampler(ThreadSampler&& other) noexcept;
  ThreadSampler& operator=(ThreadSampler&& other) noexcept;
  ~ThreadSampler() { Close(); }

  // Threads that its thread starts get one like it.
  bool IsInherited() const { return is_inherited_; }
  bool HasEvent() const { return event_.valid(); }

  void SetPeriod(uint64_t period);
  void Stop();
  void Close();

  // After fork, in the child, which has inherited no timer; a descriptor is the parent's event.
  void ResetInChild();

 private:
  ThreadSampler() = default;

  UniqueFd event_;
  int timer_ = -1;
  bool is_inherited_ = false;
};

// The attr for ThreadSampler::OpenEvent: counts user code only, of the thread and of those that it
// starts.
perf_event_attr MakeSigtrapAttr(uint32_t type, uint64_t config, uint64_t period);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREAD_SAMPLER_H_
