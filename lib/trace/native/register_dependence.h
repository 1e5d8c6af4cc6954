// What Zydis does not tell about operands: results that do not depend on them, and dependences
// that are not operands.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_
#define HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_

#include <cstdint>

#include "trace/native/full_decode.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

struct Dependence {
  uint32_t ignored_operands = 0;  // bit i: whatever operand i holds, the results are the same
  RegisterSet also_reads = 0;
  RegisterSet also_writes = 0;
};
Dependence DependenceOf(const FullDecode& decode);

// Are there operand values with which flags that it writes stay as they are?
bool MayKeepFlags(const FullDecode& decode);

bool MayRaiseSse(const FullDecode& decode);

// Besides those that may raise exceptions: rounding or denormals-are-zero changes the results.
bool DependsOnMxcsr(const ZydisDecodedInstruction& instruction);

// Must the address of the memory operand be a multiple of its size?
bool NeedsAlignment(const ZydisDecodedInstruction& instruction, unsigned bytes);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_
