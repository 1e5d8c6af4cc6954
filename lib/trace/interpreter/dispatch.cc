// Passes control from block to block: Resolve finds, decodes and verifies the next block, and Start
// checks its inputs and enters it. If a block has unknown inputs, StartStepping and Step execute
// its instructions one at a time, and PassUnknown makes the outputs of an instruction unknown. The
// handlers of branches call EnterSuccessor and EnterTarget, other handlers OnUnknownInput, OnAccess
// and StopAt; LookAhead::Run calls EnterFirst.
//
// Contract: runs on the stack of a LookAhead, in signal handlers. Everything here either
// tail-calls the next handler or returns, which ends the run.
#include "trace/interpreter/branch_end.h"
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/lifter.h"
#include "trace/interpreter/packed_flags.h"
#include "trace/interpreter/string_effects.h"

namespace hbbp::trace {
namespace {

void Start(const MicroOp* op, Interpreter* m, uint64_t flags);
void Step(const MicroOp* op, Interpreter* m, uint64_t flags);

void Stop(Interpreter* m, StopReason reason, uint64_t ip, uint64_t flags) {
  m->stop_reason = reason;
  m->stop_ip = ip;
  m->stop_flags = flags;
}

// Finds the instruction that `op` belongs to.
unsigned FindIndex(const Interpreter* m, const MicroOp* op) {
  if (m->is_stepping) return m->step_index;
  const auto number = static_cast<unsigned>(op - m->block->ops());
  const InstructionInfo* infos = m->block->infos();
  unsigned index = 0;
  while (number >= infos[index].first_op + unsigned{infos[index].op_count}) ++index;
  return index;
}

uint64_t FindIp(const Interpreter* m, unsigned index) {
  return m->block->ip + (index < m->block->instruction_count ? m->block->infos()[index].offset
                                                             : m->block->code_bytes);
}

// Returns the flags that the instructions before this one write, but that were not computed,
// because a later instruction of the block overwrites them.
RegisterSet SkippedFlags(const Interpreter* m, unsigned index) {
  RegisterSet skipped = 0;
  const InstructionInfo* infos = m->block->infos();
  for (unsigned i = 0; i < index; ++i) {
    const RegisterSet written = infos[i].writes & kFlagBits;
    skipped &= ~written;
    if (infos[i].skips_flags) skipped |= RegisterSet{infos[i].touched_flags} << kFlagBitsShift;
  }
  return skipped;
}

// Executes and counts instructions one at a time from now on; the one at `index` counts as not
// executed.
void StartStepping(Interpreter* m, unsigned index) {
  if (m->is_stepping) {
    ++m->instructions_left;
    return;
  }
  m->instructions_left += m->block->instruction_count - static_cast<int>(index);
  m->state.poison |= SkippedFlags(m, index);
  m->is_stepping = true;
  m->memory.stops_at_code = false;
  m->enter_burst = kNoBurst;
  m->step_index = static_cast<uint8_t>(index);
}

// Returns whether memory has the bytes of the block, and they are readable and not stored to.
bool SameAsCode(Interpreter* m, const Block& block) {
  const uint8_t* bytes = block.code();
  const size_t size = block.code_bytes;
  if (!m->memory.IsPlainCode(block.ip, size)) return false;
  if (!m->memory.is_read_in_place) [[unlikely]]
    return m->memory.HasBytes(block.ip, bytes, size);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t now, then;
    if (!GuardedLoad(reinterpret_cast<const void*>(block.ip + i), &now)) return false;
    __builtin_memcpy(&then, bytes + i, 8);
    if (now != then) return false;
  }
  for (; i < size; ++i) {
    uint8_t now;
    if (!GuardedLoad(reinterpret_cast<const void*>(block.ip + i), &now)) return false;
    if (now != bytes[i]) return false;
  }
  return true;
}

void NeedVectorState(Interpreter* m) {
  if (m->state.has_vector_state) return;
  if (m->registers.load_vector != nullptr) {
    m->registers.load_vector(m->registers.thread, &m->state);
    return;
  }
  m->state.has_vector_state = 1;
  m->state.mxcsr = 0x1f80;
  m->state.poison |= kVectorStateBits;
}

void Accept(Interpreter* m, Block* block) {
  block->verified_by.store(m->burst, std::memory_order_relaxed);
  m->memory.RecordCode(block->ip, block->code_bytes);
  if (m->memory.logs_reads) {
    m->memory.LogRead(block->ip, block->code(), block->code_bytes, true);
  }
  if (block->uses_vector_state) NeedVectorState(m);
}

// Returns the block at `ip`, decoded and verified, or nullptr if m was stopped.
[[gnu::noinline]] Block* Resolve(Interpreter* m, uint64_t ip, const Block* guess, uint64_t flags) {
  if (StackIsLow()) [[unlikely]] {
    Stop(m, StopReason::kStackOverflow, ip, flags);
    return nullptr;
  }
  const bool is_at_start = m->is_at_start;
  m->is_at_start = false;
  if (m->memory.stored_to_code) [[unlikely]] {
    // From now on every block is compared with what was stored.
    m->memory.stored_to_code = false;
    m->burst = m->code_cache->NewBurst();
  }
  BlockRef found =
      guess->ip == ip && ip != 0 ? m->code_cache->RefOf(guess) : m->code_cache->Find(ip);
  if (found != kNoBlock) {
    auto* block = const_cast<Block*>(m->code_cache->At(found));
    if (block->verified_by.load(std::memory_order_acquire) == m->burst) return block;
    if (SameAsCode(m, *block)) [[likely]] {
      Accept(m, block);
      return block;
    }
    // Another thread may have noticed the change before.
    const BlockRef newer = m->code_cache->Find(ip);
    if (newer != found && newer != kNoBlock) {
      block = const_cast<Block*>(m->code_cache->At(newer));
      if (SameAsCode(m, *block)) {
        Accept(m, block);
        return block;
      }
    }
  }
  if (m->code_cache->IsInVdso(ip)) {
    Stop(m, StopReason::kInVdso, ip, flags);
    return nullptr;
  }
  LiftResult lifted = LiftBlock(m, ip, kMaxBlockInstructions);
  // Samples start anywhere. Where room is short, their first blocks are not kept.
  bool is_private = is_at_start && m->code_cache->IsHalfFull();
  if (lifted.block != nullptr && m->memory.IsStoredTo(ip, lifted.block->code_bytes)) {
    lifted = LiftBlock(m, ip, 1);
    if (lifted.block != nullptr && m->memory.IsStoredTo(ip, lifted.block->code_bytes)) {
      Stop(m, StopReason::kCodeWasWritten, ip, flags);
      return nullptr;
    }
    is_private = true;
  }
  if (lifted.block == nullptr) {
    Stop(m, lifted.reason, ip, flags);
    return nullptr;
  }
  m->decoded_instructions += lifted.block->instruction_count;
  Block* block = lifted.block;
  if (!is_private) {
    const BlockRef added = m->code_cache->Add(*block, lifted.bytes);
    if (added == kNoBlock) {
      Stop(m, StopReason::kCodeCacheFull, ip, flags);
      return nullptr;
    }
    block = const_cast<Block*>(m->code_cache->At(added));
  }
  Accept(m, block);
  return block;
}

bool IsPrivate(const Interpreter* m, const Block* block) {
  return reinterpret_cast<const uint8_t*>(block) == m->private_block;
}

// Runs m->block.
void Start(const MicroOp*, Interpreter* m, uint64_t flags) {
  const Block* block = m->block;
  const bool must_step = m->stops_before_dynamic ||
                         m->instructions_left < block->instruction_count ||
                         (m->state.poison != 0 && (*block->all_registers() & m->state.poison) != 0);
  m->is_stepping = must_step;
  m->memory.stops_at_code = !must_step;
  if (must_step) {
    m->enter_burst = kNoBurst;
    m->step_index = 0;
    HBBP_TAIL Step(block->ops(), m, flags);
  }
  m->enter_burst = m->state.poison == 0 ? m->burst : kNoBurst;
  m->instructions_left -= block->instruction_count;
  HBBP_TAIL block->ops()->handler(block->ops(), m, flags);
}

void ReturnNow(const MicroOp*, Interpreter*, uint64_t) {}

bool IsBranch(Effect effect) { return effect == Effect::kBranch; }

// Records what precedes the instruction at m->step_index, whose micro-operations begin at `first`.
void RecordBefore(const MicroOp* first, Interpreter* m) {
  const auto records = [](const MicroOp& op) {
    return op.handler == kRecordAccess || op.handler == kRecordValue;
  };
  const MicroOp* op = first;
  while (op != m->block->ops() && records(op[-1])) --op;
  for (; op != first; ++op) {
    if (op->handler == kRecordValue) {
      RecordValue(op, m);
    } else if ((m->block->infos()[m->step_index].address & m->state.poison) == 0) {
      RecordAccess(op, m);
    }
  }
}

// Executes the instruction at m->step_index.
void Step(const MicroOp*, Interpreter* m, uint64_t flags) {
  const Block* block = m->block;
  const unsigned index = m->step_index;
  if (StackIsLow()) [[unlikely]] {
    return Stop(m, StopReason::kStackOverflow, FindIp(m, index), flags);
  }
  if (m->memory.stored_to_code) [[unlikely]] {
    const Block* again = Resolve(m, FindIp(m, index), m->code_cache->At(kNoBlock), flags);
    if (again == nullptr) return;
    m->block = again;
    HBBP_TAIL Start(again->ops(), m, flags);
  }
  if (index == block->instruction_count) {
    const MicroOp* last = block->ops() + block->op_count - 1;
    HBBP_TAIL last->handler(last, m, flags);
  }
  if (m->instructions_left <= 0) {
    return Stop(m, StopReason::kInstructionLimit, FindIp(m, index), flags);
  }
  const InstructionInfo& info = block->infos()[index];
  if (m->stops_before_dynamic) {
    if (IsBranch(info.effect) && !m->may_pass_dynamic) {
      return Stop(m, StopReason::kDynamicBranch, FindIp(m, index), flags);
    }
    m->may_pass_dynamic = false;
    m->written |= info.writes;
  }
  --m->instructions_left;
  const MicroOp* first = block->ops() + info.first_op;
  for (unsigned i = 0; i < info.op_count; ++i) m->step_ops[i] = first[i];
  if (info.exact_handler != nullptr) m->step_ops[info.flags_op].handler = info.exact_handler;
  RecordBefore(first, m);
  m->step_ops[info.op_count].handler = OnStepDone;
  if (info.reads & m->state.poison) [[unlikely]] {
    HBBP_TAIL PassUnknown(m->step_ops, m, flags);
  }
  HBBP_TAIL m->step_ops->handler(m->step_ops, m, flags);
}

}  // namespace

