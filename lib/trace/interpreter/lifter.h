// LiftBlock translates the program's code to a block of micro-operations.
//
// Contract: async-signal-safe; runs on the stack of a LookAhead. Reads code only where it is
// readable.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_
#define HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_

#include "trace/interpreter/block_builder.h"

namespace hbbp::trace {

LiftResult LiftBlock(Interpreter* m, uint64_t ip, unsigned max_instructions);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_
