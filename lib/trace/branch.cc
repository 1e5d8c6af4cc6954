// DescribeBranch decodes a branch into a Branch: a condition over flags or a counter, and an
// expression for the target. Evaluate computes its outcome from a MachineState. WalkToBranch
// (code_walk.h) and the walks of the tracer call both.
#include "trace/branch.h"

#include <Zydis/Zydis.h>

#include "trace/program_memory.h"

namespace hbbp::trace {
namespace {

uint8_t GprNumber(ZydisRegister zydis_register) {
  if (zydis_register == ZYDIS_REGISTER_NONE) return kNoGpr;
  const ZyanI8 id = ZydisRegisterGetId(
      ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, zydis_register));
  return id < 0 || id > 15 ? static_cast<uint8_t>(kNoGpr) : static_cast<uint8_t>(id);
}

uint8_t SegmentNumber(ZydisRegister segment) {
  if (segment == ZYDIS_REGISTER_FS) return 1;
  if (segment == ZYDIS_REGISTER_GS) return 2;
  return 0;
}

bool DescribeIndirect(const uint8_t* code, size_t size, uint64_t address, Branch* branch) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderContext context;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operand;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code, size, &instruction)) ||
      !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &instruction, &operand, 1)) ||
      instruction.address_width != 64) {
    return false;
  }
  TargetExpression* target = &branch->target;
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    target->kind = TargetExpression::kRegister;
    target->base = GprNumber(operand.reg.value);
    return target->base != kNoGpr && operand.size == 64;
  }
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.size != 64) return false;
  target->kind = TargetExpression::kMemory;
  target->constant = static_cast<uint64_t>(operand.mem.disp.value);
  if (operand.mem.base == ZYDIS_REGISTER_RIP) {
    target->constant += address + instruction.length;
  } else {
    target->base = GprNumber(operand.mem.base);
  }
  target->index = GprNumber(operand.mem.index);
  target->scale =
      operand.mem.scale < 2 ? 0 : static_cast<uint8_t>(__builtin_ctz(operand.mem.scale));
  target->segment = SegmentNumber(operand.mem.segment);
  return true;
}

// Decodes the condition of jcc, jrcxz and the loop instructions. Prefixes may precede the opcode.
bool DescribeCondition(const uint8_t* code, size_t length, Branch* branch) {
  bool short_address = false;
  for (size_t i = 0; i < length; ++i) {
    const uint8_t byte = code[i];
    if (byte == 0x67) short_address = true;
    const bool is_prefix = byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 ||
                           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 ||
                           byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
    if (is_prefix) continue;
    if ((byte & 0xf0) == 0x70) {  // jcc rel8
      branch->condition = static_cast<Condition>(byte & 15);
    } else if (byte == 0x0f && i + 1 < length && (code[i + 1] & 0xf0) == 0x80) {  // jcc rel32
      branch->condition = static_cast<Condition>(code[i + 1] & 15);
    } else if (byte == 0xe3) {  // jrcxz, jecxz
      branch->condition = short_address ? Condition::kEcxZero : Condition::kRcxZero;
    } else if (byte == 0xe2) {  // loop
      branch->condition = short_address ? Condition::kLoop32 : Condition::kLoop;
    } else if (byte == 0xe1) {  // loope
      branch->condition = short_address ? Condition::kLoop32WhileZf : Condition::kLoopWhileZf;
    } else if (byte == 0xe0) {  // loopne
      branch->condition = short_address ? Condition::kLoop32UntilZf : Condition::kLoopUntilZf;
    } else {
      return false;
    }
    return true;
  }
  return false;
}

int32_t ReturnStackChange(const uint8_t* code, size_t length) {
  const bool pops_arguments = length >= 3 && code[length - 3] == 0xc2;  // ret imm16
  return pops_arguments ? 8 + (code[length - 2] | code[length - 1] << 8) : 8;
}

