// The state of lifting one block.
//
// Contract: async-signal-safe; lives on the stack of a LookAhead during one call of LiftBlock.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_
#define HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_

#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/lift.h"
#include "trace/native/native_stub.h"

namespace hbbp::trace {

class Lifter {
 public:
  Lifter(Interpreter* m, uint64_t ip) : m_(m), ip_(ip) {}

  LiftResult Lift(unsigned max_instructions);

 private:
  enum class Outcome : uint8_t {
    kNext,    // the next instruction follows in the block
    kEnd,     // this one ends the block
    kOther,   // not one that this function knows
    kRefuse,  // the block ends before it; reason_ says why
  };

  // What the prefixes, ModRM, SIB and displacement say.
  struct Encoding {
    bool has_rex;
    bool has_66;
    bool has_67;
    bool is_locked;
    uint8_t repeat;        // 0, 0xf2, 0xf3
    uint8_t segment_word;  // 0: none
    uint8_t rex;
    uint8_t size;  // of operands: 1 ... 3
    uint8_t mod;
    uint8_t reg;
    uint8_t rm;
    bool is_rip_relative;
    uint8_t base;
    uint8_t index;
    uint8_t scale;
    int32_t displacement;
  };

  // lifter.cc
  bool Fetch();
  Outcome LiftInstruction();
  Outcome Refuse(StopReason reason) {
    reason_ = reason;
    return Outcome::kRefuse;
  }
  void DropDeadFlags();
  LiftResult Pack();

  // lift_integer.cc
  Outcome LiftOneByte(uint8_t opcode);
  Outcome LiftTwoByte(uint8_t opcode);
  Outcome LiftAlu(uint8_t opcode);
  Outcome LiftAluImmediate(AluOperation operation, unsigned size, uint64_t immediate);
  Outcome LiftTest(unsigned size);
  Outcome LiftShift(unsigned size, bool by_cl, uint8_t count);
  Outcome LiftUnary(UnaryOperation operation, unsigned size);
  Outcome LiftGroup3(unsigned size);
  Outcome LiftGroup5(uint8_t opcode);
  Outcome LiftExtend(bool is_signed, unsigned from);
  Outcome LiftImul();
  Outcome LiftImulImmediate(uint64_t immediate);
  Outcome LiftBitTest(unsigned operation, bool by_reg);
  Outcome LiftBitScan(BitScanOperation operation);
  Outcome LiftDoubleShift(unsigned right, bool by_cl);
  Outcome LiftCmpxchg(unsigned size);
  Outcome LiftXadd(unsigned size);
  Outcome LiftExchange(unsigned size);
  Outcome LiftConditionalJump(unsigned code, uint64_t target);
  Outcome LiftCmov(unsigned code);
  Outcome LiftSetcc(unsigned code);
  Outcome LiftPush(unsigned reg);
  Outcome LiftPushMemory();
  Outcome LiftPushImmediate(uint64_t immediate);
  Outcome LiftPop(unsigned reg);
  Outcome LiftReturn(unsigned release);
  Outcome LiftDirect(Handler handler, uint64_t target);
  Outcome LiftSave(bool is_compacted);
  Outcome LiftRestore();
  Outcome LiftString(StringOperation operation, unsigned size);

  // lift_vector.cc: moves of vector registers.
  Outcome LiftVectorMove(uint8_t opcode);
  Outcome LiftVex();
  struct VectorOpcode {
    uint8_t opcode;  // after 0f
    uint8_t prefix;
    bool is_vex;
    uint8_t is_wide;  // 256 bits
    uint8_t source;   // the register of VEX.vvvv
  };
  Outcome LiftVector(VectorOpcode vector);
  Outcome LiftVectorOperation(VectorOpcode vector);
  Outcome LiftScalarConversion(VectorOpcode vector);
  Outcome LiftVectorCopy(unsigned form, unsigned bytes, bool is_store, unsigned alignment);

  // lift_other.cc: what needs the full decoder.
  Outcome LiftOther();
  Outcome LiftSpecial(unsigned mnemonic);
  Outcome LiftNative(const NativeInstruction& native);
  Outcome LiftUnknown(RegisterSet reads, RegisterSet writes);

  // Code.
  uint64_t NextIp() const { return ip_ + static_cast<uint64_t>(cursor_ - code_); }
  uint8_t Byte() { return *cursor_++; }
  int64_t SignedByte() { return static_cast<int8_t>(*cursor_++); }
  int64_t SignedImmediate(unsigned size);  // of 1, 2 or 4 bytes; 8 is as 4
  void ParseModrm();
  bool HasMemory() const { return encoding_.mod != 3; }

  // Micro-operations of the current instruction.
  MicroOp& Emit(Handler handler);
  MicroOp& EmitMemory(Handler handler);  // with the address of the memory operand
  MicroOp& EmitStack(Handler handler, int displacement);
  void EmitFlagged(MicroOp& op, const Handler (&handlers)[kFlagsUses]);
  void EmitFlagged(MicroOp& op, const Handler (&handlers)[2]);
  // Of registers: `number` as encoded.
  unsigned OffsetOf(unsigned size, unsigned number) const;
  unsigned NumberOf(unsigned size, unsigned number) const;
  uint16_t Read(unsigned size, unsigned number);
  uint16_t Write(unsigned size, unsigned number);
  uint16_t Update(unsigned size, unsigned number);
  uint16_t ReadWord(unsigned number) { return Read(3, number); }
  // The operand of ModRM.rm, loaded into a temporary if it is in memory. Returns its offset.
  uint16_t LoadOperand(unsigned size);
  // Likewise, to be changed; FinishUpdate stores it.
  uint16_t LoadForUpdate(unsigned size);
  void FinishUpdate(unsigned size);
  void Flags(RegisterSet written, RegisterSet undefined = 0);

  InstructionInfo& info() { return infos_[instruction_count_]; }

  Interpreter* const m_;
  const uint64_t ip_;
  StopReason reason_ = StopReason::kFull;
  const uint8_t* cursor_ = code_;
  const uint8_t* start_ = code_;  // of the current instruction
  size_t available_ = 0;
  bool is_at_end_ = false;  // no more code can be read
  bool uses_vector_state_ = false;
  unsigned op_count_ = 0;
  unsigned instruction_count_ = 0;
  Encoding encoding_;
  MicroOp ops_[kMaxBlockOps];
  InstructionInfo infos_[kMaxBlockInstructions];
  RegisterSet touched_flags_[kMaxBlockInstructions];
  // Of the micro-operation that computes flags; nullptr: there is none.
  Handler flagless_[kMaxBlockInstructions];
  Handler fused_[kMaxBlockInstructions];
  uint8_t code_[kMaxBlockInstructions * 15 + 2 * kLineBytes];
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_
