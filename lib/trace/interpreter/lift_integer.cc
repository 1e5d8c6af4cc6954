// The integer instructions. What is not known here for certain is kOther.
//
// Contract: see lift.h.
#include "trace/interpreter/lifter.h"
#include "trace/interpreter/packed_flags.h"

namespace hbbp::trace {
namespace {

constexpr RegisterSet kResultFlags = kPfBit | kZfBit | kSfBit;

// rep and repne mean something, or nothing for certain.
bool MayRepeat(uint8_t opcode) {
  switch (opcode & 0xf0) {
    case 0x70:
      return true;
    case 0xa0:
      return opcode != 0xa8 && opcode != 0xa9 && opcode > 0xa3;
    default:
      return opcode == 0x90 || opcode == 0xc2 || opcode == 0xc3 || opcode == 0xe8 ||
             opcode == 0xe9 || opcode == 0xeb || opcode == 0xff;
  }
}

}  // namespace

Lifter::Outcome Lifter::LiftOneByte(uint8_t opcode) {
  if (encoding_.repeat != 0 && !MayRepeat(opcode)) return Outcome::kOther;
  const unsigned size = encoding_.size;
  if (opcode < 0x40) return LiftAlu(opcode);
  switch (opcode) {
    case 0x50:
    case 0x51:
    case 0x52:
    case 0x53:
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
      return LiftPush((opcode & 7u) | ((encoding_.rex & 1u) << 3));
    case 0x58:
    case 0x59:
    case 0x5a:
    case 0x5b:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
      return LiftPop((opcode & 7u) | ((encoding_.rex & 1u) << 3));
    case 0x63:
      ParseModrm();
      if (size == 1) return Outcome::kOther;
      if (size == 2) {
        if (HasMemory()) {
          EmitMemory(kLoad[2]).a = Write(2, encoding_.reg);
        } else {
          MicroOp& op = Emit(kMoveReg[2]);
          op.b = Read(2, encoding_.rm);
          op.a = Write(2, encoding_.reg);
        }
        return Outcome::kNext;
      }
      return LiftExtend(true, 2);
    case 0x68:
      if (size == 1) return Outcome::kOther;
      return LiftPushImmediate(static_cast<uint64_t>(SignedImmediate(4)));
    case 0x69: {
      ParseModrm();
      const auto immediate = static_cast<uint64_t>(SignedImmediate(size == 1 ? 2 : 4));
      return LiftImulImmediate(immediate);
    }
    case 0x6a:
      if (size == 1) return Outcome::kOther;
      return LiftPushImmediate(static_cast<uint64_t>(SignedByte()));
    case 0x6b: {
      ParseModrm();
      const auto immediate = static_cast<uint64_t>(SignedByte());
      return LiftImulImmediate(immediate);
    }
    case 0x70:
    case 0x71:
    case 0x72:
    case 0x73:
    case 0x74:
    case 0x75:
    case 0x76:
    case 0x77:
    case 0x78:
    case 0x79:
    case 0x7a:
    case 0x7b:
    case 0x7c:
    case 0x7d:
    case 0x7e:
    case 0x7f: {
      const auto displacement = static_cast<uint64_t>(SignedByte());
      return LiftConditionalJump(opcode, NextIp() + displacement);
    }
    case 0x80:
    case 0x81:
    case 0x83: {
      ParseModrm();
      const unsigned of = opcode == 0x80 ? 0 : size;
      const auto immediate =
          static_cast<uint64_t>(opcode == 0x81 ? SignedImmediate(size == 1 ? 2 : 4) : SignedByte());
      return LiftAluImmediate(static_cast<AluOperation>(encoding_.reg & 7), of, immediate);
    }
    case 0x84:
    case 0x85:
      ParseModrm();
      return LiftTest(opcode == 0x84 ? 0 : size);
    case 0x86:
    case 0x87:
      ParseModrm();
      return LiftExchange(opcode == 0x86 ? 0 : size);
    case 0x88:
    case 0x89: {
      ParseModrm();
      const unsigned of = opcode == 0x88 ? 0 : size;
      if (HasMemory()) {
        info().store_bytes = static_cast<uint8_t>(1u << of);
        EmitMemory(kStore[of]).b = Read(of, encoding_.reg);
      } else {
        MicroOp& op = Emit(kMoveReg[of]);
        op.b = Read(of, encoding_.reg);
        op.a = Write(of, encoding_.rm);
      }
      return Outcome::kNext;
    }
    case 0x8a:
    case 0x8b: {
      ParseModrm();
      const unsigned of = opcode == 0x8a ? 0 : size;
      if (HasMemory()) {
        EmitMemory(kLoad[of]).a = Write(of, encoding_.reg);
      } else {
        MicroOp& op = Emit(kMoveReg[of]);
        op.b = Read(of, encoding_.rm);
        op.a = Write(of, encoding_.reg);
      }
      return Outcome::kNext;
    }
    case 0x8d: {
      ParseModrm();
      if (!HasMemory() || encoding_.has_67) return Outcome::kOther;
      encoding_.segment_word = 0;
      EmitMemory(kLea[size]).a = Write(size, encoding_.reg);
      return Outcome::kNext;
    }
    case 0x8f: {
      ParseModrm();
      if ((encoding_.reg & 7) != 0 || HasMemory() || size == 1) return Outcome::kOther;
      return LiftPop(encoding_.rm);
    }
    case 0x90:
      if ((encoding_.rex & 1) == 0 || encoding_.repeat != 0) {  // nop, pause
        Emit(kNop);
        return Outcome::kNext;
      }
      [[fallthrough]];
    case 0x91:
    case 0x92:
    case 0x93:
    case 0x94:
    case 0x95:
    case 0x96:
    case 0x97: {
      MicroOp& op = Emit(kExchange[size]);
      op.a = Update(size, kRax);
      op.b = Update(size, (opcode & 7u) | ((encoding_.rex & 1u) << 3));
      return Outcome::kNext;
    }
    case 0x98: {  // cbw, cwde, cdqe
      MicroOp& op = Emit(kExtendReg[1][size - 1][size]);
      op.b = Read(size - 1, kRax);
      op.a = Write(size, kRax);
      return Outcome::kNext;
    }
    case 0x99:
      Emit(kSignToRdx[size]);
      Read(size, kRax);
      Write(size, kRdx);
      return Outcome::kNext;
    case 0x9c:
      if (size == 1) return Outcome::kOther;
      info().reads |= kFlagBits;
      info().store_bytes = 8;
      info().effect = Effect::kPush;
      EmitStack(kPushFlags, -8);
      return Outcome::kNext;
    case 0x9d:
      if (size == 1) return Outcome::kOther;
      info().effect = Effect::kPop;
      EmitStack(kPopFlags, 0);
      Flags(kFlagBits);
      return Outcome::kNext;
    case 0x9e:
      info().reads |= GprBit(kRax);
      Emit(kStoreAh);
      Flags(kFlagBits & ~kOfBit);
      return Outcome::kNext;
    case 0x9f:
      info().reads |= kFlagBits & ~kOfBit;
      Update(0, kRax);
      Emit(kLoadAh);
      return Outcome::kNext;
    case 0xa4:
    case 0xa5:
      return LiftString(kMovs, opcode & 1 ? size : 0);
    case 0xa6:
    case 0xa7:
      return LiftString(kCmps, opcode & 1 ? size : 0);
    case 0xa8:
    case 0xa9: {
      const unsigned of = opcode == 0xa8 ? 0 : size;
      MicroOp& op = Emit(nullptr);
      EmitFlagged(op, kAlu[kTest][of].reg_imm);
      op.a = Read(of, kRax);
      op.immediate = static_cast<uint64_t>(SignedImmediate(of == 0 ? 1 : of == 1 ? 2 : 4));
      Flags(kFlagBits);
      return Outcome::kNext;
    }
    case 0xaa:
    case 0xab:
      return LiftString(kStos, opcode & 1 ? size : 0);
    case 0xac:
    case 0xad:
      return LiftString(kLods, opcode & 1 ? size : 0);
    case 0xae:
    case 0xaf:
      return LiftString(kScas, opcode & 1 ? size : 0);
    case 0xb0:
    case 0xb1:
    case 0xb2:
    case 0xb3:
    case 0xb4:
    case 0xb5:
    case 0xb6:
    case 0xb7: {
      MicroOp& op = Emit(kMoveImm[0]);
      op.a = Write(0, (opcode & 7u) | ((encoding_.rex & 1u) << 3));
      op.immediate = Byte();
      return Outcome::kNext;
    }
    case 0xb8:
    case 0xb9:
    case 0xba:
    case 0xbb:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf: {
      MicroOp& op = Emit(kMoveImm[size]);
      op.a = Write(size, (opcode & 7u) | ((encoding_.rex & 1u) << 3));
      if (size == 3) {
        __builtin_memcpy(&op.immediate, cursor_, 8);
        cursor_ += 8;
      } else {
        op.immediate = static_cast<uint64_t>(SignedImmediate(size == 1 ? 2 : 4));
      }
      return Outcome::kNext;
    }
    case 0xc0:
    case 0xc1: {
      ParseModrm();
      const uint8_t count = Byte();
      return LiftShift(opcode == 0xc0 ? 0 : size, false, count);
    }
    case 0xc2: {
      if (size == 1) return Outcome::kOther;
      const auto release = static_cast<uint16_t>(SignedImmediate(2));
      return LiftReturn(release);
    }
    case 0xc3:
      if (size == 1) return Outcome::kOther;
      return LiftReturn(0);
    case 0xc6:
    case 0xc7: {
      ParseModrm();
      if ((encoding_.reg & 7) != 0) return Outcome::kOther;
      const unsigned of = opcode == 0xc6 ? 0 : size;
      const auto immediate = static_cast<uint64_t>(SignedImmediate(of == 0 ? 1 : of == 1 ? 2 : 4));
      if (HasMemory()) {
        info().store_bytes = static_cast<uint8_t>(1u << of);
        EmitMemory(kStoreImm[of]).immediate = immediate;
      } else {
        MicroOp& op = Emit(kMoveImm[of]);
        op.a = Write(of, encoding_.rm);
        op.immediate = immediate;
      }
      return Outcome::kNext;
    }
    case 0xc8: {
      const auto bytes = static_cast<uint16_t>(SignedImmediate(2));
      const uint8_t level = Byte();
      if (size == 1 || level != 0) return Outcome::kOther;
      info().store_bytes = 8;
      EmitStack(kPush, -8).b = ReadWord(kRbp);
      MicroOp& frame = Emit(kMoveReg[3]);
      frame.a = Write(3, kRbp);
      frame.b = ReadWord(kRsp);
      Emit(kAddToRsp).immediate = -uint64_t{bytes};
      return Outcome::kNext;
    }
    case 0xc9: {
      if (size == 1) return Outcome::kOther;
      info().reads |= GprBit(kRbp);
      info().writes |= GprBit(kRbp) | GprBit(kRsp);
      info().address |= GprBit(kRbp);
      info().effect = Effect::kLeave;
      Emit(kLeave).base = kRbp;
      return Outcome::kNext;
    }
    case 0xcc:
    case 0xf1:
    case 0xf4:
      return Refuse(StopReason::kTrap);
    case 0xcd:
      return Refuse(StopReason::kSystemCall);
    case 0xd0:
    case 0xd1:
      ParseModrm();
      return LiftShift(opcode == 0xd0 ? 0 : size, false, 1);
    case 0xd2:
    case 0xd3:
      ParseModrm();
      return LiftShift(opcode == 0xd2 ? 0 : size, true, 0);
    case 0xd7: {  // xlat: al = [rbx + al]
      if (encoding_.has_67) return Outcome::kOther;
      MicroOp& index = Emit(kExtendReg[0][0][3]);
      index.a = kAddressTemp * 8;
      index.b = Read(0, kRax);
      info().reads |= GprBit(kRbx);
      info().address |= GprBit(kRbx) | GprBit(kRax);
      if (encoding_.segment_word != 0) return Outcome::kOther;
      info().memory_op = 1;
      info().address_ops = 1;
      MicroOp& op = Emit(kLoad[0]);
      op.base = kRbx;
      op.index = kAddressTemp;
      op.a = Write(0, kRax);
      return Outcome::kNext;
    }
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3: {
      if (encoding_.has_67 || encoding_.has_66) return Outcome::kOther;
      const auto displacement = static_cast<uint64_t>(SignedByte());
      const uint64_t target = NextIp() + displacement;
      info().reads |= GprBit(kRcx);
      info().effect = Effect::kBranch;
      MicroOp& op = Emit(opcode == 0xe3 ? kJumpIfRcxZero : kLoop);
      if (opcode != 0xe3) info().writes |= GprBit(kRcx);
      if (opcode < 0xe2) info().reads |= kZfBit;
      op.a = opcode == 0xe3 ? 8 : opcode == 0xe2 ? 0 : opcode == 0xe1 ? 1 : 2;
      op.displacement = static_cast<int64_t>(ip_ + info().offset);
      op.immediate = target;
      return Outcome::kEnd;
    }
    case 0xe8: {
      const auto displacement = static_cast<uint64_t>(SignedImmediate(4));
      if (size == 1) return Outcome::kOther;
      const uint64_t target = NextIp() + displacement;
      info().store_bytes = 8;
      MicroOp& op = EmitStack(kCall, -8);
      op.extra = static_cast<uint8_t>(cursor_ - start_);
      op.immediate = target;
      return Outcome::kEnd;
    }
    case 0xe9:
    case 0xeb: {
      const auto displacement =
          static_cast<uint64_t>(opcode == 0xe9 ? SignedImmediate(4) : SignedByte());
      if (size == 1) return Outcome::kOther;
      return LiftDirect(kJump, NextIp() + displacement);
    }
    case 0xf5:
    case 0xf8:
    case 0xf9: {
      MicroOp& op = Emit(kSetFlags);
      if (opcode == 0xf5) {
        op.b = kPackedCf;
        info().reads |= kCfBit;
      }
      if (opcode == 0xf8) op.a = kPackedCf;
      if (opcode == 0xf9) op.immediate = kPackedCf;
      Flags(kCfBit);
      return Outcome::kNext;
    }
    case 0xf6:
    case 0xf7:
      ParseModrm();
      return LiftGroup3(opcode == 0xf6 ? 0 : size);
    case 0xfc:
    case 0xfd:
      Emit(kSetDirection).immediate = opcode == 0xfd ? kFlagDf : 0;
      return Outcome::kNext;
    case 0xfe:
    case 0xff:
      ParseModrm();
      return LiftGroup5(opcode);
    default:
      return Outcome::kOther;
  }
}

Lifter::Outcome Lifter::LiftAlu(uint8_t opcode) {
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
    op.immediate = static_cast<uint64_t>(SignedImmediate(form == 4 ? 1 : size == 1 ? 2 : 4));
    return Outcome::kNext;
  }
  ParseModrm();
  if (!HasMemory()) {
    const unsigned to = form < 2 ? encoding_.rm : encoding_.reg;
    const unsigned from = form < 2 ? encoding_.reg : encoding_.rm;
    MicroOp& op = Emit(nullptr);
    EmitFlagged(op, kAlu[operation][size].reg_reg);
    // The result does not depend on the register.
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

Lifter::Outcome Lifter::LiftAluImmediate(AluOperation operation, unsigned size,
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

Lifter::Outcome Lifter::LiftTest(unsigned size) {
  Flags(kFlagBits);
  MicroOp& op = HasMemory() ? EmitMemory(nullptr) : Emit(nullptr);
  EmitFlagged(op, HasMemory() ? kAlu[kTest][size].mem_reg : kAlu[kTest][size].reg_reg);
  if (!HasMemory()) op.a = Read(size, encoding_.rm);
  op.b = Read(size, encoding_.reg);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftShift(unsigned size, bool by_cl, uint8_t count) {
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

Lifter::Outcome Lifter::LiftUnary(UnaryOperation operation, unsigned size) {
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

Lifter::Outcome Lifter::LiftGroup3(unsigned size) {
  switch (encoding_.reg & 7) {
    case 0:
    case 1: {
      const auto immediate = static_cast<uint64_t>(SignedImmediate(size == 0   ? 1
                                                                   : size == 1 ? 2
                                                                               : 4));
      return LiftAluImmediate(kTest, size, immediate);
    }
    case 2:
      return LiftUnary(kNot, size);
    case 3:
      return LiftUnary(kNeg, size);
    default: {
      const bool is_division = (encoding_.reg & 2) != 0;
      const uint16_t operand = LoadOperand(size);
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

Lifter::Outcome Lifter::LiftGroup5(uint8_t opcode) {
  const unsigned kind = encoding_.reg & 7;
  const bool may_repeat = kind == 2 || kind == 4;
  if (encoding_.repeat != 0 && !may_repeat) return Outcome::kOther;
  if (kind < 2) return LiftUnary(kind == 0 ? kInc : kDec, opcode == 0xfe ? 0 : encoding_.size);
  if (opcode == 0xfe || encoding_.has_66) return Outcome::kOther;
  switch (kind) {
    case 2:
    case 4: {
      info().effect = Effect::kBranch;
      const bool is_call = kind == 2;
      MicroOp& op = HasMemory() ? EmitMemory(is_call ? kCallMem : kJumpToMem)
                                : Emit(is_call ? kCallReg : kJumpToReg);
      if (!HasMemory()) op.a = Read(3, encoding_.rm);
      if (is_call) {
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

Lifter::Outcome Lifter::LiftExtend(bool is_signed, unsigned from) {
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

Lifter::Outcome Lifter::LiftImul() {
  const unsigned size = encoding_.size;
  const uint16_t operand = LoadOperand(size);
  MicroOp& op = Emit(nullptr);
  EmitFlagged(op, kImulRegReg[size]);
  op.a = Update(size, encoding_.reg);
  op.b = operand;
  Flags(kCfBit | kOfBit, kResultFlags | kAfBit);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftImulImmediate(uint64_t immediate) {
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

Lifter::Outcome Lifter::LiftBitTest(unsigned operation, bool by_reg) {
  const unsigned size = encoding_.size;
  const bool changes = operation != 0;
  uint64_t immediate = 0;
  if (!by_reg) immediate = Byte() & ((8u << size) - 1);
  if (by_reg && HasMemory()) {
    // The bit may be anywhere: the address of its word first.
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

Lifter::Outcome Lifter::LiftBitScan(BitScanOperation operation) {
  const unsigned size = encoding_.size;
  const uint16_t operand = LoadOperand(size);
  MicroOp& op = Emit(kBitScan[operation][size]);
  op.b = operand;
  // bsf and bsr of 0 leave the destination.
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

Lifter::Outcome Lifter::LiftDoubleShift(unsigned right, bool by_cl) {
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

Lifter::Outcome Lifter::LiftCmpxchg(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kCmpxchg[size]);
  op.a = operand;
  op.b = Read(size, encoding_.reg);
  Update(size, kRax);
  Flags(kFlagBits);
  FinishUpdate(size);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftXadd(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kXadd[size]);
  op.a = operand;
  op.b = Update(size, encoding_.reg);
  Flags(kFlagBits);
  FinishUpdate(size);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftExchange(unsigned size) {
  const uint16_t operand = LoadForUpdate(size);
  MicroOp& op = Emit(kExchange[size]);
  op.a = operand;
  op.b = Update(size, encoding_.reg);
  FinishUpdate(size);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftConditionalJump(unsigned code, uint64_t target) {
  if (encoding_.has_66) return Outcome::kOther;
  const Condition condition = ConditionOf(code);
  info().reads |= condition.reads;
  info().effect = Effect::kBranch;
  // The instruction before may do both.
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

Lifter::Outcome Lifter::LiftCmov(unsigned code) {
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

Lifter::Outcome Lifter::LiftSetcc(unsigned code) {
  const Condition condition = ConditionOf(code);
  info().reads |= condition.reads;
  if (HasMemory()) info().store_bytes = 1;
  MicroOp& op = HasMemory() ? EmitMemory(kStoreIf) : Emit(kSetIf);
  op.a = condition.mask;
  op.b = condition.negated;
  if (!HasMemory()) op.immediate = Write(0, encoding_.rm);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftPush(unsigned reg) {
  const bool is_word = encoding_.size == 1;
  info().store_bytes = is_word ? 2 : 8;
  info().effect = Effect::kPush;
  MicroOp& op = EmitStack(is_word ? kPushWord : kPush, is_word ? -2 : -8);
  op.b = Read(3, reg);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftPushMemory() {
  EmitMemory(kLoad[3]).a = kValueTemp * 8;
  info().store_bytes = 8;
  info().effect = Effect::kPush;
  MicroOp& op = EmitStack(kPush, -8);
  op.b = kValueTemp * 8;
  info().address = GprBit(kRsp);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftPushImmediate(uint64_t immediate) {
  info().store_bytes = 8;
  info().effect = Effect::kPush;
  EmitStack(kPushImm, -8).immediate = immediate;
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftPop(unsigned reg) {
  const bool is_word = encoding_.size == 1;
  info().effect = Effect::kPop;
  MicroOp& op = EmitStack(is_word ? kPopWord : kPop, 0);
  op.a = Write(is_word ? 1 : 3, reg);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftReturn(unsigned release) {
  info().effect = Effect::kBranch;
  MicroOp& op = EmitStack(kReturn, 0);
  op.a = static_cast<uint16_t>(release);
  op.immediate = ip_ + info().offset;
  return Outcome::kEnd;
}

Lifter::Outcome Lifter::LiftDirect(Handler handler, uint64_t target) {
  MicroOp& op = Emit(handler);
  op.displacement = static_cast<int64_t>(ip_ + info().offset);
  op.immediate = target;
  return Outcome::kEnd;
}

Lifter::Outcome Lifter::LiftString(StringOperation operation, unsigned size) {
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
  if (operation == kScas || operation == kCmps) {
    if (repeats) {
      Flags(0, kFlagBits);
    } else {
      Flags(kFlagBits);
    }
  }
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftSave(bool is_compacted) {
  info().reads |= GprBit(kRax) | GprBit(kRdx);
  info().effect = Effect::kSave;
  uses_vector_state_ = true;
  EmitMemory(kSaveVectorState).a = is_compacted;
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftRestore() {
  info().reads |= GprBit(kRax) | GprBit(kRdx);
  info().effect = Effect::kRestore;
  uses_vector_state_ = true;
  EmitMemory(kRestoreVectorState);
  Emit(kContinue);
  return Outcome::kEnd;
}

Lifter::Outcome Lifter::LiftTwoByte(uint8_t opcode) {
  if (encoding_.repeat != 0 && opcode != 0xb8 && opcode != 0xbc && opcode != 0xbd &&
      (opcode & 0xf0) != 0x80 && opcode != 0x1e) {
    return LiftVectorMove(opcode);
  }
  const unsigned size = encoding_.size;
  switch (opcode) {
    case 0x05:
      return Refuse(StopReason::kSystemCall);
    case 0x0b:
      return Refuse(StopReason::kTrap);
    case 0x0d:
    case 0x18:
    case 0x19:
    case 0x1a:
    case 0x1b:
    case 0x1c:
    case 0x1d:
    case 0x1e:
    case 0x1f:
      ParseModrm();
      if (opcode == 0x1a || opcode == 0x1b) return Outcome::kOther;  // MPX
      if (opcode == 0x1e && !HasMemory() && encoding_.repeat == 0xf3 && (encoding_.reg & 7) == 1) {
        Emit(kShadowStack).a = Update(size, encoding_.rm);
        return Outcome::kNext;
      }
      Emit(kNop);
      return Outcome::kNext;
    case 0x40:
    case 0x41:
    case 0x42:
    case 0x43:
    case 0x44:
    case 0x45:
    case 0x46:
    case 0x47:
    case 0x48:
    case 0x49:
    case 0x4a:
    case 0x4b:
    case 0x4c:
    case 0x4d:
    case 0x4e:
    case 0x4f:
      ParseModrm();
      return LiftCmov(opcode);
    case 0x80:
    case 0x81:
    case 0x82:
    case 0x83:
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0x8c:
    case 0x8d:
    case 0x8e:
    case 0x8f: {
      const auto displacement = static_cast<uint64_t>(SignedImmediate(4));
      return LiftConditionalJump(opcode, NextIp() + displacement);
    }
    case 0x90:
    case 0x91:
    case 0x92:
    case 0x93:
    case 0x94:
    case 0x95:
    case 0x96:
    case 0x97:
    case 0x98:
    case 0x99:
    case 0x9a:
    case 0x9b:
    case 0x9c:
    case 0x9d:
    case 0x9e:
    case 0x9f:
      ParseModrm();
      return LiftSetcc(opcode);
    case 0xa3:
      ParseModrm();
      return LiftBitTest(0, true);
    case 0xab:
      ParseModrm();
      return LiftBitTest(1, true);
    case 0xb3:
      ParseModrm();
      return LiftBitTest(2, true);
    case 0xbb:
      ParseModrm();
      return LiftBitTest(3, true);
    case 0xba:
      ParseModrm();
      if ((encoding_.reg & 7) < 4) return Outcome::kOther;
      return LiftBitTest(encoding_.reg & 3, false);
    case 0xa4:
    case 0xac:
      ParseModrm();
      return LiftDoubleShift(opcode == 0xac ? 1 : 0, false);
    case 0xa5:
    case 0xad:
      ParseModrm();
      return LiftDoubleShift(opcode == 0xad ? 1 : 0, true);
    case 0xae:
      ParseModrm();
      // lfence, mfence, sfence; prefetches and write-backs of lines with memory are left to others
      if (!HasMemory() && (encoding_.reg & 7) >= 5 && !encoding_.has_66) {
        Emit(kNop);
        return Outcome::kNext;
      }
      if (!HasMemory() || encoding_.has_66) return Outcome::kOther;
      switch (encoding_.reg & 7) {
        case 4:
        case 6:  // xsave, xsaveopt
          return LiftSave(false);
        case 5:
          return LiftRestore();
        default:
          return Outcome::kOther;
      }
    case 0xaf:
      ParseModrm();
      return LiftImul();
    case 0xb0:
    case 0xb1:
      ParseModrm();
      return LiftCmpxchg(opcode == 0xb0 ? 0 : size);
    case 0xb6:
    case 0xb7:
      ParseModrm();
      return LiftExtend(false, opcode & 1);
    case 0xb8:
      if (encoding_.repeat != 0xf3) return Outcome::kOther;
      ParseModrm();
      return LiftBitScan(kPopcnt);
    case 0xbc:
    case 0xbd:
      if (encoding_.repeat == 0xf2) return Outcome::kOther;
      ParseModrm();
      if (encoding_.repeat == 0xf3) return LiftBitScan(opcode == 0xbc ? kTzcnt : kLzcnt);
      return LiftBitScan(opcode == 0xbc ? kBsf : kBsr);
    case 0xbe:
    case 0xbf:
      ParseModrm();
      return LiftExtend(true, opcode & 1);
    case 0xc0:
    case 0xc1:
      ParseModrm();
      return LiftXadd(opcode == 0xc0 ? 0 : size);
    case 0xc3:  // movnti
      ParseModrm();
      if (!HasMemory() || encoding_.has_66) return Outcome::kOther;
      info().store_bytes = static_cast<uint8_t>(1u << size);
      EmitMemory(kStore[size]).b = Read(size, encoding_.reg);
      return Outcome::kNext;
    case 0xc7: {
      ParseModrm();
      if (!HasMemory() || encoding_.has_66) return Outcome::kOther;
      if ((encoding_.reg & 7) == 4) return LiftSave(true);  // xsavec
      if ((encoding_.reg & 7) != 1) return Outcome::kOther;
      info().store_bytes = size == 3 ? 16 : 8;
      info().reads |= GprBit(kRax) | GprBit(kRdx) | GprBit(kRbx) | GprBit(kRcx);
      info().writes |= GprBit(kRax) | GprBit(kRdx);
      EmitMemory(kCompareExchangeWide[size == 3 ? 1 : 0]);
      Flags(kZfBit);
      return Outcome::kNext;
    }
    case 0xc8:
    case 0xc9:
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: {
      if (size == 1) return Outcome::kOther;
      MicroOp& op = Emit(kByteSwap[size]);
      op.a = Update(size, (opcode & 7u) | ((encoding_.rex & 1u) << 3));
      return Outcome::kNext;
    }
    default:
      return LiftVectorMove(opcode);
  }
}

}  // namespace hbbp::trace
