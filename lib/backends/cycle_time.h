// MeasureCycleTime measures how long the processor takes for a cycle, and how that compares with
// the time stamp counter, which need not count at the same rate.
#ifndef HBBP_LIB_BACKENDS_CYCLE_TIME_H_
#define HBBP_LIB_BACKENDS_CYCLE_TIME_H_

namespace hbbp {

struct CycleTime {
  double ns_per_cycle = 0;
  double ns_per_tick = 0;  // of the time stamp counter
  // Where a hypervisor emulates it, reading the time stamp counter takes a microsecond or more, and
  // where the thread may not read it, SIGSEGV.
  bool may_read_ticks = false;
};

// Takes some 50 microseconds.
CycleTime MeasureCycleTime();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_CYCLE_TIME_H_
