// One execution breakpoint of the calling thread, in a debug register.
//
// It is opened when a burst first needs one and closed when the burst ends, so that the program has
// no descriptor more than before between bursts: opening takes 2 us, closing 1 us, a hit about 12.
//
// Its descriptor is in the table of the program, which must neither see another number than before
// nor run out of them. So it is moved above the soft limit of the process, which is raised for that
// moment; of a limit above 4,096, to 2,048 or above. Where another thread does so already, or the
// hard limit forbids that, it is moved to the upper end of a table of 256 or more, and a smaller
// one is left alone. While it moves, for a microsecond, the lowest free number is taken: other
// threads may see that.
//
// Contract: async-signal-safe; used by one thread only, whose hits it is for.
#ifndef HBBP_LIB_TRACE_BREAKPOINT_H_
#define HBBP_LIB_TRACE_BREAKPOINT_H_

#include <atomic>
#include <cstdint>

namespace hbbp::trace {

// All zero is the valid initial state.
class Breakpoint {
 public:
  // Arms it at `address`; a hit is a synchronous SIGTRAP with `signal_data` in si_perf_data, or, if
  // `signal` is not 0, that signal. Moves it if it is armed. 0 or an errno (ENOSPC: the debug
  // registers are taken by others; EMFILE: the program may need every descriptor that there is).
  int Arm(uint64_t address, uint64_t signal_data, int signal = 0);

  void Disarm();

  // For a thread that ended: its descriptor, or -1. See DeferredDescriptors.
  int TakeDescriptor();

  // After fork, in the child: another thread may have been moving a descriptor.
  static void ForgetInChild();

  bool armed() const { return descriptor_plus_one_ != 0; }
  uint64_t address() const { return address_; }

 private:
  int Open(uint64_t address, uint64_t signal_data, int signal);

  int descriptor_plus_one_;
  uint64_t address_;
};

// Descriptors of breakpoints whose threads have ended. Handlers close them, since only these are
// sure to have the table of descriptors that is the program's.
//
// Contract: Add is the worker's, CloseAll async-signal-safe; any time.
class DeferredDescriptors {
 public:
  // One for which there is no room stays open until the process ends.
  void Add(int descriptor);
  bool has_any() const { return has_any_.load(std::memory_order_relaxed); }
  void CloseAll();
  // After fork, in the child: they are the parent's.
  void ResetInChild();

 private:
  static constexpr int kMaxDescriptors = 16;

  std::atomic<int> plus_one_[kMaxDescriptors] = {};
  std::atomic<bool> has_any_{false};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BREAKPOINT_H_
