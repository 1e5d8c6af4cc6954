// Collects the instruction encodings of real libraries.
#ifndef HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_
#define HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_

#include <cstdint>
#include <vector>

namespace hbbp::testing {

using InstructionBytes = std::vector<uint8_t>;

// Decodes the code of this process one instruction after the other: of the C library and of
// libraries of mathematics, cryptography, compression and video that can be loaded. It takes one of
// several encodings that differ only in displacements or wide immediate operands.
std::vector<InstructionBytes> HarvestInstructions();

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_HARVESTED_CODE_H_
