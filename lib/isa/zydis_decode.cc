#include "isa/zydis_decode.h"

#include <array>

namespace hbbp {
namespace {

struct KindEntry {
  ZydisMnemonic mnemonic;
  BranchKind kind;
};

// jmp, call and ret have the kind of their near forms; BranchKindOf recognizes their far and
// indirect forms.
constexpr KindEntry kKinds[] = {
    {ZYDIS_MNEMONIC_JB, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JBE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JCXZ, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JECXZ, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JL, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JLE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNB, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNBE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNL, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNLE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNO, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNP, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNS, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JNZ, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JO, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JP, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JRCXZ, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JS, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JZ, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_LOOP, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_LOOPE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_LOOPNE, BranchKind::kConditional},
    {ZYDIS_MNEMONIC_JMP, BranchKind::kJump},
    {ZYDIS_MNEMONIC_CALL, BranchKind::kCall},
    {ZYDIS_MNEMONIC_RET, BranchKind::kReturn},
    {ZYDIS_MNEMONIC_ENCLU, BranchKind::kSystem},  // enters and leaves an enclave
    {ZYDIS_MNEMONIC_INT, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_IRET, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_IRETD, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_IRETQ, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_RSM, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_SYSCALL, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_SYSENTER, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_SYSEXIT, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_SYSRET, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_UIRET, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_XABORT, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_XBEGIN, BranchKind::kSystem},
    {ZYDIS_MNEMONIC_HLT, BranchKind::kTrap},
    {ZYDIS_MNEMONIC_INT1, BranchKind::kTrap},
    {ZYDIS_MNEMONIC_INT3, BranchKind::kTrap},
    {ZYDIS_MNEMONIC_UD0, BranchKind::kTrap},
    {ZYDIS_MNEMONIC_UD1, BranchKind::kTrap},
    {ZYDIS_MNEMONIC_UD2, BranchKind::kTrap},
};

consteval auto MakeKindTable() {
  std::array<BranchKind, ZYDIS_MNEMONIC_MAX_VALUE + 1> table{};
  for (const KindEntry& entry : kKinds) table[entry.mnemonic] = entry.kind;
  return table;
}

constexpr auto kKindTable = MakeKindTable();

BranchKind BranchKindOf(const ZydisDecodedInstruction& instruction) {
  const BranchKind kind = kKindTable[instruction.mnemonic];
  switch (kind) {
    case BranchKind::kJump:
    case BranchKind::kCall:
      if (instruction.raw.imm[0].is_relative) return kind;
      // ff /2 and ff /4 are near, ff /3 and ff /5 are far.
      if (instruction.raw.modrm.reg & 1) return BranchKind::kSystem;
      return kind == BranchKind::kJump ? BranchKind::kIndirectJump : BranchKind::kIndirectCall;
    case BranchKind::kReturn:
      return instruction.opcode >= 0xca ? BranchKind::kSystem : kind;
    default:
      return kind;
  }
}

}  // namespace

ControlFlow MakeControlFlow(const ZydisDecodedInstruction& instruction, uint64_t address) {
  ControlFlow flow;
  flow.length = instruction.length;
  flow.kind = BranchKindOf(instruction);
  flow.has_target = flow.kind != BranchKind::kNone && instruction.raw.imm[0].is_relative;
  if (flow.has_target) {
    flow.target =
        address + instruction.length + static_cast<uint64_t>(instruction.raw.imm[0].value.s);
  }
  return flow;
}

}  // namespace hbbp
