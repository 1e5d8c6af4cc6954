#include "unit/trace/native_run.h"

#include <cstring>

namespace hbbp::testing {
namespace {

using trace::MachineState;
using trace::NativeInstruction;

uint64_t FsBase() {
  uint64_t base = 0;
  asm("mov %%fs:0, %0" : "=r"(base));  // the ABI has it point to itself
  return base;
}

}  // namespace

void NativeRunner::FillBefore(MachineState* state) {
  std::memset(static_cast<void*>(state), 0, sizeof(*state));
  FillState(&random_, state);
  state->rip = code_address();
  state->fs_base = FsBase();
  state->gs_base = 0;
}

std::unique_ptr<NativeRun> NativeRunner::Run(const InstructionBytes& code,
                                             const NativeInstruction& native, int trial,
                                             const std::function<void(MachineState*)>& prepare) {
  auto run = std::make_unique<NativeRun>();
  run->code = code;
  FillBefore(&run->before);
  if (prepare != nullptr) prepare(&run->before);
  FillInteresting(&random_, window(), kWindowBytes);
  if (native.has_memory) {
    run->target = end_of_data() - native.memory_bytes;
    if (trial % 2 == 1) run->target -= random_() % 1024;
    run->target = run->target / native.alignment * native.alignment;
    // One byte less may be the result of twice a register.
    bool is_placed = false;
    for (int attempt = 0; attempt < 2 && !is_placed; ++attempt) {
      if (attempt == 1) --run->target;
      is_placed = PointOperandAt(run->target, code_address(), &run->code, &random_, &run->before);
    }
    if (!is_placed || run->target % native.alignment != 0) return nullptr;
  }
  run->memory_before.assign(window(), window() + kWindowBytes);
  run->after = run->before;
  run->signal = executor_.Run(run->code, &run->after);
  run->after.rip += run->code.size();
  run->memory_after.assign(window(), window() + kWindowBytes);
  return run;
}

std::string NativeRunner::CheckExtent(InstructionBytes code, const NativeInstruction& native) {
  if (!native.has_memory || TouchesMemoryUnderMask(code)) return "";
  const bool is_aligned = native.alignment > 1;
  auto state = std::make_unique<MachineState>();
  FillBefore(state.get());
  const uint64_t target = end_of_data() - native.memory_bytes + (is_aligned ? -1 : 1);
  if (!PointOperandAt(target, code_address(), &code, &random_, state.get())) return "";
  if (executor_.Run(code, state.get()) != 0) return "";
  return is_aligned ? "  needs no alignment\n" : "  touches less memory\n";
}

}  // namespace hbbp::testing
