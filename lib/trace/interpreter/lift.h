// LiftBlock translates the program's code to a block of micro-operations.
//
// Contract: async-signal-safe; runs on the stack of a LookAhead. Reads code only where it is
// readable.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LIFT_H_
#define HBBP_LIB_TRACE_INTERPRETER_LIFT_H_

#include <cstddef>

#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {

struct LiftResult {
  Block* block;  // m->private_block, or nullptr if nothing can be executed at `ip`
  size_t bytes;
  StopReason reason;
};

LiftResult LiftBlock(Interpreter* m, uint64_t ip, unsigned max_instructions);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LIFT_H_