void OnStepDone(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->state.poison &= ~m->block->infos()[m->step_index].writes;
  ++m->step_index;
  HBBP_TAIL Step(op, m, flags);
}

namespace {

// Returns where the first instruction of the block accesses memory, or 0 if its operand does not
// say so. Of string instructions it is where they store; loads from fixed addresses are left out.
uint64_t FindOperand(Interpreter* m, const Block& block) {
  const InstructionInfo& info = block.infos()[0];
  if (info.effect == Effect::kString) return m->state.gpr[kRdi];
  const bool has_operand = info.address != 0 || info.store_bytes != 0;
  if (info.effect != Effect::kPlain || info.address_ops != 0 || !has_operand) return 0;
  return ComputeAddress(block.ops() + info.first_op + info.memory_op, m);
}

// Runs the first micro-operations of the instruction that is stepped, which compute an address.
[[gnu::noinline]] void RunAddressOps(Interpreter* m, unsigned count, uint64_t flags) {
  MicroOp& next = m->step_ops[count];
  const Handler handler = next.handler;
  next.handler = ReturnNow;
  m->step_ops->handler(m->step_ops, m, flags);
  next.handler = handler;
}

}  // namespace

// Passes the instruction at m->step_index, which is in m->step_ops and has unknown inputs.
void PassUnknown(const MicroOp*, Interpreter* m, uint64_t flags) {
  const InstructionInfo& info = m->block->infos()[m->step_index];
  RegisterSet& poison = m->state.poison;
  MicroOp* memory_op = m->step_ops + info.memory_op;
  if (info.address_ops != 0 && (info.address & poison) == 0) {
    RunAddressOps(m, info.address_ops, flags);
  }
  RegisterSet unknown = info.writes | (RegisterSet{info.touched_flags} << kFlagBitsShift);
  switch (info.effect) {
    case Effect::kBranch:
      return StopAt(m->step_ops, m, flags, StopReason::kUnknownBranch);
    case Effect::kString: {
      const StringOutcome outcome = PassUnknownString(memory_op, m);
      if (outcome.must_stop) return StopAt(m->step_ops, m, flags, outcome.reason);
      unknown &= ~(GprBit(kRcx) | GprBit(kRsi) | GprBit(kRdi));
      unknown |= outcome.unknown;
      break;
    }
    case Effect::kPop:
      // DF would be unknown too.
      if (memory_op->handler == kPopFlags) {
        return StopAt(m->step_ops, m, flags, StopReason::kUnknownBranch);
      }
      if ((poison & GprBit(kRsp)) == 0) {
        m->state.gpr[kRsp] += memory_op->handler == kPopWord ? 2 : 8;
        unknown &= ~GprBit(kRsp);
      }
      break;
    case Effect::kLeave:
      if ((poison & GprBit(kRbp)) == 0) {
        m->state.gpr[kRsp] = m->state.gpr[kRbp] + 8;
        unknown &= ~GprBit(kRsp);
        poison &= ~GprBit(kRsp);
      }
      break;
    case Effect::kSave:
      return StopAt(m->step_ops, m, flags, StopReason::kUnknownStore);
    case Effect::kRestore:
      unknown |= kVectorStateBits;
      break;
    case Effect::kPush:
    case Effect::kPlain:
      if (info.store_bytes != 0) {
        if (info.address & poison) {
          return StopAt(m->step_ops, m, flags, StopReason::kUnknownStore);
        }
        const Access access =
            m->memory.WriteUnknown(ComputeAddress(memory_op, m), info.store_bytes);
        if (access != Access::kOk) return OnAccess(m->step_ops, m, flags, access);
      }
      if (info.effect == Effect::kPush) {
        m->state.gpr[kRsp] -= info.store_bytes;
        unknown &= ~GprBit(kRsp);
      }
      break;
  }
  poison |= unknown;
  ++m->step_index;
  HBBP_TAIL Step(m->step_ops, m, flags);
}

