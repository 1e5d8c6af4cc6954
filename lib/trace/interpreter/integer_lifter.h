// IntegerLifter lifts the integer instructions.
//
// Contract: see block_builder.h.
#ifndef HBBP_LIB_TRACE_INTERPRETER_INTEGER_LIFTER_H_
#define HBBP_LIB_TRACE_INTERPRETER_INTEGER_LIFTER_H_

#include "trace/interpreter/vector_lifter.h"

namespace hbbp::trace {

class IntegerLifter : public VectorLifter {
 protected:
  using VectorLifter::VectorLifter;

  // Lift the instruction after its opcode. LiftTwoByte passes vector instructions to VectorLifter.
  Outcome LiftOneByte(uint8_t opcode);
  Outcome LiftTwoByte(uint8_t opcode);

 private:
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

  Outcome LiftPushOrMultiply(uint8_t opcode);
  Outcome LiftAluOrMove(uint8_t opcode);
  Outcome LiftRaxOrFlags(uint8_t opcode);
  Outcome LiftStringOrTest(uint8_t opcode);
  Outcome LiftMoveImmediate(uint8_t opcode);
  Outcome LiftShiftOrReturn(uint8_t opcode);
  Outcome LiftShiftOrTranslate(uint8_t opcode);
  Outcome LiftLoopOrJump(uint8_t opcode);
  Outcome LiftGroupOrFlag(uint8_t opcode);
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
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_INTEGER_LIFTER_H_
