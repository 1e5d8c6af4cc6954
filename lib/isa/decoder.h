// DecodeInstruction decodes one x86-64 instruction with its mnemonic: that of the Intel manual in
// lower case, without prefixes and without pseudo-operations (`cmpsd`, not `cmpltsd`).
#ifndef HBBP_LIB_ISA_DECODER_H_
#define HBBP_LIB_ISA_DECODER_H_

#include <cstdint>
#include <span>

#include "isa/branch_kind.h"
#include "isa/mnemonic.h"

namespace hbbp {

struct Instruction {
  uint64_t address = 0;
  uint8_t length = 0;
  BranchKind branch = BranchKind::kNone;
  Mnemonic mnemonic = Mnemonic::kInvalid;
};

// Returns false if the bytes are not an instruction or end inside one. Any thread may call it.
bool DecodeInstruction(std::span<const uint8_t> code, uint64_t address, Instruction* instruction);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_DECODER_H_
