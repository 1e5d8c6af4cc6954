// TicksOfWidth measures how many instructions a cycle the processor executes at most, at the moment
// and for the thread that calls it. What else runs on the same core takes a part of its width, but
// leaves the latency of instructions as it is.
//
//   On a rented machine with two threads a core, a loop of nops ran at 7.2 instructions a cycle in
//   one second, and at 4 in the next.
//
// Contract: async-signal-safe. GuardedTicks says what must catch faults.
#ifndef HBBP_LIB_TRACE_INTERPRETER_EXECUTION_WIDTH_H_
#define HBBP_LIB_TRACE_INTERPRETER_EXECUTION_WIDTH_H_

#include <cstdint>

#include "base/independent_code.h"

namespace hbbp::trace {

inline constexpr uint64_t kInstructionsOfWidth = 40 * kIndependentInstructions;

// Returns how many ticks of the time stamp counter it takes to execute kInstructionsOfWidth, those
// of reading the counter included; 0 if the thread may not read it. It takes some 300 ns.
uint16_t TicksOfWidth();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_EXECUTION_WIDTH_H_
