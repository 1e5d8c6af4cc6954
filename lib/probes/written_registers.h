// Finds the general-purpose registers that an instruction may write to.
#ifndef HBBP_LIB_PROBES_WRITTEN_REGISTERS_H_
#define HBBP_LIB_PROBES_WRITTEN_REGISTERS_H_

#include <cstdint>
#include <span>

namespace hbbp {

// A bit for each register, by its number in encodings.
using RegisterSet = uint16_t;

// Parts of registers and what depends on a condition count as well. All bits are set if the bytes
// are not an instruction.
RegisterSet FindWrittenRegisters(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_WRITTEN_REGISTERS_H_
