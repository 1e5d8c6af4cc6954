// Branch describes what decides a branch: a condition over flags or a counter, and an expression
// for the target.
//
// Contract: async-signal-safe, no state. Only the code bytes that the caller passes are read.
#ifndef HBBP_LIB_TRACE_BRANCH_H_
#define HBBP_LIB_TRACE_BRANCH_H_

#include <cstddef>
#include <cstdint>

#include "isa/control_flow.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

enum class Condition : uint8_t {
  // The sixteen condition codes, numbered as in encodings: o, no, b, ae, e, ne, be, a, s, ns, p,
  // np, l, ge, le, g.
  kOverflow = 0,
  kGreater = 15,
  kRcxZero,
  kEcxZero,
  kLoop,         // rcx - 1 is not 0
  kLoopWhileZf,  // the same, and ZF is set
  kLoopUntilZf,  // the same, and ZF is clear
  kLoop32,       // the same with ecx
  kLoop32WhileZf,
  kLoop32UntilZf,
  kAlways
};

// The target is `constant`, or a register's value, or the quadword at
// gpr[base] + (gpr[index] << scale) + constant + base of segment.
struct TargetExpression {
  enum Kind : uint8_t { kConstant, kRegister, kMemory } kind = kConstant;
  uint8_t base = kNoGpr;  // the register, for kRegister
  uint8_t index = kNoGpr;
  uint8_t scale = 0;
  uint8_t segment = 0;  // 0 none, 1 fs, 2 gs
  uint64_t constant = 0;
};

struct Branch {
  uint64_t address = 0;
  uint8_t length = 0;
  BranchKind kind = BranchKind::kNone;
  Condition condition = Condition::kAlways;
  TargetExpression target;
  // The branch adds this to the stack pointer.
  int32_t stack_change = 0;
};

// Returns true for branches that the code alone resolves: direct jumps and calls.
constexpr bool IsResolvedByCode(const Branch& branch) {
  return branch.condition == Condition::kAlways &&
         branch.target.kind == TargetExpression::kConstant;
}

// `code` has `size` readable bytes, which lie at `address`. Returns false unless they are a branch
// that continues in the same program; kNone, kSystem, kTrap and undecodable bytes are not.
bool DescribeBranch(const uint8_t* code, size_t size, uint64_t address, Branch* branch);

// Returns whether the flags of RFLAGS fulfil a condition code (0..15).
bool FlagsFulfil(uint8_t condition_code, uint64_t flags);

struct BranchOutcome {
  bool known = false;  // false: the memory that holds the target cannot be read
  bool taken = false;
  uint64_t next = 0;  // where the program continues
};

// Returns the address of a target in memory.
uint64_t TargetAddress(const TargetExpression& target, const MachineState& state);

// `state` has the registers before the branch. Only GPRs, flags and segment bases are used.
BranchOutcome Evaluate(const Branch& branch, const MachineState& state);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BRANCH_H_
