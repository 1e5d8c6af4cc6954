// Fetch reads the code. The functions Emit... append micro-operations and record in InstructionInfo
// what the instruction reads and writes. When the block is complete, DropDeadFlags replaces
// handlers whose flags a later instruction overwrites, and Pack copies everything to the
// interpreter's private block. Lifter (lifter.cc) drives it.
//
// Contract: see the header.
#include "trace/interpreter/block_builder.h"

namespace hbbp::trace {

// Makes at least 15 bytes available, if there are as many. Returns false if there are none.
bool BlockBuilder::Fetch() {
  const auto used = static_cast<size_t>(cursor_ - code_);
  while (available_ < used + 15 && !is_at_end_) {
    const uint64_t address = ip_ + available_;
    const size_t part = kLineBytes - address % kLineBytes;
    if (m_->memory.EnterPage(address) == nullptr ||
        !m_->memory.Copy(code_ + available_, address, part)) {
      is_at_end_ = true;
      for (size_t i = 0; i < 16; ++i) code_[available_ + i] = 0;
    } else {
      available_ += part;
    }
  }
  return available_ > used;
}

void BlockBuilder::StartInstruction(unsigned first_op) {
  cursor_ = start_;
  op_count_ = first_op;
  info() = InstructionInfo{};
  info().offset = static_cast<uint16_t>(start_ - code_);
  info().first_op = static_cast<uint8_t>(first_op);
  access_ = Address{};
  passes_arguments_ = false;
  touched_flags_[instruction_count_] = 0;
  flagless_[instruction_count_] = nullptr;
  fused_[instruction_count_] = nullptr;
}

// The first access counts: that of the operand of `push [memory]`, and not that to the stack.
void BlockBuilder::SetAccess(uint8_t base, uint8_t index, uint8_t scale, int64_t displacement) {
  if (!access_.is_set) access_ = {true, base, index, scale, displacement};
}

void BlockBuilder::InsertRecords(unsigned first_op) {
  MicroOp instruction[kMaxOpsOfInstruction];
  const unsigned count = op_count_ - first_op;
  for (unsigned i = 0; i < count; ++i) instruction[i] = ops_[first_op + i];
  op_count_ = first_op;
  const bool has_address =
      access_.is_set && access_.base != kAddressTemp && access_.index != kAddressTemp;
  if (has_address && Records(RecordedKind::kAddress)) {
    MicroOp& op = Emit(kRecordAccess);
    op.base = access_.base;
    op.index = access_.index;
    op.scale = access_.scale;
    op.displacement = access_.displacement;
    op.immediate = ip_ + info().offset;
  }
  if (passes_arguments_) {
    for (const RecordedKind kind : kRecordedRegisters) {
      if (!Records(kind)) continue;
      const unsigned number = hbbp::RegisterNumber(kind);
      EmitValueRecord(kind, static_cast<uint16_t>(WordOffset(number)), 3);
      ops_[op_count_ - 1].displacement = static_cast<int64_t>(GprBit(number));
    }
  }
  info().first_op = static_cast<uint8_t>(op_count_);
  for (unsigned i = 0; i < count; ++i) ops_[op_count_++] = instruction[i];
}

void BlockBuilder::EmitValueRecord(RecordedKind kind, uint16_t operand, unsigned size) {
  MicroOp& op = Emit(kRecordValue);
  op.a = operand;
  op.extra = static_cast<uint8_t>(kind);
  op.scale = static_cast<uint8_t>(64 - (8u << size));
  op.immediate = ip_ + info().offset;
}

void BlockBuilder::DropDeadFlags() {
  RegisterSet live = kFlagBits;
  for (unsigned i = instruction_count_; i-- > 0;) {
    InstructionInfo& current = infos_[i];
    const RegisterSet touched = touched_flags_[i];
    current.touched_flags = static_cast<uint8_t>(touched >> kFlagBitsShift);
    if (flagless_[i] != nullptr && (touched & live) == 0 && current.exact_handler != nullptr) {
      MicroOp& op = ops_[current.first_op + current.flags_op];
      if (op.handler == current.exact_handler && flagless_[i] != op.handler) {
        op.handler = flagless_[i];
        current.skips_flags = true;
      }
    }
    live = (live & ~current.writes) | (current.reads & kFlagBits);
  }
}

LiftResult BlockBuilder::Pack() {
  auto* block = reinterpret_cast<Block*>(m_->private_block);
  block->ip = ip_;
  block->verified_by.store(0, std::memory_order_relaxed);
  block->successor[0].store(kNoBlock, std::memory_order_relaxed);
  block->successor[1].store(kNoBlock, std::memory_order_relaxed);
  block->code_bytes = static_cast<uint16_t>(cursor_ - code_);
  block->op_count = static_cast<uint8_t>(op_count_);
  block->instruction_count = static_cast<uint8_t>(instruction_count_);
  block->uses_vector_state = uses_vector_state_;
  __builtin_memcpy(const_cast<MicroOp*>(block->ops()), ops_, op_count_ * sizeof(MicroOp));
  __builtin_memcpy(const_cast<uint8_t*>(block->code()), code_, block->code_bytes);
  __builtin_memcpy(const_cast<InstructionInfo*>(block->infos()), infos_,
                   instruction_count_ * sizeof(InstructionInfo));
  RegisterSet all = 0;
  for (unsigned i = 0; i < instruction_count_; ++i) all |= infos_[i].reads | infos_[i].writes;
  auto* end = const_cast<RegisterSet*>(block->all_registers());
  *end = all;
  const auto bytes = static_cast<size_t>(reinterpret_cast<uint8_t*>(end + 1) - m_->private_block);
  return {block, bytes, StopReason::kFull};
}

void BlockBuilder::ParseModrm() {
  const uint8_t modrm = Byte();
  const unsigned rex = encoding_.rex;
  encoding_.mod = modrm >> 6;
  encoding_.reg = static_cast<uint8_t>(((modrm >> 3) & 7) | ((rex & 4) << 1));
  const unsigned rm = modrm & 7;
  encoding_.rm = static_cast<uint8_t>(rm | ((rex & 1) << 3));
  if (encoding_.mod == 3) return;
  unsigned base = encoding_.rm;
  encoding_.index = kNoGpr;
  if (rm == 4) {
    const uint8_t sib = Byte();
    const unsigned index = ((sib >> 3) & 7u) | ((rex & 2) << 2);
    if (index != kRsp) encoding_.index = static_cast<uint8_t>(index);
    encoding_.scale = sib >> 6;
    base = (sib & 7u) | ((rex & 1) << 3);
    if ((sib & 7) == 5 && encoding_.mod == 0) {
      base = kNoGpr;
      encoding_.displacement = static_cast<int32_t>(SignedImmediate(4));
    }
  } else if (rm == 5 && encoding_.mod == 0) {
    base = kNoGpr;
    encoding_.is_rip_relative = true;
    encoding_.displacement = static_cast<int32_t>(SignedImmediate(4));
  }
  encoding_.base = static_cast<uint8_t>(base);
  if (encoding_.mod == 1) encoding_.displacement = static_cast<int32_t>(SignedByte());
  if (encoding_.mod == 2) encoding_.displacement = static_cast<int32_t>(SignedImmediate(4));
}

int64_t BlockBuilder::SignedImmediate(unsigned bytes) {
  if (bytes == 1) return SignedByte();
  if (bytes == 2) {
    int16_t value;
    __builtin_memcpy(&value, cursor_, 2);
    cursor_ += 2;
    return value;
  }
  int32_t value;
  __builtin_memcpy(&value, cursor_, 4);
  cursor_ += 4;
  return value;
}

MicroOp& BlockBuilder::Emit(Handler handler) {
  MicroOp& op = ops_[op_count_++];
  op = MicroOp{handler, 0, 0, kNoGpr, kNoGpr, 0, 0, 0, 0};
  return op;
}

MicroOp& BlockBuilder::EmitMemory(Handler handler) {
  const Encoding& e = encoding_;
  RegisterSet registers = 0;
  if (e.base != kNoGpr) registers |= GprBit(e.base);
  if (e.index != kNoGpr) registers |= GprBit(e.index);
  info().reads |= registers;
  info().address |= registers;
  int64_t displacement = e.displacement;
  if (e.is_rip_relative) displacement += static_cast<int64_t>(NextIp());
  uint8_t base = e.base;
  uint8_t index = e.index;
  uint8_t scale = e.scale;
  if (e.has_67 || (e.segment_word != 0 && base != kNoGpr && index != kNoGpr)) [[unlikely]] {
    MicroOp& address = Emit(kLea[e.has_67 ? 2 : 3]);
    address.a = kAddressTemp * 8;
    address.base = base;
    address.index = index;
    address.scale = scale;
    address.displacement = displacement;
    ++info().address_ops;
    base = kAddressTemp;
    index = kNoGpr;
    scale = 0;
    displacement = 0;
  }
  if (e.segment_word != 0) {
    if (base == kNoGpr) {
      base = e.segment_word;
    } else {
      index = e.segment_word;
      scale = 0;
    }
  }
  info().memory_op = static_cast<uint8_t>(op_count_ - info().first_op);
  SetAccess(base, index, scale, displacement);
  MicroOp& op = Emit(handler);
  op.base = base;
  op.index = index;
  op.scale = scale;
  op.displacement = displacement;
  return op;
}

MicroOp& BlockBuilder::EmitStack(Handler handler, int displacement) {
  info().reads |= GprBit(kRsp);
  info().writes |= GprBit(kRsp);
  info().address |= GprBit(kRsp);
  info().memory_op = static_cast<uint8_t>(op_count_ - info().first_op);
  SetAccess(kRsp, kNoGpr, 0, displacement);
  MicroOp& op = Emit(handler);
  op.base = kRsp;
  op.displacement = displacement;
  return op;
}

void BlockBuilder::EmitFlagged(MicroOp& op, const Handler (&handlers)[kFlagsUses]) {
  op.handler = handlers[kFlags];
  info().exact_handler = handlers[kFlags];
  info().flags_op = static_cast<uint8_t>(&op - ops_ - info().first_op);
  flagless_[instruction_count_] = handlers[kFlagless];
  fused_[instruction_count_] = handlers[kThenBranch];
}

void BlockBuilder::EmitFlagged(MicroOp& op, const Handler (&handlers)[2]) {
  op.handler = handlers[kFlags];
  info().exact_handler = handlers[kFlags];
  info().flags_op = static_cast<uint8_t>(&op - ops_ - info().first_op);
  flagless_[instruction_count_] = handlers[kFlagless];
}

unsigned BlockBuilder::RegisterNumber(unsigned size, unsigned number) const {
  return size == 0 && !encoding_.has_rex && number >= 4 && number < 8 ? number - 4 : number;
}

unsigned BlockBuilder::RegisterOffset(unsigned size, unsigned number) const {
  const unsigned real = RegisterNumber(size, number);
  return WordOffset(real) + (real != number ? 1 : 0);
}

uint16_t BlockBuilder::Read(unsigned size, unsigned number) {
  info().reads |= GprBit(RegisterNumber(size, number));
  return static_cast<uint16_t>(RegisterOffset(size, number));
}

uint16_t BlockBuilder::Write(unsigned size, unsigned number) {
  const RegisterSet bit = GprBit(RegisterNumber(size, number));
  info().writes |= bit;
  if (size < 2) info().reads |= bit;
  return static_cast<uint16_t>(RegisterOffset(size, number));
}

uint16_t BlockBuilder::Update(unsigned size, unsigned number) {
  Read(size, number);
  return Write(size, number);
}

uint16_t BlockBuilder::LoadOperand(unsigned size) {
  if (!HasMemory()) return Read(size, encoding_.rm);
  EmitMemory(kLoad[size]).a = kValueTemp * 8;
  return kValueTemp * 8;
}

uint16_t BlockBuilder::LoadForUpdate(unsigned size) {
  if (!HasMemory()) return Update(size, encoding_.rm);
  info().store_bytes = static_cast<uint8_t>(1u << size);
  EmitMemory(kLoadForUpdate[size]).a = kValueTemp * 8;
  return kValueTemp * 8;
}

void BlockBuilder::FinishUpdate(unsigned size) {
  if (!HasMemory()) return;
  MicroOp& store = Emit(kStore[size]);
  store.base = kAddressTemp;  // because registers of the address may have changed
  store.b = kValueTemp * 8;
}

void BlockBuilder::Flags(RegisterSet written, RegisterSet undefined) {
  info().writes |= written;
  touched_flags_[instruction_count_] = written | undefined;
}

}  // namespace hbbp::trace
