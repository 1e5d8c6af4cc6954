// Lifts instructions that the other lift_*.cc do not know: those with an effect on control or on
// the state of the processor, and all that native stubs execute.
//
// Contract: see lift.h.
#include "isa/control_flow.h"
#include "isa/zydis_decode.h"
#include "trace/interpreter/lifter.h"

namespace hbbp::trace {

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

}  // namespace hbbp::trace
