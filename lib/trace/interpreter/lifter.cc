// LiftBlock makes a Lifter, which lifts instruction after instruction (LiftInstruction) until one
// ends the block or the block is full. LiftInstruction parses the prefixes and calls the functions
// of the base classes, IntegerLifter and VectorLifter. For instructions that these do not know it
// calls LiftOther, which uses the full decoder: it recognizes those with an effect on control or on
// the state of the processor (LiftSpecial); native stubs execute all others (LiftNative).
//
// Contract: see block_builder.h.
#include "trace/interpreter/lifter.h"

#include "isa/control_flow.h"
#include "isa/zydis_decode.h"
#include "trace/interpreter/integer_lifter.h"
#include "trace/native/native_stub.h"

namespace hbbp::trace {
namespace {

class Lifter : public IntegerLifter {
 public:
  using IntegerLifter::IntegerLifter;

  LiftResult Lift(unsigned max_instructions);

 private:
  Outcome LiftInstruction();
  Outcome LiftOther();
  Outcome LiftSpecial(unsigned mnemonic);
  Outcome LiftNative(const NativeInstruction& native);
  Outcome LiftUnknown(RegisterSet reads, RegisterSet writes);
};

LiftResult Lifter::Lift(unsigned max_instructions) {
  Outcome outcome = Outcome::kNext;
  const unsigned max_ops = kMaxOpsOfInstruction + (recorded_kinds_ != 0 ? kRecordedKinds : 0);
  while (instruction_count_ < max_instructions && op_count_ + max_ops < kMaxBlockOps) {
    const unsigned first_op = op_count_;
    outcome = LiftInstruction();
    if (outcome == Outcome::kRefuse) {
      op_count_ = first_op;
      cursor_ = start_;
      break;
    }
    if (recorded_kinds_ != 0) InsertRecords(first_op);
    InstructionInfo& done = info();
    done.op_count = static_cast<uint8_t>(op_count_ - done.first_op);
    done.length = static_cast<uint8_t>(cursor_ - start_);
    ++instruction_count_;
    if (outcome == Outcome::kEnd) break;
  }
  if (instruction_count_ == 0) return {nullptr, 0, reason_};
  if (outcome != Outcome::kEnd) Emit(kContinue);
  DropDeadFlags();
  return Pack();
}

Lifter::Outcome Lifter::LiftInstruction() {
  start_ = cursor_;
  if (!Fetch()) return Refuse(StopReason::kUnreadableCode);
  const unsigned first_op = op_count_;
  StartInstruction(first_op);
  encoding_ = Encoding{};
  encoding_.size = 2;

  Outcome outcome = Outcome::kOther;
  for (bool is_prefix = true; is_prefix;) {
    const uint8_t byte = Byte();
    switch (byte) {
      case 0x26:  // es
      case 0x2e:  // cs
      case 0x36:  // ss
      case 0x3e:  // ds
        break;
      case 0x64:  // fs
        encoding_.segment_word = kFsBaseWord;
        break;
      case 0x65:  // gs
        encoding_.segment_word = kGsBaseWord;
        break;
      case 0x66:  // operand size
        encoding_.has_66 = true;
        encoding_.size = 1;
        break;
      case 0x67:  // address size
        encoding_.has_67 = true;
        break;
      case 0xf0:  // lock
        encoding_.is_locked = true;
        break;
      case 0xf2:  // repne
      case 0xf3:  // rep
        encoding_.repeat = byte;
        break;
      default: {
        is_prefix = false;
        uint8_t opcode = byte;
        if ((byte & 0xf0) == 0x40) {
          encoding_.has_rex = true;
          encoding_.rex = byte;
          if (byte & 8) encoding_.size = 3;
          opcode = Byte();
        }
        if (opcode == 0x0f) {
          outcome = LiftTwoByte(Byte());
        } else if (opcode == 0xc4 || opcode == 0xc5) {
          --cursor_;
          outcome = LiftVex();
        } else {
          outcome = LiftOneByte(opcode);
        }
      }
    }
    if (cursor_ - start_ > 14) break;
  }
  // Lock is valid only on instructions that store to memory; the full decoder knows which.
  const bool is_doubtful = encoding_.is_locked && info().store_bytes == 0;
  if (outcome == Outcome::kOther || is_doubtful || cursor_ - start_ > 15) {
    StartInstruction(first_op);
    outcome = LiftOther();
  }
  if (static_cast<size_t>(cursor_ - code_) > available_ && outcome != Outcome::kRefuse) {
    return Refuse(StopReason::kUnreadableCode);
  }
  return outcome;
}

Lifter::Outcome Lifter::LiftOther() {
  const auto offset = static_cast<size_t>(start_ - code_);
  size_t size = available_ - offset;
  const bool is_cut_off = size < 15;
  if (size > 15) size = 15;
  const std::span<const uint8_t> code(start_, size);
  ControlFlow flow;
  if (!DecodeControlFlow(code, ip_ + offset, &flow)) {
    return Refuse(is_cut_off ? StopReason::kUnreadableCode : StopReason::kUndecodable);
  }
  ZydisDecodedInstruction instruction;
  if (!DecodeWithZydis(code, &instruction)) return Refuse(StopReason::kUndecodable);
  cursor_ = start_ + flow.length;
  switch (flow.kind) {
    case BranchKind::kNone:
      break;
    case BranchKind::kTrap:
      return Refuse(StopReason::kTrap);
    case BranchKind::kSystem:
      return Refuse(instruction.mnemonic == ZYDIS_MNEMONIC_SYSCALL ||
                            instruction.mnemonic == ZYDIS_MNEMONIC_SYSENTER ||
                            instruction.mnemonic == ZYDIS_MNEMONIC_INT
                        ? StopReason::kSystemCall
                        : StopReason::kFarTransfer);
    default:
      return Refuse(StopReason::kFarTransfer);
  }
  const Outcome special = LiftSpecial(instruction.mnemonic);
  if (special != Outcome::kOther) return special;
  NativeInstruction native;
  if (!DescribeNative(start_, size, ip_ + offset, m_->code_cache->region(), &native)) {
    return Refuse(StopReason::kFarTransfer);
  }
  cursor_ = start_ + native.length;
  return LiftNative(native);
}

Lifter::Outcome Lifter::LiftSpecial(unsigned mnemonic) {
  constexpr RegisterSet kRaxRdx = GprBit(kRax) | GprBit(kRdx);
  switch (mnemonic) {
    // These have operands of unusual sizes, or only a kernel executes them.
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSQ:
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSQ:
      return Refuse(StopReason::kFarTransfer);
    case ZYDIS_MNEMONIC_CPUID:
      return LiftUnknown(GprBit(kRax) | GprBit(kRcx), kRaxRdx | GprBit(kRbx) | GprBit(kRcx));
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDPMC:
      return LiftUnknown(0, kRaxRdx);
    case ZYDIS_MNEMONIC_RDTSCP:
      return LiftUnknown(0, kRaxRdx | GprBit(kRcx));
    case ZYDIS_MNEMONIC_XGETBV:
      info().reads |= GprBit(kRcx);
      info().writes |= kRaxRdx;
      Emit(kReadXcr);
      return Outcome::kNext;
    default:
      return Outcome::kOther;
  }
}

Lifter::Outcome Lifter::LiftUnknown(RegisterSet reads, RegisterSet writes) {
  info().reads |= reads;
  info().writes |= writes;
  Emit(kUnknown);
  return Outcome::kNext;
}

Lifter::Outcome Lifter::LiftNative(const NativeInstruction& native) {
  encoding_ = Encoding{};
  info().reads |= native.reads;
  info().writes |= native.writes;
  touched_flags_[instruction_count_] = native.writes & kFlagBits;
  if ((native.reads | native.writes) & kVectorStateBits) uses_vector_state_ = true;
  const Handler handler = native.execute == nullptr ? kUnknown : kNative;
  MicroOp* op;
  if (native.has_memory) {
    encoding_.base = native.base;
    encoding_.index = native.index;
    encoding_.scale = native.scale;
    encoding_.segment_word = native.segment == 1   ? kFsBaseWord
                             : native.segment == 2 ? kGsBaseWord
                                                   : 0;
    op = &EmitMemory(handler);
    // The base or index may be the word of a segment, and the displacement may have 64 bits.
    op->displacement += native.displacement;
    if (op->base == kAddressTemp) {
      MicroOp& address = ops_[op_count_ - 2];
      address.displacement = native.displacement;
      op->displacement = 0;
    }
    if (op->base != kAddressTemp) access_.displacement = op->displacement;
    if (native.writes_memory) info().store_bytes = native.memory_bytes;
    op->a = native.memory_bytes;
    op->extra = static_cast<uint8_t>(native.alignment - 1);
  } else {
    op = &Emit(handler);
  }
  unsigned flags = 0;
  if (native.reads_memory) flags |= kNativeReadsMemory;
  if (native.writes_memory) flags |= kNativeWritesMemory;
  if ((native.reads | native.writes) & kFlagBits) flags |= kNativeFlags;
  if (native.may_raise_sse) flags |= kNativeMayRaiseSse;
  if ((native.reads | native.writes) & (kMxcsrBit | kX87Bit)) flags |= kNativeMxcsr;
  if (native.may_raise_x87) flags |= kNativeMayRaiseX87;
  op->b = static_cast<uint16_t>(flags);
  op->immediate = reinterpret_cast<uint64_t>(native.execute);
  if (native.execute != nullptr) {
    if (flags == 0) op->handler = kNativeSimple;
    if (flags == kNativeReadsMemory) {
      if (native.memory_bytes == 8) op->handler = kNativeLoad[0];
      if (native.memory_bytes == 16) op->handler = kNativeLoad[1];
      if (native.memory_bytes == 32) op->handler = kNativeLoad[2];
    }
  }
  return Outcome::kNext;
}

}  // namespace

LiftResult LiftBlock(Interpreter* m, uint64_t ip, unsigned max_instructions) {
  Lifter lifter(m, ip);
  return lifter.Lift(max_instructions);
}

}  // namespace hbbp::trace