bool IsFulfilled(Condition condition, const MachineState& state) {
  const uint64_t rcx = state.gpr[kRcx];
  const bool zf = (state.flags & kFlagZf) != 0;
  const bool counts_on = rcx - 1 != 0;
  const bool counts_on_32 = static_cast<uint32_t>(rcx - 1) != 0;
  switch (condition) {
    case Condition::kRcxZero:
      return rcx == 0;
    case Condition::kEcxZero:
      return static_cast<uint32_t>(rcx) == 0;
    case Condition::kLoop:
      return counts_on;
    case Condition::kLoopWhileZf:
      return counts_on && zf;
    case Condition::kLoopUntilZf:
      return counts_on && !zf;
    case Condition::kLoop32:
      return counts_on_32;
    case Condition::kLoop32WhileZf:
      return counts_on_32 && zf;
    case Condition::kLoop32UntilZf:
      return counts_on_32 && !zf;
    case Condition::kAlways:
      return true;
    default:
      return FlagsFulfil(static_cast<uint8_t>(condition), state.flags);
  }
}

}  // namespace

bool DescribeBranch(const uint8_t* code, size_t size, uint64_t address, Branch* branch) {
  ControlFlow flow;
  if (!DecodeControlFlow({code, size}, address, &flow)) return false;
  *branch = Branch();
  branch->address = address;
  branch->length = flow.length;
  branch->kind = flow.kind;
  branch->target.constant = flow.target;
  switch (flow.kind) {
    case BranchKind::kConditional:
      return DescribeCondition(code, flow.length, branch);
    case BranchKind::kJump:
      return true;
    case BranchKind::kCall:
      branch->stack_change = -8;
      return true;
    case BranchKind::kIndirectCall:
      branch->stack_change = -8;
      return DescribeIndirect(code, size, address, branch);
    case BranchKind::kIndirectJump:
      return DescribeIndirect(code, size, address, branch);
    case BranchKind::kReturn:
      branch->target.kind = TargetExpression::kMemory;
      branch->target.base = kRsp;
      branch->target.constant = 0;
      branch->stack_change = ReturnStackChange(code, flow.length);
      return true;
    default:
      return false;
  }
}

bool FlagsFulfil(uint8_t condition_code, uint64_t flags) {
  const bool sign_differs = ((flags & kFlagSf) != 0) != ((flags & kFlagOf) != 0);
  bool fulfilled = false;
  switch (condition_code >> 1) {
    case 0:  // o
      fulfilled = (flags & kFlagOf) != 0;
      break;
    case 1:  // b
      fulfilled = (flags & kFlagCf) != 0;
      break;
    case 2:  // e
      fulfilled = (flags & kFlagZf) != 0;
      break;
    case 3:  // be
      fulfilled = (flags & (kFlagCf | kFlagZf)) != 0;
      break;
    case 4:  // s
      fulfilled = (flags & kFlagSf) != 0;
      break;
    case 5:  // p
      fulfilled = (flags & kFlagPf) != 0;
      break;
    case 6:  // l
      fulfilled = sign_differs;
      break;
    default:  // le
      fulfilled = sign_differs || (flags & kFlagZf) != 0;
      break;
  }
  return fulfilled != ((condition_code & 1) != 0);
}

uint64_t TargetAddress(const TargetExpression& target, const MachineState& state) {
  uint64_t address =
      state.gpr[target.base] + (state.gpr[target.index] << target.scale) + target.constant;
  if (target.segment == 1) address += state.fs_base;
  if (target.segment == 2) address += state.gs_base;
  return address;
}

BranchOutcome Evaluate(const Branch& branch, const MachineState& state) {
  BranchOutcome outcome;
  outcome.known = true;
  outcome.taken = IsFulfilled(branch.condition, state);
  if (!outcome.taken) {
    outcome.next = branch.address + branch.length;
    return outcome;
  }
  const TargetExpression& target = branch.target;
  switch (target.kind) {
    case TargetExpression::kConstant:
      outcome.next = target.constant;
      break;
    case TargetExpression::kRegister:
      outcome.next = state.gpr[target.base];
      break;
    case TargetExpression::kMemory:
      outcome.known =
          ReadProgramMemory(TargetAddress(target, state), &outcome.next, sizeof(outcome.next));
      break;
  }
  return outcome;
}

}  // namespace hbbp::trace
