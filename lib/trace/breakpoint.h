// Breakpoint is one execution breakpoint of the calling thread, in a debug register.
//
// It is opened when a burst first needs one and closed when the burst ends, so that the program has
// no additional descriptor between bursts: opening takes 2 us, closing 1 us, a hit about 12.
//
// Its descriptor is in the table of the program, which must neither see other numbers than before
// nor run out of them. So it is moved above the soft limit of the process, which is raised for that
// moment; if the limit is above 4,096, the number is 2,048 or above. Where another thread is doing
// so, or the hard limit forbids it, the descriptor is moved to the upper end of a table of 256 or
// more; in a smaller table no breakpoint is opened. While the descriptor moves, for a microsecond,
// the lowest free number is taken, which other threads may see.
//
// Contract: async-signal-safe; only the thread that is to hit it uses it. Another one may call
// DisarmFromOutside while the thread is in none of its handlers.
#ifndef HBBP_LIB_TRACE_BREAKPOINT_H_
#define HBBP_LIB_TRACE_BREAKPOINT_H_

#include <atomic>
#include <cstdint>

namespace hbbp::trace {

// All zero is the valid initial state.
class Breakpoint {
 public:
  // Arms the breakpoint at `address`, or moves it there. A hit is a synchronous SIGTRAP with
  // `signal_data` in si_perf_data, or, if `signal` is not 0, that signal. Returns 0 or an errno:
  // ENOSPC if the debug registers are in use, EMFILE if the program may need every descriptor.
  int Arm(uint64_t address, uint64_t signal_data, int signal = 0);

  void Disarm();

  // Disarms the breakpoint of another thread, also of one that has ended. Returns false if it is
  // not in the table of descriptors of the caller.
  bool DisarmFromOutside();

  // Returns the descriptor of a thread that ended, or -1. See DeferredDescriptors.
  int TakeDescriptor();

  // Call it in the child after fork: another thread may have been moving a descriptor.
  static void ResetInChild();

  // For a thread or session that has not had it yet.
  void ResetAddresses() { address_ = earlier_address_ = 0; }

  bool armed() const { return descriptor_plus_one_ != 0; }
  uint64_t address() const { return address_; }
  // Returns whether it is there now, or was the last time before.
  bool WasAt(uint64_t address) const { return address == address_ || address == earlier_address_; }

 private:
  int Open(uint64_t address, uint64_t signal_data, int signal);
  // Returns false if the descriptor is not that of the event: the program may have closed it, and
  // its number may be that of another file.
  bool CloseEvent(bool is_same_table) const;

  int descriptor_plus_one_;
  uint64_t event_;  // by PERF_EVENT_IOC_ID; 0 if that failed
  uint64_t address_;
  uint64_t earlier_address_;
};

// DeferredDescriptors holds descriptors of breakpoints whose threads have ended, where the worker
// has a table of its own (under `hbbp record`). Handlers close them.
//
// Contract: the worker calls Add; CloseAll is async-signal-safe; both may be called at any time.
class DeferredDescriptors {
 public:
  // A descriptor that does not fit stays open until the process ends.
  void Add(int descriptor);
  bool has_any() const { return has_any_.load(std::memory_order_relaxed); }
  void CloseAll();
  // Call it in the child after fork: the descriptors are the parent's.
  void ResetInChild();

 private:
  static constexpr int kMaxDescriptors = 16;

  std::atomic<int> plus_one_[kMaxDescriptors] = {};
  std::atomic<bool> has_any_{false};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BREAKPOINT_H_
