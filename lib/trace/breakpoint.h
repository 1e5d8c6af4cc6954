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

  // For a thread that ended: what it left, or -1. Only where the table of the program's descriptors
  // is may it be given to CloseDescriptor.
  int TakeDescriptor();
  static void CloseDescriptor(int descriptor);

  // After fork, in the child: another thread may have been moving a descriptor.
  static void ForgetInChild();

  bool armed() const { return descriptor_plus_one_ != 0; }
  uint64_t address() const { return address_; }

 private:
  int Open(uint64_t address, uint64_t signal_data, int signal);

  int descriptor_plus_one_;
  uint64_t address_;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BREAKPOINT_H_
