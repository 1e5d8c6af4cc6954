// NativeInstruction describes what an instruction that runs natively does.
//
// Contract: plain data.
#ifndef HBBP_LIB_TRACE_NATIVE_NATIVE_INSTRUCTION_H_
#define HBBP_LIB_TRACE_NATIVE_NATIVE_INSTRUCTION_H_

#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

// NativeInstruction has the effects of one instruction, and code that executes it.
struct NativeInstruction {
  uint8_t length = 0;
  // The memory operand has the address gpr[base] + (gpr[index] << scale) + displacement + base of
  // segment. RIP-relative ones are resolved into displacement.
  bool has_memory = false;
  bool reads_memory = false;
  bool writes_memory = false;  // always all of memory_bytes
  uint8_t memory_bytes = 0;    // 1..64
  uint8_t alignment = 1;       // the alignment of the address that the instruction requires
  uint8_t base = kNoGpr;
  uint8_t index = kNoGpr;
  uint8_t scale = 0;
  uint8_t segment = 0;  // 0 none, 1 fs, 2 gs
  int64_t displacement = 0;
  // A partial write of a register (8 or 16 bits, legacy SSE) also reads it. Address registers are
  // not in `reads`. The sticky flags make kMxcsrBit part of both sets if may_raise_sse. VZEROUPPER
  // is described as reading and writing all of zmm0..15.
  RegisterSet reads = 0;
  RegisterSet writes = 0;
  // These may raise floating-point exceptions: run them only if MXCSR (or the x87 control word)
  // masks all.
  bool may_raise_sse = false;
  bool may_raise_x87 = false;
  // Executes the instruction on a state, whose vector part must be loaded if it reads or writes any
  // of kVectorStateBits; the addresses of the last x87 instruction are not kept. If it is nullptr,
  // the results cannot be computed and become unknown.
  void (*execute)(MachineState*) = nullptr;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_NATIVE_INSTRUCTION_H_
