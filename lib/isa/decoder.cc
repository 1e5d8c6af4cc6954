#include "isa/decoder.h"

#include "isa/mnemonic_table.h"
#include "isa/zydis_decode.h"

namespace hbbp {

bool DecodeInstruction(std::span<const uint8_t> code, uint64_t address, Instruction* instruction) {
  ZydisDecodedInstruction zydis;
  if (!DecodeWithZydis(code, &zydis)) return false;
  *instruction = {.address = address,
                  .length = zydis.length,
                  .branch = MakeControlFlow(zydis, address).kind,
                  .mnemonic = MnemonicOf(zydis)};
  return true;
}

}  // namespace hbbp
