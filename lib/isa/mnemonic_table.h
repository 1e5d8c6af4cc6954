// The vocabulary of mnemonic.h, as data.
//
// A Mnemonic is the number that Zydis has for the instruction, so there is nothing to build at
// start-up. Where two numbers of Zydis mean one mnemonic of ours, one of them stands for both.
//
// objdump -M intel settles the spelling where it prints a name that the Intel manual has (je, not
// jz; movs, not movsb), because its listings are what people compare with; where it prints
// something else (movabs, xchg ax,ax, retf, cmpltsd), the manual does.
#ifndef HBBP_LIB_ISA_MNEMONIC_TABLE_H_
#define HBBP_LIB_ISA_MNEMONIC_TABLE_H_

#include <Zydis/Zydis.h>

#include "isa/mnemonic.h"

namespace hbbp {

Mnemonic MnemonicOf(const ZydisDecodedInstruction& instruction);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_TABLE_H_
