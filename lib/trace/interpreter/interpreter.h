// Interpreter is the state that the handlers of micro-operations work on; the macros and functions
// below pass control from one handler to the next.
//
// Contract: lives in the memory of a LookAhead; used by one thread at a time, on the stack of the
// LookAhead.
#ifndef HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_
#define HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/overlay_memory.h"
#include "trace/interpreter/program_reader.h"
#include "trace/interpreter/stop_reason.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

// A copy of what the last xsave, xsavec or xsaveopt wrote, for xrstor.
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
  MachineState state;  // the first member, because operands are offsets from it

  // The block that runs now.
  const Block* block;
  // Blocks that this burst has verified are entered without a check; kNoBurst makes every entry
  // checked.
  uint64_t enter_burst;
  int64_t instructions_left;
  int64_t instructions_left_at_branch[2];  // its value at the last branch not taken, and taken
  TakenBranch* out;
  TakenBranch* out_end;
  const uint8_t* blocks;  // CodeCache::blocks()
  // Where the next access or value is recorded, until there is no room. Their `branch` has the low
  // bits of `out`, and `offset` those of the address of the instruction.
  RecordedAccess* access_out;
  RecordedAccess* access_end;
  uint64_t missed_accesses;

  OverlayMemory memory;

  CodeCache* code_cache;
  uint64_t burst;
  uint64_t decoded_instructions;
  // Instructions are executed and counted one at a time.
  bool is_stepping;
  // Output registers of the instructions, recorded if the run stops before dynamic branches.
  RegisterSet written;
  bool stops_before_dynamic;
  bool is_at_start;         // no block was entered yet
  bool begins_in_new_page;  // since Begin; LookAheadStats says what it is
  bool may_pass_dynamic;    // the first instruction may be a dynamic branch
  uint8_t step_index;
  uint32_t rep_budget;  // iterations of string instructions
  MicroOp step_ops[kMaxOpsOfInstruction + 2];

  StopReason stop_reason;
  uint64_t stop_ip;
  uint64_t stop_flags;

  // The register MXCSR has the program's value now, and state.mxcsr is stale.
  bool has_program_mxcsr;
  uint32_t host_mxcsr;

  const MicroOp* stub_op;  // the micro-operation whose native stub runs, or nullptr
  uint64_t stub_flags;
  uint64_t stub_address;
  SavedVectorState saved;
  RegisterReader registers;  // source of the vector state
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

[[gnu::always_inline]] inline uint64_t ComputeAddress(const MicroOp* op, Interpreter* m) {
  return m->Word(op->base) + (m->Word(op->index) << op->scale) +
         static_cast<uint64_t>(op->displacement);
}

// This bit of the stack pointer is set in the upper part of the stack, which calls may use up. The
// lower part is for the handlers of one block.
inline constexpr unsigned kUpperStack = 0x8000;

// Handlers use no stack, unless a compiler turned the jumps below into calls. Every block checks
// this, so that even then the stack does not overflow.
[[gnu::always_inline]] inline bool StackIsLow() {
  bool is_low;
  asm("testl %1, %%esp" : "=@ccz"(is_low) : "i"(kUpperStack));
  return is_low;
}

// Records a number for the instruction whose address is the immediate of the micro-operation.
[[gnu::always_inline]] inline void RecordNumber(const MicroOp* op, Interpreter* m, uint64_t number,
                                                RecordedKind kind) {
  RecordedAccess* out = m->access_out;
  if (out == m->access_end) [[unlikely]] {
    ++m->missed_accesses;
    return;
  }
  constexpr uint64_t kOffsetMask = 0xffffff;
  *out = {number, static_cast<uint32_t>(reinterpret_cast<uint64_t>(m->out)),
          static_cast<uint32_t>(op->immediate & kOffsetMask), kind};
  m->access_out = out + 1;
}

// Records the access of the micro-operation kRecordAccess.
[[gnu::always_inline]] inline void RecordAccess(const MicroOp* op, Interpreter* m) {
  RecordNumber(op, m, ComputeAddress(op, m), RecordedKind::kAddress);
}

// Records the value of the micro-operation kRecordValue, unless it is unknown.
[[gnu::always_inline]] inline void RecordValue(const MicroOp* op, Interpreter* m) {
  if (m->state.poison & static_cast<RegisterSet>(op->displacement)) [[unlikely]]
    return;
  uint64_t value;
  __builtin_memcpy(&value, &m->At<uint8_t>(op->a), sizeof(value));
  RecordNumber(op, m, value << op->scale >> op->scale, static_cast<RecordedKind>(op->extra));
}

// Jumps to a function with exactly the parameters of a handler. Where the compiler does not
// guarantee the jump, the build optimizes these files, and tests/tools/check_handler_jumps checks
// the machine code.
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

// Handlers of branches end blocks with these. `which` is 0 if the branch is taken, else 1.
void EnterSuccessor(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t which);
// The branch is indirect, and its TakenBranch was written.
void EnterTarget(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t target);

// Handlers end with these if the instruction of `op`, which has changed nothing yet, cannot be
// executed as usual. They tail-call or stop.
void OnUnknownInput(const MicroOp* op, Interpreter* m, uint64_t flags);
void StopAt(const MicroOp* op, Interpreter* m, uint64_t flags, StopReason reason);
// Call it after a failed access.
void OnAccess(const MicroOp* op, Interpreter* m, uint64_t flags, Access access);

// Makes the outputs of the instruction that is stepped unknown.
void PassUnknown(const MicroOp* op, Interpreter* m, uint64_t flags);
// Is the last micro-operation of an instruction that is stepped.
void OnStepDone(const MicroOp* op, Interpreter* m, uint64_t flags);

// Call it after a run, and before anything but handlers_float.cc reads state.mxcsr.
void ExitFloat(Interpreter* m);

// Continues after a native stub that faulted, with the stack as EnterFirst found it.
void OnStubFault(Interpreter* m);

// Runs from `ip` until something stops it.
void EnterFirst(Interpreter* m, uint64_t ip, uint64_t flags);

struct Loaded {
  uint64_t value;
  uint64_t problem;  // 0 for none, 1 + Access, or kUnknownBytes
};
inline constexpr uint64_t kUnknownBytes = 256;

// Load and store at most 8 bytes. They return a value, because a local whose address is passed
// prevents tail calls.
Loaded LoadSlowly(Interpreter* m, uint64_t address, size_t size);
Access StoreSlowly(Interpreter* m, uint64_t address, uint64_t value, size_t size);
void OnLoadProblem(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t problem);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_INTERPRETER_H_
