// Lifts the integer instructions. LiftOneByte and LiftTwoByte dispatch by the rows of the manuals'
// tables of opcodes to a function for each row or two, and these by Opcode to a function for each
// instruction. An instruction that is not certainly known here is kOther.
// IntegerLifter::LiftInstruction (lifter.cc) calls both.
//
// Contract: see block_builder.h.
#include "trace/interpreter/integer_lifter.h"

#include "trace/interpreter/packed_flags.h"

namespace hbbp::trace {
namespace {

constexpr RegisterSet kResultFlags = kPfBit | kZfBit | kSfBit;

// Returns whether rep and repne have a known meaning, which may be none.
bool MayRepeat(uint8_t opcode) {
  switch (opcode & 0xf0) {
    case 0x70:  // jcc
      return true;
    case 0xa0:  // movs, cmps, stos, lods, scas
      return opcode != 0xa8 && opcode != 0xa9 && opcode > 0xa3;
    default:
      return opcode == 0x90 || opcode == 0xc2 || opcode == 0xc3 || opcode == 0xe8 ||
             opcode == 0xe9 || opcode == 0xeb || opcode == 0xff;
  }
}

}  // namespace

// Dispatches by the rows of the manuals' table of opcodes.
IntegerLifter::Outcome IntegerLifter::LiftOneByte(uint8_t opcode) {
  if (encoding_.repeat != 0 && !MayRepeat(opcode)) return Outcome::kOther;
  switch (opcode >> 4) {
    case 0x0:  // add, or
    case 0x1:  // adc, sbb
    case 0x2:  // and, sub
    case 0x3:  // xor, cmp
      return LiftAlu(opcode);
    case 0x5:  // push, pop
      return opcode < 0x58 ? LiftPush(RegisterIn(opcode)) : LiftPop(RegisterIn(opcode));
    case 0x6:  // movsxd, push, imul
      return LiftPushOrMultiply(opcode);
    case 0x7: {  // jcc
      const uint64_t displacement = Immediate(0);
      return LiftConditionalJump(opcode, NextIp() + displacement);
    }
    case 0x8:  // arithmetic with immediates, test, xchg, mov, lea, pop
      return LiftAluOrMove(opcode);
    case 0x9:  // xchg, cbw, cwd, pushf, popf, sahf, lahf
      return LiftRaxOrFlags(opcode);
    case 0xa:  // movs, cmps, test, stos, lods, scas
      return LiftStringOrTest(opcode);
    case 0xb:  // mov
      return LiftMoveImmediate(opcode);
    case 0xc:  // shifts, ret, mov, enter, leave, int3, int
      return LiftShiftOrReturn(opcode);
    case 0xd:  // shifts, xlat
      return LiftShiftOrTranslate(opcode);
    case 0xe:  // loop, jrcxz, call, jmp
      return LiftLoopOrJump(opcode);
    case 0xf:  // int1, hlt, cmc, clc, stc, cld, std, groups 3 to 5
      return LiftGroupOrFlag(opcode);
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftPushOrMultiply(uint8_t opcode) {
  const unsigned size = encoding_.size;
  switch (Opcode{opcode}) {
    case Opcode::kMovsxd:
      ParseModrm();
      if (size == 1) return Outcome::kOther;
      return size == 2 ? LiftLoad(2) : LiftExtend(true, 2);
    case Opcode::kPushImmediate:
      if (size == 1) return Outcome::kOther;
      return LiftPushImmediate(Immediate(size));
    case Opcode::kPushByte:
      if (size == 1) return Outcome::kOther;
      return LiftPushImmediate(Immediate(0));
    case Opcode::kImulImmediate:
      ParseModrm();
      return LiftImulImmediate(Immediate(size));
    case Opcode::kImulByte:
      ParseModrm();
      return LiftImulImmediate(Immediate(0));
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftAluOrMove(uint8_t opcode) {
  ParseModrm();
  const unsigned size = SizeOf(opcode);
  switch (Opcode{opcode}) {
    case Opcode::kAluByteImmediate:
    case Opcode::kAluImmediate:
      return LiftAluImmediate(static_cast<AluOperation>(encoding_.reg & 7), size, Immediate(size));
    case Opcode::kAluSignedByte:
      return LiftAluImmediate(static_cast<AluOperation>(encoding_.reg & 7), size, Immediate(0));
    case Opcode::kTestByte:
    case Opcode::kTest:
      return LiftTest(size);
    case Opcode::kXchgByte:
    case Opcode::kXchg:
      return LiftExchange(size);
    case Opcode::kMovByteToOperand:
    case Opcode::kMovToOperand:
      return LiftStore(size);
    case Opcode::kMovByteToRegister:
    case Opcode::kMovToRegister:
      return LiftLoad(size);
    case Opcode::kLoadAddress:
      if (!HasMemory() || encoding_.has_67) return Outcome::kOther;
      encoding_.segment_word = 0;
      EmitMemory(kLea[size]).a = Write(size, encoding_.reg);
      access_ = Address{};
      return Outcome::kNext;
    case Opcode::kPopOperand:
      if ((encoding_.reg & 7) != 0 || HasMemory() || size == 1) return Outcome::kOther;
      return LiftPop(encoding_.rm);
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftRaxOrFlags(uint8_t opcode) {
  const unsigned size = encoding_.size;
  if (opcode < 0x98) return LiftExchangeRax(opcode);
  switch (Opcode{opcode}) {
    case Opcode::kCbw: {  // cwde, cdqe
      MicroOp& op = Emit(kExtendReg[1][size - 1][size]);
      op.b = Read(size - 1, kRax);
      op.a = Write(size, kRax);
      return Outcome::kNext;
    }
    case Opcode::kCwd:  // cdq, cqo
      Emit(kSignToRdx[size]);
      Read(size, kRax);
      Write(size, kRdx);
      return Outcome::kNext;
    case Opcode::kPushf:
      if (size == 1) return Outcome::kOther;
      info().reads |= kFlagBits;
      info().store_bytes = 8;
      info().effect = Effect::kPush;
      EmitStack(kPushFlags, -8);
      return Outcome::kNext;
    case Opcode::kPopf:
      if (size == 1) return Outcome::kOther;
      info().effect = Effect::kPop;
      EmitStack(kPopFlags, 0);
      Flags(kFlagBits);
      return Outcome::kNext;
    case Opcode::kSahf:
      info().reads |= GprBit(kRax);
      Emit(kStoreAh);
      Flags(kFlagBits & ~kOfBit);
      return Outcome::kNext;
    case Opcode::kLahf:
      info().reads |= kFlagBits & ~kOfBit;
      Update(0, kRax);
      Emit(kLoadAh);
      return Outcome::kNext;
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftStringOrTest(uint8_t opcode) {
  const unsigned size = SizeOf(opcode);
  switch (Opcode{opcode}) {
    case Opcode::kMovsByte:
    case Opcode::kMovs:
      return LiftString(kMovs, size);
    case Opcode::kCmpsByte:
    case Opcode::kCmps:
      return LiftString(kCmps, size);
    case Opcode::kStosByte:
    case Opcode::kStos:
      return LiftString(kStos, size);
    case Opcode::kLodsByte:
    case Opcode::kLods:
      return LiftString(kLods, size);
    case Opcode::kScasByte:
    case Opcode::kScas:
      return LiftString(kScas, size);
    case Opcode::kTestRaxByte:
    case Opcode::kTestRax: {
      MicroOp& op = Emit(nullptr);
      EmitFlagged(op, kAlu[kTest][size].reg_imm);
      op.a = Read(size, kRax);
      op.immediate = Immediate(size);
      Flags(kFlagBits);
      return Outcome::kNext;
    }
    default:
      return Outcome::kOther;
  }
}

// The immediate has 8 bits below opcode 0xb8, else the operand size, which only here may be 8
// bytes.
IntegerLifter::Outcome IntegerLifter::LiftMoveImmediate(uint8_t opcode) {
  const unsigned size = opcode < 0xb8 ? 0 : encoding_.size;
  MicroOp& op = Emit(kMoveImm[size]);
  op.a = Write(size, RegisterIn(opcode));
  if (size == 3) {
    __builtin_memcpy(&op.immediate, cursor_, 8);
    cursor_ += 8;
  } else {
    op.immediate = size == 0 ? Byte() : Immediate(size);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftShiftOrReturn(uint8_t opcode) {
  const unsigned size = encoding_.size;
  switch (Opcode{opcode}) {
    case Opcode::kShiftByteByImmediate:
    case Opcode::kShiftByImmediate: {
      ParseModrm();
      const uint8_t count = Byte();
      return LiftShift(SizeOf(opcode), false, count);
    }
    case Opcode::kRetAndRelease:
      if (size == 1) return Outcome::kOther;
      return LiftReturn(static_cast<uint16_t>(Immediate(1)));
    case Opcode::kRet:
      if (size == 1) return Outcome::kOther;
      return LiftReturn(0);
    case Opcode::kMovByteImmediate:
    case Opcode::kMovImmediate:
      ParseModrm();
      return LiftStoreImmediate(SizeOf(opcode));
    case Opcode::kEnter:
      return LiftEnter();
    case Opcode::kLeaveFrame:
      if (size == 1) return Outcome::kOther;
      info().reads |= GprBit(kRbp);
      info().writes |= GprBit(kRbp) | GprBit(kRsp);
      info().address |= GprBit(kRbp);
      info().effect = Effect::kLeave;
      Emit(kLeave).base = kRbp;
      SetAccess(kRbp, kNoGpr, 0, 0);
      return Outcome::kNext;
    case Opcode::kInt3:
      return Refuse(StopReason::kTrap);
    case Opcode::kInt:
      return Refuse(StopReason::kSystemCall);
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftShiftOrTranslate(uint8_t opcode) {
  switch (Opcode{opcode}) {
    case Opcode::kShiftByteByOne:
    case Opcode::kShiftByOne:
      ParseModrm();
      return LiftShift(SizeOf(opcode), false, 1);
    case Opcode::kShiftByteByCl:
    case Opcode::kShiftByCl:
      ParseModrm();
      return LiftShift(SizeOf(opcode), true, 0);
    case Opcode::kXlat:
      return LiftTranslate();
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftLoopOrJump(uint8_t opcode) {
  const bool is_short_operand = encoding_.size == 1;
  switch (Opcode{opcode}) {
    case Opcode::kLoopne:
    case Opcode::kLoope:
    case Opcode::kLoopAlways:
    case Opcode::kJrcxz:
      return LiftLoop(Opcode{opcode});
    case Opcode::kCallNear: {
      const uint64_t displacement = Immediate(2);
      if (is_short_operand) return Outcome::kOther;
      const uint64_t target = NextIp() + displacement;
      info().store_bytes = 8;
      passes_arguments_ = true;
      MicroOp& op = EmitStack(kCall, -8);
      op.extra = static_cast<uint8_t>(cursor_ - start_);
      op.immediate = target;
      return Outcome::kEnd;
    }
    case Opcode::kJmp:
    case Opcode::kJmpShort: {
      const uint64_t displacement = Immediate(Opcode{opcode} == Opcode::kJmp ? 2 : 0);
      if (is_short_operand) return Outcome::kOther;
      return LiftDirect(kJump, NextIp() + displacement);
    }
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftGroupOrFlag(uint8_t opcode) {
  switch (Opcode{opcode}) {
    case Opcode::kInt1:
    case Opcode::kHlt:
      return Refuse(StopReason::kTrap);
    case Opcode::kCmc:
      info().reads |= kCfBit;
      Emit(kSetFlags).b = kPackedCf;
      Flags(kCfBit);
      return Outcome::kNext;
    case Opcode::kClc:
      Emit(kSetFlags).a = kPackedCf;
      Flags(kCfBit);
      return Outcome::kNext;
    case Opcode::kStc:
      Emit(kSetFlags).immediate = kPackedCf;
      Flags(kCfBit);
      return Outcome::kNext;
    case Opcode::kCld:
      Emit(kSetDirection).immediate = 0;
      return Outcome::kNext;
    case Opcode::kStd:
      Emit(kSetDirection).immediate = kFlagDf;
      return Outcome::kNext;
    case Opcode::kGroup3Byte:
    case Opcode::kGroup3:
      ParseModrm();
      return LiftGroup3(SizeOf(opcode));
    case Opcode::kGroup4:
    case Opcode::kGroup5:
      ParseModrm();
      return LiftGroup5(opcode);
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftLoad(unsigned size) {
  if (HasMemory()) {
    EmitMemory(kLoad[size]).a = Write(size, encoding_.reg);
  } else {
    MicroOp& op = Emit(kMoveReg[size]);
    op.b = Read(size, encoding_.rm);
    op.a = Write(size, encoding_.reg);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftStore(unsigned size) {
  if (HasMemory()) {
    info().store_bytes = static_cast<uint8_t>(1u << size);
    EmitMemory(kStore[size]).b = Read(size, encoding_.reg);
  } else {
    MicroOp& op = Emit(kMoveReg[size]);
    op.b = Read(size, encoding_.reg);
    op.a = Write(size, encoding_.rm);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftStoreImmediate(unsigned size) {
  if ((encoding_.reg & 7) != 0) return Outcome::kOther;
  const uint64_t immediate = Immediate(size);
  if (HasMemory()) {
    info().store_bytes = static_cast<uint8_t>(1u << size);
    EmitMemory(kStoreImm[size]).immediate = immediate;
  } else {
    MicroOp& op = Emit(kMoveImm[size]);
    op.a = Write(size, encoding_.rm);
    op.immediate = immediate;
  }
  return Outcome::kNext;
}

// Lifts xchg with rax. Without a REX prefix, xchg of rax with itself is nop, and pause after f3.
IntegerLifter::Outcome IntegerLifter::LiftExchangeRax(uint8_t opcode) {
  const unsigned size = encoding_.size;
  if (opcode == 0x90 && ((encoding_.rex & 1) == 0 || encoding_.repeat != 0)) {
    Emit(kNop);
    return Outcome::kNext;
  }
  MicroOp& op = Emit(kExchange[size]);
  op.a = Update(size, kRax);
  op.b = Update(size, RegisterIn(opcode));
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftEnter() {
  const auto bytes = static_cast<uint16_t>(Immediate(1));
  const uint8_t level = Byte();
  if (encoding_.size == 1 || level != 0) return Outcome::kOther;
  info().store_bytes = 8;
  EmitStack(kPush, -8).b = ReadWord(kRbp);
  MicroOp& frame = Emit(kMoveReg[3]);
  frame.a = Write(3, kRbp);
  frame.b = ReadWord(kRsp);
  Emit(kAddToRsp).immediate = -uint64_t{bytes};
  return Outcome::kNext;
}

// Lifts xlat: al = [rbx + al].
IntegerLifter::Outcome IntegerLifter::LiftTranslate() {
  if (encoding_.has_67 || encoding_.segment_word != 0) return Outcome::kOther;
  MicroOp& index = Emit(kExtendReg[0][0][3]);
  index.a = kAddressTemp * 8;
  index.b = Read(0, kRax);
  info().reads |= GprBit(kRbx);
  info().address |= GprBit(kRbx) | GprBit(kRax);
  info().memory_op = 1;
  info().address_ops = 1;
  MicroOp& op = Emit(kLoad[0]);
  op.base = kRbx;
  op.index = kAddressTemp;
  op.a = Write(0, kRax);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftLoop(Opcode opcode) {
  if (encoding_.has_67 || encoding_.has_66) return Outcome::kOther;
  const uint64_t displacement = Immediate(0);
  const uint64_t target = NextIp() + displacement;
  info().reads |= GprBit(kRcx);
  info().effect = Effect::kBranch;
  MicroOp& op = Emit(opcode == Opcode::kJrcxz ? kJumpIfRcxZero : kLoop);
  if (opcode != Opcode::kJrcxz) info().writes |= GprBit(kRcx);
  switch (opcode) {
    case Opcode::kLoopne:
      info().reads |= kZfBit;
      op.a = 2;
      break;
    case Opcode::kLoope:
      info().reads |= kZfBit;
      op.a = 1;
      break;
    default:
      op.a = opcode == Opcode::kJrcxz ? 8 : 0;
  }
  op.displacement = static_cast<int64_t>(ip_ + info().offset);
  op.immediate = target;
  return Outcome::kEnd;
}

IntegerLifter::Outcome IntegerLifter::LiftAlu(uint8_t opcode) {
  const auto operation = static_cast<AluOperation>(opcode >> 3);
  const unsigned form = opcode & 7;
  if (form > 5) return Outcome::kOther;
  const unsigned size = form & 1 ? encoding_.size : 0;
  if (operation == kAdc || operation == kSbb) info().reads |= kCfBit;
  Flags(kFlagBits);
  if (form >= 4) {
    MicroOp& op = Emit(nullptr);
    EmitFlagged(op, kAlu[operation][size].reg_imm);
    op.a = operation == kCmp ? Read(size, kRax) : Update(size, kRax);
    op.immediate = Immediate(size);
    return Outcome::kNext;
  }
  ParseModrm();
  if (!HasMemory()) {
    const unsigned to = form < 2 ? encoding_.rm : encoding_.reg;
    const unsigned from = form < 2 ? encoding_.reg : encoding_.rm;
    MicroOp& op = Emit(nullptr);
    EmitFlagged(op, kAlu[operation][size].reg_reg);
    // The result does not depend on the value of the register.
    if (to == from && size >= 2 && (operation == kXor || operation == kSub || operation == kSbb)) {
      op.a = op.b = Write(size, to);
      if (operation != kSbb) flagless_[instruction_count_] = kSetZeroFlagless;
      return Outcome::kNext;
    }
    op.a = operation == kCmp ? Read(size, to) : Update(size, to);
    op.b = Read(size, from);
    return Outcome::kNext;
  }
  if (form >= 2) {
    MicroOp& op = EmitMemory(nullptr);
    EmitFlagged(op, kAlu[operation][size].reg_mem);
    op.a = operation == kCmp ? Read(size, encoding_.reg) : Update(size, encoding_.reg);
    return Outcome::kNext;
  }
  if (operation != kCmp) info().store_bytes = static_cast<uint8_t>(1u << size);
  MicroOp& op = EmitMemory(nullptr);
  EmitFlagged(op, kAlu[operation][size].mem_reg);
  op.b = Read(size, encoding_.reg);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftAluImmediate(AluOperation operation, unsigned size,
                                                       uint64_t immediate) {
  if (operation == kAdc || operation == kSbb) info().reads |= kCfBit;
  Flags(kFlagBits);
  if (HasMemory()) {
    if (operation != kCmp && operation != kTest) {
      info().store_bytes = static_cast<uint8_t>(1u << size);
    }
    MicroOp& op = EmitMemory(nullptr);
    EmitFlagged(op, kAlu[operation][size].mem_imm);
    op.immediate = immediate;
    return Outcome::kNext;
  }
  MicroOp& op = Emit(nullptr);
  EmitFlagged(op, kAlu[operation][size].reg_imm);
  const bool is_comparison = operation == kCmp || operation == kTest;
  op.a = is_comparison ? Read(size, encoding_.rm) : Update(size, encoding_.rm);
  op.immediate = immediate;
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftTest(unsigned size) {
  Flags(kFlagBits);
  MicroOp& op = HasMemory() ? EmitMemory(nullptr) : Emit(nullptr);
  EmitFlagged(op, HasMemory() ? kAlu[kTest][size].mem_reg : kAlu[kTest][size].reg_reg);
  if (!HasMemory()) op.a = Read(size, encoding_.rm);
  op.b = Read(size, encoding_.reg);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftShift(unsigned size, bool by_cl, uint8_t count) {
  const auto operation = static_cast<ShiftOperation>(encoding_.reg & 7);
  const bool is_rotation = operation <= kRcr;
  count &= size == 3 ? 63 : 31;
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(nullptr);
  if (is_rotation && HasMemory() && !by_cl) {
    op.handler = kRotateMemory[operation][size];
  } else {
    EmitFlagged(op, by_cl ? kShift[operation][size].by_cl : kShift[operation][size].by_imm);
  }
  op.a = operand;
  op.immediate = count;
  if (by_cl) info().reads |= GprBit(kRcx);
  if (operation == kRcl || operation == kRcr) info().reads |= kCfBit;
  // None at all if the count is 0.
  const RegisterSet changed = is_rotation ? kCfBit | kOfBit : kFlagBits;
  if (by_cl || count == 0) {
    Flags(0, count == 0 && !by_cl ? 0 : changed);
  } else {
    const RegisterSet undefined = (count == 1 ? 0 : kOfBit) | (is_rotation ? 0 : kAfBit);
    Flags(changed & ~undefined, undefined);
  }
  FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftUnary(UnaryOperation operation, unsigned size) {
  if (operation != kNot) {
    Flags(operation == kNeg ? kFlagBits : kFlagBits & ~kCfBit);
  }
  if (HasMemory()) {
    info().store_bytes = static_cast<uint8_t>(1u << size);
    EmitFlagged(EmitMemory(nullptr), kUnary[operation][size].mem);
  } else {
    MicroOp& op = Emit(nullptr);
    EmitFlagged(op, kUnary[operation][size].reg);
    op.a = Update(size, encoding_.rm);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftGroup3(unsigned size) {
  switch (encoding_.reg & 7) {
    case 0:
    case 1: {
      const uint64_t immediate = Immediate(size);
      return LiftAluImmediate(kTest, size, immediate);
    }
    case 2:
      return LiftUnary(kNot, size);
    case 3:
      return LiftUnary(kNeg, size);
    default: {
      const bool is_division = (encoding_.reg & 2) != 0;
      const uint16_t operand = LoadOperand(size);
      if (is_division && Records(RecordedKind::kDivisor)) {
        EmitValueRecord(RecordedKind::kDivisor, operand, size);
      }
      MicroOp& op =
          Emit(is_division ? kDiv[encoding_.reg & 1][size] : kMul[encoding_.reg & 1][size]);
      op.a = operand;
      info().reads |= GprBit(kRax);
      info().writes |= GprBit(kRax);
      if (size != 0) {
        info().writes |= GprBit(kRdx);
        if (is_division || size == 1) info().reads |= GprBit(kRdx);
      }
      if (is_division) {
        Flags(0, kFlagBits);
      } else {
        Flags(kCfBit | kOfBit, kResultFlags | kAfBit);
      }
      return Outcome::kNext;
    }
  }
}

IntegerLifter::Outcome IntegerLifter::LiftGroup5(uint8_t opcode) {
  const unsigned kind = encoding_.reg & 7;
  const bool may_repeat = kind == 2 || kind == 4;
  if (encoding_.repeat != 0 && !may_repeat) return Outcome::kOther;
  if (kind < 2) return LiftUnary(kind == 0 ? kInc : kDec, opcode == 0xfe ? 0 : encoding_.size);
  if (opcode == 0xfe || encoding_.has_66) return Outcome::kOther;
  switch (kind) {
    case 2:
    case 4: {
      info().effect = Effect::kBranch;
      passes_arguments_ = true;
      const bool is_call = kind == 2;
      MicroOp& op = HasMemory() ? EmitMemory(is_call ? kCallMem : kJumpToMem)
                                : Emit(is_call ? kCallReg : kJumpToReg);
      if (!HasMemory()) op.a = Read(3, encoding_.rm);
      if (is_call) {
        SetAccess(kRsp, kNoGpr, 0, -8);
        info().address |= GprBit(kRsp);
        info().reads |= GprBit(kRsp);
        info().writes |= GprBit(kRsp);
      }
      op.immediate = ip_ + info().offset;
      return Outcome::kEnd;
    }
    case 6:
      return LiftPushMemory();
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftExtend(bool is_signed, unsigned from) {
  const unsigned to = encoding_.size;
  if (HasMemory()) {
    const Handler handler = kExtendMem[is_signed][from][to];
    if (handler == nullptr) return Outcome::kOther;
    EmitMemory(handler).a = Write(to, encoding_.reg);
  } else {
    const Handler handler = kExtendReg[is_signed][from][to];
    if (handler == nullptr) return Outcome::kOther;
    MicroOp& op = Emit(handler);
    op.b = Read(from, encoding_.rm);
    op.a = Write(to, encoding_.reg);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftImul() {
  const unsigned size = encoding_.size;
  const uint16_t operand = LoadOperand(size);
  MicroOp& op = Emit(nullptr);
  EmitFlagged(op, kImulRegReg[size]);
  op.a = Update(size, encoding_.reg);
  op.b = operand;
  Flags(kCfBit | kOfBit, kResultFlags | kAfBit);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftImulImmediate(uint64_t immediate) {
  const unsigned size = encoding_.size;
  const uint16_t operand = LoadOperand(size);
  MicroOp& op = Emit(nullptr);
  EmitFlagged(op, kImulRegRegImm[size]);
  op.a = Write(size, encoding_.reg);
  op.b = operand;
  op.immediate = immediate;
  Flags(kCfBit | kOfBit, kResultFlags | kAfBit);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftBitTest(unsigned operation, bool by_reg) {
  const unsigned size = encoding_.size;
  const bool changes = operation != 0;
  uint64_t immediate = 0;
  if (!by_reg) immediate = Byte() & ((8u << size) - 1);
  if (by_reg && HasMemory()) {
    // The bit may be in any word of memory, so the address of that word is computed first.
    MicroOp& address = EmitMemory(kBitStringAddress[size]);
    address.a = kAddressTemp * 8;
    address.b = Read(size, encoding_.reg);
    ++info().address_ops;
    info().address |= GprBit(encoding_.reg);
    encoding_.base = kAddressTemp;
    encoding_.index = kNoGpr;
    encoding_.scale = 0;
    encoding_.displacement = 0;
    encoding_.segment_word = 0;
    encoding_.has_67 = false;
    encoding_.is_rip_relative = false;
    info().memory_op = static_cast<uint8_t>(op_count_ - info().first_op);
    MicroOp& load = Emit(changes ? kLoadForUpdate[size] : kLoad[size]);
    load.base = kAddressTemp;
    load.a = kValueTemp * 8;
    if (changes) info().store_bytes = static_cast<uint8_t>(1u << size);
    MicroOp& op = Emit(kBitTestByReg[operation][size]);
    op.a = kValueTemp * 8;
    op.b = Read(size, encoding_.reg);
  } else {
    const uint16_t operand = changes ? LoadForUpdate(size) : LoadOperand(size);
    MicroOp& op = Emit(by_reg ? kBitTestByReg[operation][size] : kBitTestByImm[operation][size]);
    op.a = operand;
    op.immediate = immediate;
    if (by_reg) op.b = Read(size, encoding_.reg);
  }
  Flags(kCfBit, kFlagBits & ~kCfBit);
  if (changes) FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftBitScan(BitScanOperation operation) {
  const unsigned size = encoding_.size;
  const uint16_t operand = LoadOperand(size);
  MicroOp& op = Emit(kBitScan[operation][size]);
  op.b = operand;
  // bsf and bsr of 0 keep the destination.
  op.a = operation <= kBsr ? Update(size, encoding_.reg) : Write(size, encoding_.reg);
  switch (operation) {
    case kPopcnt:
      Flags(kFlagBits);
      break;
    case kBsf:
    case kBsr:
      Flags(kZfBit, kFlagBits & ~kZfBit);
      break;
    default:
      Flags(kZfBit | kCfBit, kFlagBits & ~kZfBit & ~kCfBit);
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftDoubleShift(unsigned right, bool by_cl) {
  const unsigned size = encoding_.size;
  const unsigned count = by_cl ? 0 : Byte() & (size == 3 ? 63u : 31u);
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(by_cl ? kDoubleShiftByCl[right][size] : kDoubleShiftByImm[right][size]);
  op.a = operand;
  op.b = Read(size, encoding_.reg);
  op.immediate = count;
  if (by_cl) info().reads |= GprBit(kRcx);
  if (by_cl || count == 0 || size == 1) {
    Flags(0, count == 0 && !by_cl ? 0 : kFlagBits);
  } else {
    Flags(kCfBit | kResultFlags, kAfBit | kOfBit);
  }
  FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftCmpxchg(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kCmpxchg[size]);
  op.a = operand;
  op.b = Read(size, encoding_.reg);
  Update(size, kRax);
  Flags(kFlagBits);
  FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftXadd(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kXadd[size]);
  op.a = operand;
  op.b = Update(size, encoding_.reg);
  Flags(kFlagBits);
  FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftExchange(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kExchange[size]);
  op.a = operand;
  op.b = Update(size, encoding_.reg);
  FinishUpdate(size);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftConditionalJump(unsigned code, uint64_t target) {
  if (encoding_.has_66) return Outcome::kOther;
  const Condition condition = ConditionOf(code);
  info().reads |= condition.reads;
  info().effect = Effect::kBranch;
  // The previous instruction may be fused with the jump.
  if (instruction_count_ > 0 && fused_[instruction_count_ - 1] != nullptr) {
    ops_[op_count_ - 1].handler = fused_[instruction_count_ - 1];
  }
  MicroOp& op = Emit(kJumpIf);
  op.a = condition.mask;
  op.b = condition.negated;
  op.displacement = static_cast<int64_t>(ip_ + info().offset);
  op.immediate = target;
  return Outcome::kEnd;
}

IntegerLifter::Outcome IntegerLifter::LiftCmov(unsigned code) {
  const unsigned size = encoding_.size;
  const Condition condition = ConditionOf(code);
  info().reads |= condition.reads;
  MicroOp& op = HasMemory() ? EmitMemory(kMoveMemIf[size]) : Emit(kMoveRegIf[size]);
  op.a = condition.mask;
  op.b = condition.negated;
  op.extra = static_cast<uint8_t>(encoding_.reg);
  if (!HasMemory()) op.immediate = Read(size, encoding_.rm);
  Update(size, encoding_.reg);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftSetcc(unsigned code) {
  const Condition condition = ConditionOf(code);
  info().reads |= condition.reads;
  if (HasMemory()) info().store_bytes = 1;
  MicroOp& op = HasMemory() ? EmitMemory(kStoreIf) : Emit(kSetIf);
  op.a = condition.mask;
  op.b = condition.negated;
  if (!HasMemory()) op.immediate = Write(0, encoding_.rm);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftPush(unsigned reg) {
  const bool is_word = encoding_.size == 1;
  info().store_bytes = is_word ? 2 : 8;
  info().effect = Effect::kPush;
  MicroOp& op = EmitStack(is_word ? kPushWord : kPush, is_word ? -2 : -8);
  op.b = Read(3, reg);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftPushMemory() {
  EmitMemory(kLoad[3]).a = kValueTemp * 8;
  info().store_bytes = 8;
  info().effect = Effect::kPush;
  MicroOp& op = EmitStack(kPush, -8);
  op.b = kValueTemp * 8;
  info().address = GprBit(kRsp);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftPushImmediate(uint64_t immediate) {
  info().store_bytes = 8;
  info().effect = Effect::kPush;
  EmitStack(kPushImm, -8).immediate = immediate;
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftPop(unsigned reg) {
  const bool is_word = encoding_.size == 1;
  info().effect = Effect::kPop;
  MicroOp& op = EmitStack(is_word ? kPopWord : kPop, 0);
  op.a = Write(is_word ? 1 : 3, reg);
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftReturn(unsigned release) {
  info().effect = Effect::kBranch;
  MicroOp& op = EmitStack(kReturn, 0);
  op.a = static_cast<uint16_t>(release);
  op.immediate = ip_ + info().offset;
  return Outcome::kEnd;
}

IntegerLifter::Outcome IntegerLifter::LiftDirect(Handler handler, uint64_t target) {
  MicroOp& op = Emit(handler);
  op.displacement = static_cast<int64_t>(ip_ + info().offset);
  op.immediate = target;
  return Outcome::kEnd;
}

IntegerLifter::Outcome IntegerLifter::LiftString(StringOperation operation, unsigned size) {
  if (encoding_.has_67) return Outcome::kOther;
  const bool repeats = encoding_.repeat != 0;
  if (operation == kMovs || operation == kCmps || operation == kLods) {
    info().reads |= GprBit(kRsi);
    info().writes |= GprBit(kRsi);
  }
  if (operation != kLods) {
    info().reads |= GprBit(kRdi);
    info().writes |= GprBit(kRdi);
  }
  if (operation == kStos || operation == kScas || (operation == kLods && size < 2)) {
    info().reads |= GprBit(kRax);
  }
  if (operation == kLods) {
    info().writes |= GprBit(kRax);
    if (repeats) info().reads |= GprBit(kRax);  // kept if rcx is 0
  }
  if (repeats) {
    info().reads |= GprBit(kRcx);
    info().writes |= GprBit(kRcx);
  }
  info().effect = Effect::kString;
  MicroOp& op = Emit(kString);
  op.a = static_cast<uint16_t>(size);
  op.b = encoding_.repeat == 0 ? kNoRepeat
         : encoding_.repeat == 0xf3 || (operation != kScas && operation != kCmps)
             ? kRepeat
             : kRepeatWhileNotEqual;
  op.index = encoding_.segment_word != 0 ? encoding_.segment_word : uint8_t{kNoGpr};
  op.extra = static_cast<uint8_t>(operation);
  if (operation == kStos || operation == kScas) {
    info().address |= GprBit(kRdi);
    SetAccess(kRdi, kNoGpr, 0, 0);
  } else {
    info().address |= GprBit(kRsi);
    SetAccess(kRsi, op.index, 0, 0);
  }
  if (operation == kScas || operation == kCmps) {
    if (repeats) {
      Flags(0, kFlagBits);
    } else {
      Flags(kFlagBits);
    }
  }
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftSave(bool is_compacted) {
  info().reads |= GprBit(kRax) | GprBit(kRdx);
  info().effect = Effect::kSave;
  uses_vector_state_ = true;
  EmitMemory(kSaveVectorState).a = is_compacted;
  return Outcome::kNext;
}

IntegerLifter::Outcome IntegerLifter::LiftRestore() {
  info().reads |= GprBit(kRax) | GprBit(kRdx);
  info().effect = Effect::kRestore;
  uses_vector_state_ = true;
  EmitMemory(kRestoreVectorState);
  Emit(kContinue);
  return Outcome::kEnd;
}

IntegerLifter::Outcome IntegerLifter::LiftTwoByte(uint8_t opcode) {
  if (encoding_.repeat != 0 && opcode != 0xb8 && opcode != 0xbc && opcode != 0xbd &&
      (opcode & 0xf0) != 0x80 && opcode != 0x1e) {
    return LiftVectorMove(opcode);
  }
  switch (opcode >> 4) {
    case 0x0:  // syscall, ud2, prefetchw
    case 0x1:  // prefetch, endbr64, nop and other hints
      return LiftSystemOrHint(opcode);
    case 0x4:  // cmovcc
      ParseModrm();
      return LiftCmov(opcode);
    case 0x8: {  // jcc
      const uint64_t displacement = Immediate(2);
      return LiftConditionalJump(opcode, NextIp() + displacement);
    }
    case 0x9:  // setcc
      ParseModrm();
      return LiftSetcc(opcode);
    case 0xa:  // bt, bts, shld, shrd, group 15, imul
    case 0xb:  // cmpxchg, btr, movzx, popcnt, group 8, btc, bsf, bsr, movsx
      return LiftBitsOrExtend(opcode);
    case 0xc:  // xadd, movnti, group 9, bswap
      return LiftAtomicOrSwap(opcode);
    default:
      return LiftVectorMove(opcode);
  }
}

IntegerLifter::Outcome IntegerLifter::LiftSystemOrHint(uint8_t opcode) {
  switch (Opcode0f{opcode}) {
    case Opcode0f::kSyscall:
      return Refuse(StopReason::kSystemCall);
    case Opcode0f::kUd2:
      return Refuse(StopReason::kTrap);
    case Opcode0f::kEndbr:
      ParseModrm();
      if (!HasMemory() && encoding_.repeat == 0xf3 && (encoding_.reg & 7) == 1) {  // rdssp
        Emit(kShadowStack).a = Update(encoding_.size, encoding_.rm);
        return Outcome::kNext;
      }
      Emit(kNop);
      return Outcome::kNext;
    case Opcode0f::kPrefetchw:
    case Opcode0f::kPrefetch:
      ParseModrm();
      if (HasMemory()) {
        EmitMemory(kPrefetchLine);
      } else {
        Emit(kNop);
      }
      return Outcome::kNext;
    case Opcode0f::kHint19:
    case Opcode0f::kCldemote:
    case Opcode0f::kHint1d:
    case Opcode0f::kNopOperand:
      ParseModrm();
      Emit(kNop);
      return Outcome::kNext;
    case Opcode0f::kBoundsLoad:
    case Opcode0f::kBoundsStore:
      return Outcome::kOther;
    default:
      return LiftVectorMove(opcode);
  }
}

IntegerLifter::Outcome IntegerLifter::LiftBitsOrExtend(uint8_t opcode) {
  switch (Opcode0f{opcode}) {
    case Opcode0f::kBt:
      ParseModrm();
      return LiftBitTest(0, true);
    case Opcode0f::kBts:
      ParseModrm();
      return LiftBitTest(1, true);
    case Opcode0f::kBtr:
      ParseModrm();
      return LiftBitTest(2, true);
    case Opcode0f::kBtc:
      ParseModrm();
      return LiftBitTest(3, true);
    case Opcode0f::kBitTestImmediate:
      ParseModrm();
      if ((encoding_.reg & 7) < 4) return Outcome::kOther;
      return LiftBitTest(encoding_.reg & 3, false);
    case Opcode0f::kShldImmediate:
    case Opcode0f::kShrdImmediate:
      ParseModrm();
      return LiftDoubleShift(Opcode0f{opcode} == Opcode0f::kShrdImmediate, false);
    case Opcode0f::kShldByCl:
    case Opcode0f::kShrdByCl:
      ParseModrm();
      return LiftDoubleShift(Opcode0f{opcode} == Opcode0f::kShrdByCl, true);
    case Opcode0f::kGroup15:
      return LiftGroup15();
    case Opcode0f::kImul:
      ParseModrm();
      return LiftImul();
    case Opcode0f::kCmpxchgByte:
    case Opcode0f::kCompareAndExchange:
      ParseModrm();
      return LiftCmpxchg(SizeOf(opcode));
    case Opcode0f::kMovzxByte:
    case Opcode0f::kMovzxWord:
      ParseModrm();
      return LiftExtend(false, opcode & 1);
    case Opcode0f::kMovsxByte:
    case Opcode0f::kMovsxWord:
      ParseModrm();
      return LiftExtend(true, opcode & 1);
    case Opcode0f::kPopulationCount:
      if (encoding_.repeat != 0xf3) return Outcome::kOther;
      ParseModrm();
      return LiftBitScan(kPopcnt);
    case Opcode0f::kScanForward:
      if (encoding_.repeat == 0xf2) return Outcome::kOther;
      ParseModrm();
      return LiftBitScan(encoding_.repeat == 0xf3 ? kTzcnt : kBsf);
    case Opcode0f::kScanReverse:
      if (encoding_.repeat == 0xf2) return Outcome::kOther;
      ParseModrm();
      return LiftBitScan(encoding_.repeat == 0xf3 ? kLzcnt : kBsr);
    default:
      return LiftVectorMove(opcode);
  }
}

// Lifts fences, xsave and xrstor; Lifter::LiftOther handles prefetches and write-backs of lines.
IntegerLifter::Outcome IntegerLifter::LiftGroup15() {
  ParseModrm();
  if (encoding_.has_66) return Outcome::kOther;
  const unsigned kind = encoding_.reg & 7;
  if (!HasMemory()) {
    if (kind < 5) return Outcome::kOther;
    Emit(kNop);  // lfence, mfence, sfence
    return Outcome::kNext;
  }
  switch (kind) {
    case 4:  // xsave
    case 6:  // xsaveopt
      return LiftSave(false);
    case 5:  // xrstor
      return LiftRestore();
    default:
      return Outcome::kOther;
  }
}

IntegerLifter::Outcome IntegerLifter::LiftAtomicOrSwap(uint8_t opcode) {
  const unsigned size = encoding_.size;
  if (opcode >= 0xc8) {  // bswap
    if (size == 1) return Outcome::kOther;
    Emit(kByteSwap[size]).a = Update(size, RegisterIn(opcode));
    return Outcome::kNext;
  }
  switch (Opcode0f{opcode}) {
    case Opcode0f::kXaddByte:
    case Opcode0f::kExchangeAndAdd:
      ParseModrm();
      return LiftXadd(SizeOf(opcode));
    case Opcode0f::kMovnti:
      ParseModrm();
      if (!HasMemory() || encoding_.has_66) return Outcome::kOther;
      return LiftStore(size);
    case Opcode0f::kGroup9:
      return LiftGroup9();
    default:
      return LiftVectorMove(opcode);
  }
}

// Lifts xsavec, cmpxchg8b and cmpxchg16b.
IntegerLifter::Outcome IntegerLifter::LiftGroup9() {
  ParseModrm();
  if (!HasMemory() || encoding_.has_66) return Outcome::kOther;
  if ((encoding_.reg & 7) == 4) return LiftSave(true);
  if ((encoding_.reg & 7) != 1) return Outcome::kOther;
  const bool is_of_quadwords = encoding_.size == 3;
  info().store_bytes = is_of_quadwords ? 16 : 8;
  info().reads |= GprBit(kRax) | GprBit(kRdx) | GprBit(kRbx) | GprBit(kRcx);
  info().writes |= GprBit(kRax) | GprBit(kRdx);
  EmitMemory(kCompareExchangeWide[is_of_quadwords]);
  Flags(kZfBit);
  return Outcome::kNext;
}

}  // namespace hbbp::trace
