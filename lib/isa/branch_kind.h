// BranchKind and ControlFlow describe what an instruction does to the flow of control.
#ifndef HBBP_LIB_ISA_BRANCH_KIND_H_
#define HBBP_LIB_ISA_BRANCH_KIND_H_

#include <cstdint>

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
  kTrap,          // ud0/ud1/ud2, int3, int1, hlt: execution does not continue
};

struct ControlFlow {
  uint8_t length = 0;
  BranchKind kind = BranchKind::kNone;
  bool has_target = false;  // the code alone determines the target
  uint64_t target = 0;
};

constexpr bool EndsBlock(BranchKind kind) { return kind != BranchKind::kNone; }

// Returns whether control can reach the following instruction, at once or after a call returns.
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

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_BRANCH_KIND_H_
