// InstructionText disassembles an instruction in Intel's syntax.
#ifndef HBBP_LIB_ISA_DISASSEMBLY_H_
#define HBBP_LIB_ISA_DISASSEMBLY_H_

#include <cstdint>
#include <span>
#include <string>

namespace hbbp {

// Returns a text such as "mov rax, qword ptr [rbp-0x08]". Branches and rip-relative operands show
// the absolute address that they lead to from `address`. The text is empty if the bytes are not an
// instruction or end inside one. Any thread may call it.
std::string InstructionText(std::span<const uint8_t> code, uint64_t address);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_DISASSEMBLY_H_
