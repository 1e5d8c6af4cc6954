// The text of an instruction, in Intel's syntax.
#ifndef HBBP_LIB_ISA_DISASSEMBLY_H_
#define HBBP_LIB_ISA_DISASSEMBLY_H_

#include <cstdint>
#include <span>
#include <string>

namespace hbbp {

// "mov rax, qword ptr [rbp-0x08]"; addresses of branches and rip-relative operands are those that
// they lead to from `address`. Empty if the bytes are no instruction or end inside one. Any thread.
std::string InstructionText(std::span<const uint8_t> code, uint64_t address);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_DISASSEMBLY_H_
