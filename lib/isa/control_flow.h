// What one instruction does to the flow of control: its length, its branch kind, its target.
//
// This is the cheap half of the decoder, for finding basic blocks. It allocates nothing, keeps
// no state and is async-signal-safe, so that trace/ can use it too. decoder.h names mnemonics.
#ifndef HBBP_LIB_ISA_CONTROL_FLOW_H_
#define HBBP_LIB_ISA_CONTROL_FLOW_H_

#include <cstdint>
#include <span>

namespace hbbp {

inline constexpr int kMaxInstructionLength = 15;

enum class BranchKind : uint8_t {
  kNone,          // the next instruction follows
  kConditional,   // jcc, jrcxz, loop
  kJump,          // jmp rel
  kIndirectJump,  // jmp r/m
  kCall,          // call rel
  kIndirectCall,  // call r/m
  kReturn,        // ret
  kSystem,        // syscall, sysenter, int n, iret, far transfers, xbegin, xabort
  kTrap,          // ud0/ud1/ud2, int3, int1, hlt: does not go on
};

struct ControlFlow {
  uint8_t length = 0;
  BranchKind kind = BranchKind::kNone;
  bool has_target = false;  // the code alone gives the target
  uint64_t target = 0;
};

// Decodes the x86-64 instruction at the start of `code`, which lies at `address`. False if the
// bytes are no instruction or end inside one.
bool DecodeControlFlow(std::span<const uint8_t> code, uint64_t address, ControlFlow* flow);

constexpr bool EndsBlock(BranchKind kind) { return kind != BranchKind::kNone; }

// Can control reach the following instruction, at once or when a call comes back?
constexpr bool FallsThrough(BranchKind kind) {
  switch (kind) {
    case BranchKind::kJump:
    case BranchKind::kIndirectJump:
    case BranchKind::kReturn:
    case BranchKind::kTrap:
      return false;
    default:
      return true;
  }
}

// May the byte stand in front of an opcode? Segments, sizes, lock, repetition; not REX, VEX, EVEX.
constexpr bool IsLegacyPrefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_CONTROL_FLOW_H_
