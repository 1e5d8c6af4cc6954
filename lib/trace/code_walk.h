// WalkToBranch decodes straight-line code up to the next instruction after which the program may
// continue elsewhere.
//
// Contract: async-signal-safe, no state. Reads the code by system calls that fail where nothing is
// mapped.
#ifndef HBBP_LIB_TRACE_CODE_WALK_H_
#define HBBP_LIB_TRACE_CODE_WALK_H_

#include <cstdint>

#include "trace/branch.h"
#include "trace/interpreter/stop_reason.h"

namespace hbbp::trace {

struct CodeWalk {
  // This is kDynamicBranch if `branch` was found, else the reason why not.
  StopReason reason = StopReason::kUnreadableCode;
  Branch branch;
  uint64_t instructions = 0;  // instructions before the branch
  // The walk adds this to the stack pointer, if `knows_stack`.
  bool knows_stack = true;
  int64_t stack_change = 0;
  // An instruction of the walk reads and writes memory atomically, as locks and shared counters do.
  bool has_atomic = false;
};

inline constexpr uint64_t kUnknownRax = ~uint64_t{0};

// The walk passes system calls, after which the program continues with the next instruction. It
// ends with kSystemCall at rt_sigreturn, which continues where a signal came, and at
// rt_sigprocmask, which may block SIGTRAP (see FindResumePoint). Calls are recognized by the
// constant that the code moves to eax before them, or by `rax`, the value of the register at `ip`.
CodeWalk WalkToBranch(uint64_t ip, uint64_t rax = kUnknownRax);

// Returns whether an atomic instruction is between `ip` and the branch at `branch`, on a path of
// direct jumps and calls only.
bool HasAtomicBefore(uint64_t branch, uint64_t ip);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_CODE_WALK_H_
