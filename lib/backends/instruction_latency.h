// FindLatency returns how many cycles an instruction takes from its inputs to its results, without
// loading them from memory. Current processors of Intel and AMD differ little in these (Fog,
// "Instruction tables"), but for additions and multiplications of floating point, which are
// measured.
#ifndef HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_
#define HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_

#include <cstdint>

#include "backends/processor_timing.h"
#include "isa/zydis_decode.h"

namespace hbbp {

uint8_t FindLatency(ZydisMnemonic mnemonic, const ProcessorTiming& processor);

// Returns whether it occupies the divider, of which a processor has one.
bool UsesDivider(ZydisMnemonic mnemonic);

// Returns whether the result is zero, and depends on nothing, if both operands are the same
// register.
bool MakesZero(ZydisMnemonic mnemonic);

// Returns whether it only moves a value, which takes no time between registers. All of the
// destination is written, unless it is a scalar move between vector registers.
bool IsMove(ZydisMnemonic mnemonic);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_INSTRUCTION_LATENCY_H_
