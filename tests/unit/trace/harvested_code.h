// The instruction encodings that real libraries consist of.
#ifndef HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_
#define HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_

#include <cstdint>
#include <vector>

namespace hbbp::testing {

using InstructionBytes = std::vector<uint8_t>;

// Decodes the code of this process one instruction after the other: of the C library, of
// libraries of mathematics, cryptography, compression and video that can be loaded. Of encodings
// that differ only in displacements or wide immediate operands, one is taken.
std::vector<InstructionBytes> HarvestInstructions();

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_
