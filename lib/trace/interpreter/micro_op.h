// Block and MicroOp are decoded code, which the interpreter executes.
//
// Contract: plain data. A block never changes once it is in the code cache, except for its atomics.
#ifndef HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_
#define HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

struct Interpreter;
struct MicroOp;

// A handler executes `op` and continues with the next one by a tail call. It returns when the run
// stops. `flags` are the arithmetic flags as PackFlags (packed_flags.h) has them.
using Handler = void (*)(const MicroOp* op, Interpreter* m, uint64_t flags);

// An instruction is one micro-operation or a few. The address of a memory operand is word(base) +
// (word(index) << scale) + displacement. Words are numbered from the start of the Interpreter: kRax
// ... kNoGpr, and those below.
struct MicroOp {
  Handler handler;
  uint16_t a;  // a and b are byte offsets from the start of the Interpreter
  uint16_t b;
  uint8_t base;
  uint8_t index;
  uint8_t scale;
  uint8_t extra;
  int64_t displacement;  // in branches their own address
  uint64_t immediate;    // in direct branches the target
};
static_assert(sizeof(MicroOp) == 32);

// These are words other than registers. Temporaries use words that nothing else uses during an
// instruction.
inline constexpr unsigned kFsBaseWord = offsetof(MachineState, fs_base) / 8;
inline constexpr unsigned kGsBaseWord = offsetof(MachineState, gs_base) / 8;
inline constexpr unsigned kAddressTemp = offsetof(MachineState, rip) / 8;
inline constexpr unsigned kValueTemp = offsetof(MachineState, operand) / 8;

// Effect says what follows from unknown inputs.
enum class Effect : uint8_t {
  kPlain,   // unknown inputs make all of `writes` and what is stored unknown
  kBranch,  // the code alone does not resolve the branch: unknown inputs stop the run
  kPush,    // rsp stays known
  kPop,     // rsp stays known
  kLeave,
  kString,   // string_effects.h has the rules
  kSave,     // its inputs must be known
  kRestore,  // makes the vector state unknown
};

// InstructionInfo is the rarely used part of an instruction.
struct InstructionInfo {
  RegisterSet reads;    // including those of its address
  RegisterSet writes;   // without flags that it may keep
  RegisterSet address;  // the part of `reads` that the address depends on
  // The micro-operation flags_op has this handler when instructions are executed one at a time:
  // neither fused with the next instruction nor without its flags.
  Handler exact_handler;
  uint16_t offset;  // from the start of the block
  uint8_t first_op;
  uint8_t op_count;
  uint8_t length;
  uint8_t store_bytes;  // size of the store at the address of memory_op; 0 if there is none, or
                        // effect implies it
  uint8_t memory_op;    // relative to first_op
  uint8_t address_ops;  // how many micro-operations at the start compute the address
  Effect effect;
  uint8_t flags_op;       // the micro-operation of exact_handler, relative to first_op
  uint8_t touched_flags;  // all flags that it may change, including undefined ones
  bool skips_flags;       // its handler in the block does not compute them
};

// A block is numbered by its position in the cache.
using BlockRef = uint32_t;
inline constexpr BlockRef kNoBlock = 0;
inline constexpr size_t kBlockUnit = 32;

struct alignas(kBlockUnit) Block {
  uint64_t ip;
  // This is the burst that last compared the block with the program's code.
  std::atomic<uint64_t> verified_by;
  // The blocks after the last instruction: taken, and not taken. They are guesses for an indirect
  // branch.
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
  // Returns the registers that any of the instructions reads, and writes; they follow the infos.
  const RegisterSet* all_registers() const {
    return reinterpret_cast<const RegisterSet*>(infos() + instruction_count);
  }
};
static_assert(sizeof(Block) == 32);

// InstructionInfo::touched_flags has the flags of a RegisterSet shifted by this.
inline constexpr unsigned kFlagBitsShift = 16;

inline constexpr unsigned kMaxBlockInstructions = 32;
inline constexpr unsigned kMaxBlockOps = 96;
inline constexpr unsigned kMaxOpsOfInstruction = 6;
inline constexpr size_t kMaxBlockBytes =
    sizeof(Block) + kMaxBlockOps * sizeof(MicroOp) + kMaxBlockInstructions * 15 + 8 +
    kMaxBlockInstructions * sizeof(InstructionInfo) + sizeof(RegisterSet) + kBlockUnit;

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_MICRO_OP_H_
