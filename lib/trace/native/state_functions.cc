#include "trace/native/state_functions.h"

#include <cstddef>

namespace hbbp::trace {
namespace {

constexpr unsigned kVexRegisters = 16;
constexpr size_t kXmmBytes = 16;
constexpr uint32_t kMxcsrBits = 0xffff;  // loading other bits would fault

void DoNothing(MachineState*) {}

void LoadMxcsr(MachineState* state) {
  uint32_t value = 0;
  __builtin_memcpy(&value, state->operand, sizeof(value));
  state->mxcsr = value & kMxcsrBits;
}

void StoreMxcsr(MachineState* state) {
  __builtin_memcpy(state->operand, &state->mxcsr, sizeof(state->mxcsr));
}

void ClearUpperVectors(MachineState* state) {
  for (unsigned i = 0; i < kVexRegisters; ++i) {
    __builtin_memset(state->zmm[i] + kXmmBytes, 0, sizeof(state->zmm[i]) - kXmmBytes);
  }
}

void ClearVectors(MachineState* state) {
  __builtin_memset(state->zmm, 0, kVexRegisters * sizeof(state->zmm[0]));
}

void SetDirection(MachineState* state) { state->flags |= kFlagDf; }

void ClearDirection(MachineState* state) { state->flags &= ~kFlagDf; }

}  // namespace

void (*StateFunctionFor(InstructionClass kind))(MachineState*) {
  switch (kind) {
    case InstructionClass::kNoEffect:
      return DoNothing;
    case InstructionClass::kLoadMxcsr:
      return LoadMxcsr;
    case InstructionClass::kStoreMxcsr:
      return StoreMxcsr;
    case InstructionClass::kClearUpperVectors:
      return ClearUpperVectors;
    case InstructionClass::kClearVectors:
      return ClearVectors;
    case InstructionClass::kSetDirection:
      return SetDirection;
    case InstructionClass::kClearDirection:
      return ClearDirection;
    default:
      return nullptr;
  }
}

}  // namespace hbbp::trace