void OnUnknownInput(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const unsigned index = FindIndex(m, op);
  const bool was_stepping = m->is_stepping;
  StartStepping(m, index);
  --m->instructions_left;
  if (!was_stepping) {
    const InstructionInfo& info = m->block->infos()[index];
    const MicroOp* first = m->block->ops() + info.first_op;
    for (unsigned i = 0; i < info.op_count; ++i) m->step_ops[i] = first[i];
  }
  HBBP_TAIL PassUnknown(op, m, flags);
}

void StopAt(const MicroOp* op, Interpreter* m, uint64_t flags, StopReason reason) {
  const unsigned index = FindIndex(m, op);
  StartStepping(m, index);
  Stop(m, reason, FindIp(m, index), flags);
}

void OnAccess(const MicroOp* op, Interpreter* m, uint64_t flags, Access access) {
  if (access == Access::kUnreadable) return StopAt(op, m, flags, StopReason::kUnreadableMemory);
  if (access == Access::kOverlayFull) return StopAt(op, m, flags, StopReason::kOverlayFull);
  // A store to a page with code is executed again, one instruction at a time, and its changes are
  // checked afterwards.
  StartStepping(m, FindIndex(m, op));
  return Step(op, m, flags);
}

void OnLoadProblem(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t problem) {
  if (problem == kUnknownBytes) return OnUnknownInput(op, m, flags);
  return OnAccess(op, m, flags, static_cast<Access>(problem - 1));
}

