// FindLatency returns how many cycles an instruction takes from its inputs to its results, without
// loading them from memory. Current processors of Intel and AMD differ little in these (Fog,
// "Instruction tables"), but for operations of floating point and of vectors, which are measured.
#ifndef HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_
#define HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_

#include <cstdint>

#include "backends/processor_timing.h"
#include "isa/zydis_decode.h"

namespace hbbp {

uint8_t FindLatency(ZydisMnemonic mnemonic, const ProcessorTiming& processor);

// Returns for how many cycles nothing else enters the processor because of it: microcode executes
// it, or it has others wait.
uint16_t FindBlockingCycles(ZydisMnemonic mnemonic, const ProcessorTiming& processor);

// Returns whether it begins only when everything in front of it has finished.
bool WaitsForOthers(ZydisMnemonic mnemonic);

// Returns whether it moves a value between a general and a vector register, or a mask, if none of
// its operands is in memory.
bool IsTransfer(ZydisMnemonic mnemonic);

// Returns whether it occupies the divider, of which a processor has one.
bool UsesDivider(ZydisMnemonic mnemonic);

// Returns whether the result is zero, and depends on nothing, if both operands are the same
// register.
bool MakesZero(ZydisMnemonic mnemonic);

// Returns whether it only moves a value, which takes no time between registers. All of the
// destination is written, unless it is a scalar move between vector registers.
bool IsMove(ZydisMnemonic mnemonic);

// Returns whether it loads a value and extends it, which takes time between registers.
bool IsExtension(ZydisMnemonic mnemonic);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_
