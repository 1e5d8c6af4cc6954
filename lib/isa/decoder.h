// Decoder: one x86-64 instruction, with its mnemonic.
//
// Capstone decodes; what it rejects goes to Zydis. Both are mapped to one vocabulary of
// mnemonics: those of the Intel manual in lower case, without prefixes and without
// pseudo-operations (`cmpsd`, not `cmpltsd`), so that a mix does not depend on who decoded.
#ifndef HBBP_LIB_ISA_DECODER_H_
#define HBBP_LIB_ISA_DECODER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "isa/branch_kind.h"
#include "isa/mnemonic.h"

namespace hbbp {

struct Instruction {
  uint64_t address = 0;
  uint8_t length = 0;
  BranchKind branch = BranchKind::kNone;
  Mnemonic mnemonic = Mnemonic::kInvalid;
};

// Not thread-safe: one Decoder a thread.
class Decoder {
 public:
  static StatusOr<std::unique_ptr<Decoder>> Create();
  ~Decoder();

  // False if the bytes are no instruction or end inside one.
  bool Decode(std::span<const uint8_t> code, uint64_t address, Instruction* instruction);

 private:
  Decoder();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_DECODER_H_
