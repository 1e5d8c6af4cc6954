// Decoded code: what the interpreter executes.
//
// Contract: plain data. A block never changes once it is in the code cache, except for its atomics.
#ifndef HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_
#define HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/interpreter/taken_branch.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

struct Interpreter;
struct MicroOp;

// Executes `op` and goes on with the next one by a tail call. Returns when the run stops. `flags`
// are the arithmetic flags as PackFlags (packed_flags.h) has them.
using Handler = void (*)(const MicroOp* op, Interpreter* m, uint64_t flags);

// An instruction is one or a few of these. The address of a memory operand is
// word(base) + (word(index) << scale) + displacement, words being numbered from the start of the
// Interpreter: kRax ... kNoGpr, and those below.
struct MicroOp {
  Handler handler;
  uint16_t a;  // operands: byte offsets from the start of the Interpreter
  uint16_t b;
  uint8_t base;
  uint8_t index;
  uint8_t scale;
  uint8_t extra;
  int64_t displacement;  // of branches: their own address
  uint64_t immediate;    // of direct branches: the target
};
static_assert(sizeof(MicroOp) == 32);

// Words besides the registers. Temporaries live where nothing else does during an instruction.
inline constexpr unsigned kFsBaseWord = offsetof(MachineState, fs_base) / 8;
inline constexpr unsigned kGsBaseWord = offsetof(MachineState, gs_base) / 8;
inline constexpr unsigned kAddressTemp = offsetof(MachineState, rip) / 8;
inline constexpr unsigned kValueTemp = offsetof(MachineState, operand) / 8;

// How unknown inputs are passed on.
enum class Effect : uint8_t {
  kPlain,   // unknown inputs make all of `writes` and what is stored unknown
  kBranch,  // one that the code alone does not resolve: stop there
  kPush,    // rsp stays known
  kPop,     // rsp stays known
  kLeave,
  kString,   // has its own rules
  kSave,     // must know its inputs
  kRestore,  // makes the vector state unknown
};

// The part of an instruction that is rarely looked at.
struct InstructionInfo {
  RegisterSet reads;    // including those of its address
  RegisterSet writes;   // but for flags that it may leave as they were
  RegisterSet address;  // of `reads`, what the address depends on
  // Of its first micro-operation, as it has to be when instructions are executed one at a time:
  // neither fused with the next nor without its flags.
  Handler exact_handler;
  uint16_t offset;  // from the start of the block
  uint8_t first_op;
  uint8_t op_count;
  uint8_t length;
  uint8_t store_bytes;  // at the address of memory_op; 0: it stores nothing, or see effect
  uint8_t memory_op;    // relative to first_op
  uint8_t address_ops;  // of these, how many at the start compute its address
  Effect effect;
  uint8_t flags_op;       // relative to first_op: which one exact_handler belongs to
  uint8_t touched_flags;  // all that it may change, those that are undefined included
  bool skips_flags;       // its handler in the block does not compute them
};

// Blocks are numbered by their place in the cache.
using BlockRef = uint32_t;
inline constexpr BlockRef kNoBlock = 0;
inline constexpr size_t kBlockUnit = 32;

struct alignas(kBlockUnit) Block {
  uint64_t ip;
  // The burst that last compared the block with the program's code.
  std::atomic<uint64_t> verified_by;
  // Where the last instruction goes: taken, and not taken. Guesses, if it is an indirect branch.
  std::atomic<BlockRef> successor[2];
  uint16_t code_bytes;
  uint8_t op_count;
  uint8_t instruction_count;
  bool uses_vector_state;
  uint8_t reserved[2];
  // Followed by the micro-operations, the bytes of the code, padded to 8, and the infos.

  const MicroOp* ops() const { return reinterpret_cast<const MicroOp*>(this + 1); }
  const uint8_t* code() const { return reinterpret_cast<const uint8_t*>(ops() + op_count); }
  const InstructionInfo* infos() const {
    return reinterpret_cast<const InstructionInfo*>(code() + ((code_bytes + 7u) & ~7u));
  }
  // Registers that any of its instructions reads, and writes; after the infos.
  const RegisterSet* all_registers() const {
    return reinterpret_cast<const RegisterSet*>(infos() + instruction_count);
  }
};
static_assert(sizeof(Block) == 32);

// InstructionInfo::touched_flags.
inline constexpr unsigned kFlagBitsShift = 16;

inline constexpr unsigned kMaxBlockInstructions = 32;
inline constexpr unsigned kMaxBlockOps = 96;
inline constexpr unsigned kMaxOpsOfInstruction = 6;
inline constexpr size_t kMaxBlockBytes =
    sizeof(Block) + kMaxBlockOps * sizeof(MicroOp) + kMaxBlockInstructions * 15 + 8 +
    kMaxBlockInstructions * sizeof(InstructionInfo) + sizeof(RegisterSet) + kBlockUnit;

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_
