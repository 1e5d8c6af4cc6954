// MeasureProcessor measures how fast the processor is at what differs most between processors: its
// frequency, how many instructions and stores it executes in a cycle, what a value costs that goes
// through memory or between general and vector registers, operations of floating point and of
// vectors, repeated string instructions, locked ones and pauses.
// BurstTime computes with these.
#ifndef HBBP_LIB_BACKENDS_PROCESSOR_TIMING_H_
#define HBBP_LIB_BACKENDS_PROCESSOR_TIMING_H_

#include <cstdint>

#include "trace/interpreter/access_timing.h"

namespace hbbp {

// The defaults are those of most processors of the last ten years.
struct ProcessorTiming {
  double ns_per_cycle = 0.3;
  double ns_per_tick = 0.4;  // of the time stamp counter
  // Where a hypervisor emulates it, reading the time stamp counter takes a microsecond or more, and
  // where the thread may not read it, SIGSEGV.
  bool may_read_ticks = false;
  trace::AccessTiming accesses = {};  // if it may read ticks
  // What a hypervisor takes for a page fault, which a clock takes for time of the program; 0: less
  // than a microsecond. From outside, where the clock has the kernel's part as well, both.
  double page_fault_ns = 0;
  // The others are cycles, but for those in ns.
  double instructions_per_cycle = 6;
  double load = 5;  // from the address to the value, of the first cache
  // From a value that is stored to the same that is loaded into a general or a vector register.
  double forward = 5;
  double forward_vector = 6;
  double add = 3;  // of floating point
  double multiply = 4;
  double repeat = 30;        // what a repeated string instruction takes for few words
  double empty_repeat = 30;  // and for none
  double vector = 1;         // an operation on a vector of integers
  double add_x87 = 4;
  double transfer = 3;  // between a general and a vector register
  double locked = 18;   // a locked instruction, behind another one
  double pause = 50;
  double bit_scan = 3;
  double multiply_vector = 5;  // of integers
  double store = 0.7;          // between stores, if there are many
};

// All that is measured, but whether ticks may be read.
// Of instructions a cycle.
inline constexpr double kMinWidth = 3, kMaxWidth = 8;

inline constexpr double ProcessorTiming::*kTimingQuantities[] = {
    &ProcessorTiming::ns_per_cycle,   &ProcessorTiming::ns_per_tick,
    &ProcessorTiming::page_fault_ns,  &ProcessorTiming::instructions_per_cycle,
    &ProcessorTiming::load,           &ProcessorTiming::forward,
    &ProcessorTiming::forward_vector, &ProcessorTiming::add,
    &ProcessorTiming::multiply,       &ProcessorTiming::repeat,
    &ProcessorTiming::empty_repeat,   &ProcessorTiming::vector,
    &ProcessorTiming::add_x87,        &ProcessorTiming::transfer,
    &ProcessorTiming::locked,         &ProcessorTiming::pause,
    &ProcessorTiming::bit_scan,       &ProcessorTiming::multiply_vector,
    &ProcessorTiming::store};
inline constexpr uint16_t trace::AccessTiming::*kTimingTicks[] = {
    &trace::AccessTiming::hit, &trace::AccessTiming::min_miss, &trace::AccessTiming::max_miss,
    &trace::AccessTiming::page_walk};

// Takes up to 1,200 microseconds where page faults and system calls are slow.
ProcessorTiming MeasureProcessor();

// Returns the median of three measurements, quantity by quantity: what others do on the machine
// spoils one of a hundred.
ProcessorTiming MeasureProcessorWell();

// Returns what another process has measured, as far as the calling thread may use it.
ProcessorTiming UsableHere(ProcessorTiming measured);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_PROCESSOR_TIMING_H_
