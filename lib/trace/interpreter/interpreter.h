// What the handlers of micro-operations work on, and how they go on to the next.
//
// Contract: lives in the memory of a LookAhead; used by one thread at a time, on the stack of the
// LookAhead.
#ifndef HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_
#define HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/overlay_memory.h"
#include "trace/interpreter/program_reader.h"
#include "trace/interpreter/taken_branch.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

// What xsave and its kin wrote, for xrstor.
struct SavedVectorState {
  bool is_valid;
  uint64_t address;
  uint64_t components;
  size_t bytes;
  RegisterSet poison;
  uint32_t mxcsr;
  uint64_t k[8];
  uint8_t zmm[32][64];
  uint8_t fxsave[512];
};

struct Interpreter {
  MachineState state;  // first: operands are offsets from here

  // Of the block that runs now.
  const Block* block;
  // Blocks verified by this burst are entered without looking; kNoBurst: every entry is looked at.
  uint64_t enter_burst;
  int64_t instructions_left;
  int64_t left_at_branch[2];  // the same, at the last branch that was not taken, and was
  TakenBranch* out;
  TakenBranch* out_end;
  const uint8_t* blocks;  // CodeCache::blocks()

  OverlayMemory memory;

  CodeCache* code_cache;
  uint64_t burst;
  uint64_t decoded_instructions;
  // Instructions are executed one at a time, and counted so.
  bool is_stepping;
  // Registers that instructions had as outputs, while it stops before dynamic branches.
  RegisterSet written;
  bool stops_before_dynamic;
  bool is_at_start;       // no block was entered yet
  bool may_pass_dynamic;  // the first instruction may be such a branch
  uint8_t step_index;
  uint32_t rep_budget;  // iterations of string instructions
  MicroOp step_ops[kMaxOpsOfInstruction + 2];

  StopReason stop_reason;
  uint64_t stop_ip;
  uint64_t stop_flags;

  // MXCSR is that of the program now, and state.mxcsr is stale.
  bool has_program_mxcsr;
  uint32_t host_mxcsr;

  const MicroOp* stub_op;  // whose native stub runs; nullptr: none
  uint64_t stub_flags;
  uint64_t stub_address;
  SavedVectorState saved;
  RegisterReader registers;  // where the vector state is loaded from
  alignas(64) uint8_t private_block[kMaxBlockBytes];

  template <typename T>
  [[gnu::always_inline]] T& At(unsigned offset) {
    using Aliased [[gnu::may_alias]] = T;
    return *reinterpret_cast<Aliased*>(reinterpret_cast<char*>(this) + offset);
  }
  [[gnu::always_inline]] uint64_t Word(unsigned number) { return At<uint64_t>(number * 8); }
};

inline constexpr uint64_t kNoBurst = ~uint64_t{0};

constexpr unsigned WordOffset(unsigned number) { return number * 8; }

[[gnu::always_inline]] inline uint64_t AddressOf(const MicroOp* op, Interpreter* m) {
  return m->Word(op->base) + (m->Word(op->index) << op->scale) +
         static_cast<uint64_t>(op->displacement);
}

// Bit of the stack pointer, in the part of the stack that handlers may have left something on. The
// rest is for the handlers of one block.
inline constexpr unsigned kUpperStack = 0x8000;

// Handlers leave nothing on the stack, but where a compiler made calls of the jumps below. This is
// looked at with every block, so that even then no more is written than there is stack.
[[gnu::always_inline]] inline bool StackIsLow() {
  bool is_low;
  asm("testl %1, %%esp" : "=@ccz"(is_low) : "i"(kUpperStack));
  return is_low;
}

// Only to functions with the very parameters of a handler. Where no compiler guarantees the jump,
// the build has these files optimized, and tests/tools/check_handler_jumps reads what became of
// them.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::musttail)
#define HBBP_TAIL [[clang::musttail]] return
#elif __has_cpp_attribute(gnu::musttail)
#define HBBP_TAIL [[gnu::musttail]] return
#endif
#endif
#ifndef HBBP_TAIL
#define HBBP_TAIL return
#endif

#define HBBP_NEXT(op, m, flags) HBBP_TAIL(op)[1].handler((op) + 1, m, flags)

// Ends of blocks, for handlers of branches. `which`: 0 taken, 1 not.
void EnterSuccessor(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t which);
// An indirect branch; its TakenBranch was written.
void EnterTarget(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t target);

// Other ways on. The instruction of `op` has changed nothing yet; these tail-call or stop.
void OnUnknownInput(const MicroOp* op, Interpreter* m, uint64_t flags);
void StopAt(const MicroOp* op, Interpreter* m, uint64_t flags, StopReason reason);
// After a failed access.
void OnAccess(const MicroOp* op, Interpreter* m, uint64_t flags, Access access);

// Makes what the instruction that is stepped writes unknown.
void PassUnknown(const MicroOp* op, Interpreter* m, uint64_t flags);
// Follows the micro-operations of an instruction that is stepped.
void OnStepDone(const MicroOp* op, Interpreter* m, uint64_t flags);

// Before anybody but the handlers of handlers_float.cc looks at state.mxcsr, and after a run.
void LeaveFloat(Interpreter* m);

// Instead of the return of a native stub that faulted, with the stack as EnterFirst found it.
void OnStubFault(Interpreter* m);

// Runs from `ip` until something stops it.
void EnterFirst(Interpreter* m, uint64_t ip, uint64_t flags);

struct Loaded {
  uint64_t value;
  uint64_t problem;  // 0: none; 1 + Access; kUnknownBytes
};
inline constexpr uint64_t kUnknownBytes = 256;

// At most 8 bytes. By value: a local whose address is passed on would be in the way of tail calls.
Loaded LoadSlowly(Interpreter* m, uint64_t address, size_t size);
Access StoreSlowly(Interpreter* m, uint64_t address, uint64_t value, size_t size);
void OnLoadProblem(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t problem);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_
