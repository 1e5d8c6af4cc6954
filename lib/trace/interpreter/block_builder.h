// BlockBuilder holds a block while it is lifted: the code, the encoding of the current instruction,
// and the micro-operations so far. Its derived classes lift instructions: VectorLifter,
// IntegerLifter, Lifter (lifter.cc). Each adds a group of instructions to those of its base.
//
// Contract: async-signal-safe; lives on the stack of a LookAhead during one call of LiftBlock.
#ifndef HBBP_LIB_TRACE_INTERPRETER_BLOCK_BUILDER_H_
#define HBBP_LIB_TRACE_INTERPRETER_BLOCK_BUILDER_H_

#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {

struct LiftResult {
  Block* block;  // m->private_block, or nullptr if nothing can be executed at `ip`
  size_t bytes;
  StopReason reason;
};

class BlockBuilder {
 public:
  BlockBuilder(Interpreter* m, uint64_t ip)
      : m_(m), ip_(ip), recorded_kinds_(m->code_cache->recorded_kinds()) {}

 protected:
  enum class Outcome : uint8_t {
    kNext,    // the next instruction follows in the block
    kEnd,     // this one ends the block
    kOther,   // the function does not know the instruction
    kRefuse,  // the block ends before it; reason_ says why
  };

  // Encoding is the content of the prefixes, ModRM, SIB and displacement.
  struct Encoding {
    bool has_rex;
    bool has_66;
    bool has_67;
    bool is_locked;
    uint8_t repeat;        // 0, 0xf2 or 0xf3
    uint8_t segment_word;  // 0 if there is none
    uint8_t rex;
    uint8_t size;  // size of operands: 1 ... 3
    uint8_t mod;
    uint8_t reg;
    uint8_t rm;
    bool is_rip_relative;
    uint8_t base;
    uint8_t index;
    uint8_t scale;
    int32_t displacement;
  };

  // Address is that of the first access of an instruction, as MicroOp has it.
  struct Address {
    bool is_set;
    uint8_t base;
    uint8_t index;
    uint8_t scale;
    int64_t displacement;
  };

  Outcome Refuse(StopReason reason) {
    reason_ = reason;
    return Outcome::kRefuse;
  }
  bool Fetch();
  // Begins an instruction at `start_`, or begins it again.
  void StartInstruction(unsigned first_op);
  // Puts kRecordAccess in front of the instruction, which has been lifted from `first_op` on, if it
  // accesses memory at an address that it does not compute itself, and kRecordValue for each
  // register of arguments if it passes any.
  void InsertRecords(unsigned first_op);
  bool Records(RecordedKind kind) const { return (recorded_kinds_ & SetOf(kind)) != 0; }
  // Emits kRecordValue for an operand.
  void EmitValueRecord(RecordedKind kind, uint16_t operand, unsigned size);
  void DropDeadFlags();
  LiftResult Pack();

  // These read the code.
  uint64_t NextIp() const { return ip_ + static_cast<uint64_t>(cursor_ - code_); }
  uint8_t Byte() { return *cursor_++; }
  int64_t SignedByte() { return static_cast<int8_t>(*cursor_++); }
  int64_t SignedImmediate(unsigned bytes);  // has 1, 2 or 4 bytes
  // Reads the immediate for an operand of 1 << size bytes; for 8 bytes it has 4, sign-extended.
  uint64_t Immediate(unsigned size) {
    return static_cast<uint64_t>(SignedImmediate(size == 3 ? 4 : 1u << size));
  }
  // Returns the register in the low bits of an opcode.
  unsigned RegisterIn(uint8_t opcode) const { return (opcode & 7u) | (encoding_.rex & 1u) << 3; }
  // Even opcodes have byte operands, odd ones the operand size.
  unsigned SizeOf(uint8_t opcode) const { return opcode % 2 == 0 ? 0 : encoding_.size; }
  void ParseModrm();
  bool HasMemory() const { return encoding_.mod != 3; }

  // These emit micro-operations of the current instruction.
  MicroOp& Emit(Handler handler);
  MicroOp& EmitMemory(Handler handler);  // with the address of the memory operand
  MicroOp& EmitStack(Handler handler, int displacement);
  void SetAccess(uint8_t base, uint8_t index, uint8_t scale, int64_t displacement);
  void EmitFlagged(MicroOp& op, const Handler (&handlers)[kFlagsUses]);
  void EmitFlagged(MicroOp& op, const Handler (&handlers)[2]);
  // In these, `number` is a register as encoded.
  unsigned RegisterOffset(unsigned size, unsigned number) const;
  unsigned RegisterNumber(unsigned size, unsigned number) const;
  uint16_t Read(unsigned size, unsigned number);
  uint16_t Write(unsigned size, unsigned number);
  uint16_t Update(unsigned size, unsigned number);
  uint16_t ReadWord(unsigned number) { return Read(3, number); }
  // Loads the operand of ModRM.rm into a temporary if it is in memory. Returns its offset.
  uint16_t LoadOperand(unsigned size);
  // Loads it to be changed; FinishUpdate stores it.
  uint16_t LoadForUpdate(unsigned size);
  void FinishUpdate(unsigned size);
  void Flags(RegisterSet written, RegisterSet undefined = 0);

  InstructionInfo& info() { return infos_[instruction_count_]; }

  Interpreter* const m_;
  const uint64_t ip_;
  StopReason reason_ = StopReason::kFull;
  const uint8_t* cursor_ = code_;
  const uint8_t* start_ = code_;  // the current instruction
  size_t available_ = 0;
  bool is_at_end_ = false;  // no more code can be read
  bool uses_vector_state_ = false;
  unsigned op_count_ = 0;
  unsigned instruction_count_ = 0;
  Encoding encoding_;
  Address access_;
  bool passes_arguments_ = false;  // the instruction is a call or an indirect jump
  const RecordedKinds recorded_kinds_;
  MicroOp ops_[kMaxBlockOps];
  InstructionInfo infos_[kMaxBlockInstructions];
  RegisterSet touched_flags_[kMaxBlockInstructions];
  // Alternative handlers of the micro-operation that computes flags, or nullptr.
  Handler flagless_[kMaxBlockInstructions];
  Handler fused_[kMaxBlockInstructions];
  uint8_t code_[kMaxBlockInstructions * 15 + 2 * kLineBytes];
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_BLOCK_BUILDER_H_
