// Describes what an instruction reads and writes, as far as Zydis knows it.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_INSTRUCTION_EFFECTS_H_
#define HBBP_LIB_TRACE_NATIVE_INSTRUCTION_EFFECTS_H_

#include <cstdint>

#include "trace/native/full_decode.h"
#include "trace/native/native_instruction.h"

namespace hbbp::trace {

// Fills in reads, writes, may_raise_sse and may_raise_x87.
void DescribeRegisters(const FullDecode& decode, NativeInstruction* native);

// Fills in the memory operand, if there is one. Returns false if it cannot be described.
bool DescribeMemory(const FullDecode& decode, uint64_t address, NativeInstruction* native);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_INSTRUCTION_EFFECTS_H_
