// Lifter holds the state of lifting one block.
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
    kOther,   // the function does not know the instruction
    kRefuse,  // the block ends before it; reason_ says why
  };

  // Opcodes of one byte. Those of the arithmetic table and those that contain a register have no
  // name.
  enum class Opcode : uint8_t {
    kMovsxd = 0x63,
    kPushImmediate = 0x68,
    kImulImmediate = 0x69,
    kPushByte = 0x6a,
    kImulByte = 0x6b,
    kAluByteImmediate = 0x80,
    kAluImmediate = 0x81,
    kAluSignedByte = 0x83,
    kTestByte = 0x84,
    kTest = 0x85,
    kXchgByte = 0x86,
    kXchg = 0x87,
    kMovByteToOperand = 0x88,
    kMovToOperand = 0x89,
    kMovByteToRegister = 0x8a,
    kMovToRegister = 0x8b,
    kLoadAddress = 0x8d,
    kPopOperand = 0x8f,
    kCbw = 0x98,
    kCwd = 0x99,
    kPushf = 0x9c,
    kPopf = 0x9d,
    kSahf = 0x9e,
    kLahf = 0x9f,
    kMovsByte = 0xa4,
    kMovs = 0xa5,
    kCmpsByte = 0xa6,
    kCmps = 0xa7,
    kTestRaxByte = 0xa8,
    kTestRax = 0xa9,
    kStosByte = 0xaa,
    kStos = 0xab,
    kLodsByte = 0xac,
    kLods = 0xad,
    kScasByte = 0xae,
    kScas = 0xaf,
    kShiftByteByImmediate = 0xc0,
    kShiftByImmediate = 0xc1,
    kRetAndRelease = 0xc2,
    kRet = 0xc3,
    kMovByteImmediate = 0xc6,
    kMovImmediate = 0xc7,
    kEnter = 0xc8,
    kLeaveFrame = 0xc9,  // leave
    kInt3 = 0xcc,
    kInt = 0xcd,
    kShiftByteByOne = 0xd0,
    kShiftByOne = 0xd1,
    kShiftByteByCl = 0xd2,
    kShiftByCl = 0xd3,
    kXlat = 0xd7,
    kLoopne = 0xe0,
    kLoope = 0xe1,
    kLoopAlways = 0xe2,
    kJrcxz = 0xe3,
    kCallNear = 0xe8,
    kJmp = 0xe9,
    kJmpShort = 0xeb,
    kInt1 = 0xf1,
    kHlt = 0xf4,
    kCmc = 0xf5,
    kGroup3Byte = 0xf6,
    kGroup3 = 0xf7,
    kClc = 0xf8,
    kStc = 0xf9,
    kCld = 0xfc,
    kStd = 0xfd,
    kGroup4 = 0xfe,
    kGroup5 = 0xff,
  };

  // Opcodes after 0f.
  enum class Opcode0f : uint8_t {
    kSyscall = 0x05,
    kUd2 = 0x0b,
    kPrefetchw = 0x0d,
    kPrefetch = 0x18,
    kHint19 = 0x19,
    kBoundsLoad = 0x1a,
    kBoundsStore = 0x1b,
    kCldemote = 0x1c,
    kHint1d = 0x1d,
    kEndbr = 0x1e,
    kNopOperand = 0x1f,
    kBt = 0xa3,
    kShldImmediate = 0xa4,
    kShldByCl = 0xa5,
    kBts = 0xab,
    kShrdImmediate = 0xac,
    kShrdByCl = 0xad,
    kGroup15 = 0xae,
    kImul = 0xaf,
    kCmpxchgByte = 0xb0,
    kCompareAndExchange = 0xb1,
    kBtr = 0xb3,
    kMovzxByte = 0xb6,
    kMovzxWord = 0xb7,
    kPopulationCount = 0xb8,
    kBitTestImmediate = 0xba,
    kBtc = 0xbb,
    kScanForward = 0xbc,
    kScanReverse = 0xbd,
    kMovsxByte = 0xbe,
    kMovsxWord = 0xbf,
    kXaddByte = 0xc0,
    kExchangeAndAdd = 0xc1,
    kMovnti = 0xc3,
    kGroup9 = 0xc7,
  };

  // The content of the prefixes, ModRM, SIB and displacement.
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
  Outcome LiftPushOrMultiply(uint8_t opcode);
  Outcome LiftAluOrMove(uint8_t opcode);
  Outcome LiftRaxOrFlags(uint8_t opcode);
  Outcome LiftStringOrTest(uint8_t opcode);
  Outcome LiftMoveImmediate(uint8_t opcode);
  Outcome LiftShiftOrReturn(uint8_t opcode);
  Outcome LiftShiftOrTranslate(uint8_t opcode);
  Outcome LiftLoopOrJump(uint8_t opcode);
  Outcome LiftGroupOrFlag(uint8_t opcode);
  Outcome LiftTwoByte(uint8_t opcode);
  Outcome LiftSystemOrHint(uint8_t opcode);
  Outcome LiftBitsOrExtend(uint8_t opcode);
  Outcome LiftAtomicOrSwap(uint8_t opcode);
  Outcome LiftGroup9();
  Outcome LiftGroup15();
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
  Outcome LiftExchangeRax(uint8_t opcode);
  Outcome LiftLoad(unsigned size);
  Outcome LiftStore(unsigned size);
  Outcome LiftStoreImmediate(unsigned size);
  Outcome LiftEnter();
  Outcome LiftTranslate();
  Outcome LiftLoop(Opcode opcode);
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

  // lift_vector.cc
  Outcome LiftVectorMove(uint8_t opcode);
  Outcome LiftVex();
  struct VectorOpcode {
    uint8_t opcode;  // the opcode after 0f
    uint8_t prefix;
    bool is_vex;
    uint8_t is_wide;  // the operands have 256 bits
    uint8_t source;   // the register of VEX.vvvv
  };
  Outcome LiftVector(VectorOpcode vector);
  Outcome LiftVectorOperation(VectorOpcode vector);
  Outcome LiftScalarConversion(VectorOpcode vector);
  Outcome LiftVectorCopy(unsigned form, unsigned bytes, bool is_store, unsigned alignment);

  // lift_other.cc
  Outcome LiftOther();
  Outcome LiftSpecial(unsigned mnemonic);
  Outcome LiftNative(const NativeInstruction& native);
  Outcome LiftUnknown(RegisterSet reads, RegisterSet writes);

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
  MicroOp ops_[kMaxBlockOps];
  InstructionInfo infos_[kMaxBlockInstructions];
  RegisterSet touched_flags_[kMaxBlockInstructions];
  // Alternative handlers of the micro-operation that computes flags, or nullptr.
  Handler flagless_[kMaxBlockInstructions];
  Handler fused_[kMaxBlockInstructions];
  uint8_t code_[kMaxBlockInstructions * 15 + 2 * kLineBytes];
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LIFTER_H_
