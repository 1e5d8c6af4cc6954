#include "probes/burst_values.h"

#include <optional>

#include "probes/recorded_keys.h"

namespace hbbp {
namespace {

bool PassesArguments(BranchKind kind) {
  return kind == BranchKind::kCall || kind == BranchKind::kIndirectCall ||
         kind == BranchKind::kIndirectJump;
}

}  // namespace

void BurstValues::CompleteUsed(uint32_t branch, uint32_t offset, RegisterSet written,
                               InstructionEvent* event) {
  event->registers = &registers_;
  if (PassesArguments(event->instruction->flow.kind)) {
    for (const RecordedKind kind : kRecordedRegisters) {
      if ((keys_ & KeysOf(SetOf(kind))) == 0) continue;
      const std::optional<uint64_t> value = cursor_.Find(branch, offset, kind);
      if (!value) continue;
      registers_[RegisterNumber(kind)] = *value;
      known_ |= KeysOf(SetOf(kind));
    }
  }
  ProbeKeySet known = known_;
  for (const RecordedKind kind : kRecordedRegisters) {
    if ((written >> RegisterNumber(kind) & 1) != 0) known_ &= ~KeysOf(SetOf(kind));
  }
  if ((keys_ & SetOf(ProbeKey::kDivisor)) != 0) {
    const bool is_division = event->instruction->divisor.bits != 0;
    if (is_division) known = 0;
    if (!is_division || SetDivisor(branch, offset, event)) known |= SetOf(ProbeKey::kDivisor);
  }
  event->unknown |= keys_ & ~known;
}

// Sets the divisor of a division, and leaves its register as that only. Returns whether it is
// known.
bool BurstValues::SetDivisor(uint32_t branch, uint32_t offset, InstructionEvent* event) {
  const DivisorOperand& divisor = event->instruction->divisor;
  const std::optional<uint64_t> value = cursor_.Find(branch, offset, RecordedKind::kDivisor);
  if (!value) return false;
  if (divisor.source == DivisorOperand::kMemory) {
    event->value = *value;
  } else {
    registers_[divisor.source] = *value << divisor.first_bit;
    for (const RecordedKind kind : kRecordedRegisters) {
      if (RegisterNumber(kind) == divisor.source) known_ &= ~KeysOf(SetOf(kind));
    }
  }
  return true;
}

}  // namespace hbbp