Loaded LoadSlowly(Interpreter* m, uint64_t address, size_t size) {
  uint64_t value = 0;
  uint64_t unknown = 0;
  const Access access = m->memory.Read(address, size, &value, &unknown);
  if (access != Access::kOk) return {0, 1 + static_cast<uint64_t>(access)};
  return {value, unknown != 0 ? kUnknownBytes : 0};
}

Access StoreSlowly(Interpreter* m, uint64_t address, uint64_t value, size_t size) {
  return m->memory.Write(address, size, &value, 0);
}

void StopFull(const MicroOp*, Interpreter* m, uint64_t flags) {
  Stop(m, StopReason::kFull, m->out[-1].to, flags);
}

void EnterSuccessor(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t which) {
  const Block* from = m->block;
  const uint64_t ip = which == 0 ? op->immediate : from->ip + from->code_bytes;
  auto& successor = const_cast<std::atomic<BlockRef>&>(from->successor[which]);
  const Block* guess = m->code_cache->At(successor.load(std::memory_order_relaxed));
  const Block* to = Resolve(m, ip, guess, flags);
  if (to == nullptr) return;
  if (to != guess && !IsPrivate(m, to) && !IsPrivate(m, from)) {
    successor.store(m->code_cache->RefOf(to), std::memory_order_relaxed);
  }
  m->block = to;
  return Start(op, m, flags);
}

void EnterTarget(const MicroOp* op, Interpreter* m, uint64_t flags, uint64_t target) {
  const Block* from = m->block;
  auto& successor = const_cast<std::atomic<BlockRef>&>(from->successor[0]);
  const Block* guess = m->code_cache->At(successor.load(std::memory_order_relaxed));
  const Block* to = Resolve(m, target, guess, flags);
  if (to == nullptr) return;
  if (to != guess && !IsPrivate(m, to) && !IsPrivate(m, from)) {
    successor.store(m->code_cache->RefOf(to), std::memory_order_relaxed);
  }
  m->block = to;
  return Start(op, m, flags);
}

void EnterFirst(Interpreter* m, uint64_t ip, uint64_t flags) {
  const Block* block = Resolve(m, ip, m->code_cache->At(kNoBlock), flags);
  if (block == nullptr) return;
  m->block = block;
  if (m->memory.asks_for_operand) {
    m->memory.asks_for_operand = false;
    m->memory.first_operand = FindOperand(m, *block);
  }
  Start(block->ops(), m, flags);
}

}  // namespace hbbp::trace
