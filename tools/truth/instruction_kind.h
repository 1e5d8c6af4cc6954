// Classifies an instruction for counters of executed instructions: whether it repeats itself, calls
// the kernel or shows the program the trap flag.
#ifndef HBBP_TOOLS_TRUTH_INSTRUCTION_KIND_H_
#define HBBP_TOOLS_TRUTH_INSTRUCTION_KIND_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace hbbp::tools {

enum class InstructionKind : uint8_t {
  kOrdinary,
  kRepeatedString,    // rep movs, ...: traps after each iteration
  kSystemCall,        // syscall
  kOtherKernelEntry,  // int 0x80, sysenter: they have other numbers of system calls
  kPushFlags,         // pushf
};

// Length of the longest instruction; there may be fewer bytes at the end of the code.
inline constexpr size_t kInstructionBytes = 15;

// Classifies the x86-64 instruction at the start of `bytes`; kOrdinary if there is none.
InstructionKind ClassifyInstruction(std::span<const uint8_t> bytes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_INSTRUCTION_KIND_H_
