// Compiled functions execute instructions that only move parts of a MachineState.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_
#define HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_

#include "trace/native/instruction_class.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

// Returns nullptr if instructions of this class run natively, or not at all.
void (*StateFunctionFor(InstructionClass kind))(MachineState*);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_
