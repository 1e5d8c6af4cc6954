// Prepares one instruction to run: its memory operand points into data of the test.
#ifndef HBBP_TESTS_UNIT_TRACE_INSTRUCTION_CASE_H_
#define HBBP_TESTS_UNIT_TRACE_INSTRUCTION_CASE_H_

#include <cstdint>
#include <span>
#include <string>

#include "trace/native/machine_state.h"
#include "unit/trace/harvested_code.h"
#include "unit/trace/random_state.h"

namespace hbbp::testing {

// "vpaddd zmm1, zmm2, zmm3 (62 f1 6d 48 fe cb)"
std::string TextOf(std::span<const uint8_t> code);
std::string MnemonicOf(std::span<const uint8_t> code);

// Returns whether a mask decides which bytes of its memory operand it accesses.
bool TouchesMemoryUnderMask(std::span<const uint8_t> code);

// Returns whether it loads a segment register.
bool LoadsSegment(std::span<const uint8_t> code);

// Returns the bits of RFLAGS that the manuals leave undefined.
uint64_t UndefinedFlags(std::span<const uint8_t> code);

// Changes the address registers in `state`, and if they do not suffice the displacement in
// `code` (which runs at `code_address`), so that the memory operand is at `target`. Returns false
// if that is impossible.
bool PointOperandAt(uint64_t target, uint64_t code_address, InstructionBytes* code, Random* random,
                    trace::MachineState* state);

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_INSTRUCTION_CASE_H_
