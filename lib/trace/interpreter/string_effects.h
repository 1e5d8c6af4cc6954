// Finds the effects of string instructions with unknown inputs.
//
// Contract: async-signal-safe; for dispatch.cc.
#ifndef HBBP_LIB_TRACE_INTERPRETER_STRING_EFFECTS_H_
#define HBBP_LIB_TRACE_INTERPRETER_STRING_EFFECTS_H_

#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {

struct StringOutcome {
  bool must_stop;
  StopReason reason;
  RegisterSet unknown;  // those of rcx, rsi and rdi that are unknown
};

StringOutcome PassUnknownString(const MicroOp* op, Interpreter* m);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_STRING_EFFECTS_H_
