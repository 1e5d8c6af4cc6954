// Describes what Zydis does not know about operands: results that do not depend on them, and
// dependences that are not operands.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_
#define HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_

#include <cstdint>

#include "trace/native/full_decode.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

struct Dependence {
  uint32_t ignored_operands = 0;  // bit i is set if the results do not depend on operand i
  RegisterSet also_reads = 0;
  RegisterSet also_writes = 0;
};
Dependence DependenceOf(const FullDecode& decode);

// Returns whether the instruction may keep flags that it writes, depending on its operands.
bool MayKeepFlags(const FullDecode& decode);

bool MayRaiseSse(const FullDecode& decode);

// Returns whether rounding or denormals-are-zero changes the results of an instruction that raises
// no exceptions.
bool DependsOnMxcsr(const ZydisDecodedInstruction& instruction);

// Returns whether the address of the memory operand must be a multiple of its size.
bool NeedsAlignment(const ZydisDecodedInstruction& instruction, unsigned bytes);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_REGISTER_DEPENDENCE_H_
