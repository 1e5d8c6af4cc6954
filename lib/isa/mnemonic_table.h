// This table implements the vocabulary of mnemonic.h.
//
// A Mnemonic is the number that Zydis has for the instruction, so that start-up builds nothing.
// Where two numbers of Zydis mean one mnemonic of ours, one of them represents both.
//
// The spelling is that of objdump -M intel where it prints a name that the Intel manual has (je,
// not jz; movs, not movsb), because its listings are what people compare with. Where objdump prints
// something else (movabs, xchg ax,ax, retf, cmpltsd), the spelling is that of the manual.
#ifndef HBBP_LIB_ISA_MNEMONIC_TABLE_H_
#define HBBP_LIB_ISA_MNEMONIC_TABLE_H_

#include <Zydis/Zydis.h>

#include "isa/mnemonic.h"

namespace hbbp {

Mnemonic MnemonicOf(const ZydisDecodedInstruction& instruction);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_TABLE_H_
