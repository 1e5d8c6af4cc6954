// What Capstone's instruction ids mean in our vocabulary, and where they cannot be believed.
#ifndef HBBP_LIB_ISA_CAPSTONE_NAMES_H_
#define HBBP_LIB_ISA_CAPSTONE_NAMES_H_

#include <capstone/capstone.h>

#include <cstdint>
#include <span>

#include "isa/mnemonic.h"

namespace hbbp {

// False for the classes of encodings that Capstone 4 is known to misread.
bool CapstoneReadsEncoding(std::span<const uint8_t> code);

// kInvalid if the id does not settle the mnemonic: pseudo-operations, ids that stand for more
// than one instruction, and instructions that Capstone takes for others.
Mnemonic MnemonicOfCapstoneId(csh handle, unsigned id);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_CAPSTONE_NAMES_H_
