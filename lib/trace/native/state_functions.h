// Instructions that do nothing but move parts of a MachineState: compiled functions do.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_
#define HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_

#include "trace/native/instruction_class.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

// nullptr if instructions of this class are run as themselves, or not at all.
void (*StateFunctionFor(InstructionClass kind))(MachineState*);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_STATE_FUNCTIONS_H_
