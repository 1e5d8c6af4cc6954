// Where straight-line code leads: the next instruction after which the program may go on somewhere
// else, found by decoding alone.
//
// Contract: async-signal-safe, no state. Reads the code by system calls that fail where there is
// none.
#ifndef HBBP_LIB_TRACE_CODE_WALK_H_
#define HBBP_LIB_TRACE_CODE_WALK_H_

#include <cstdint>

#include "trace/branch.h"
#include "trace/interpreter/taken_branch.h"

namespace hbbp::trace {

struct CodeWalk {
  // kDynamicBranch: `branch` is the one; anything else: there is none, and why.
  StopReason reason = StopReason::kUnreadableCode;
  Branch branch;
  uint64_t instructions = 0;  // in front of the branch
  // What the stack pointer gains on the way, if `knows_stack`.
  bool knows_stack = true;
  int64_t stack_change = 0;
  // An instruction on the way reads and writes memory in one step, as locks and shared counters do.
  bool has_atomic = false;
};

inline constexpr uint64_t kUnknownRax = ~uint64_t{0};

// System calls on the way are walked over: what they do is the kernel's, and then the program
// continues behind them. Not so rt_sigreturn, which continues where a signal came: the walk ends
// there with kSystemCall. It is known by the constant that the code moves to eax before it, or by
// `rax`, the value of the register at `ip`.
CodeWalk WalkToBranch(uint64_t ip, uint64_t rax = kUnknownRax);

// Is there such an atomic instruction between `ip` and the branch at `branch`, on the way that
// direct jumps and calls alone determine?
bool HasAtomicBefore(uint64_t branch, uint64_t ip);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_CODE_WALK_H_
