#include "probe/probed_program.h"

namespace hbbp::tools {

void ProbedProgram::Reset() {
  engines_.clear();
  states_.clear();
  for (const ProductionEngineOptions& options : options_) engines_.emplace_back(&set_, options);
  instructions_ = 0;
  undecodable_ = 0;
}

void ProbedProgram::Start(pid_t pid) {
  if (instructions_ != 0) {
    Reset();
    ++dropped_programs_;
  }
  code_ = std::make_unique<ProbedCode>(pid, &set_, &modules_);
}

void ProbedProgram::Execute(uint32_t thread, uint64_t pc, uint64_t next, uint64_t address,
                            uint64_t size, uint64_t value) {
  ++instructions_;
  const ProbedCode::Entry& entry = code_->At(pc);
  if (!entry.is_instruction) {
    ++undecodable_;
    return;
  }
  InstructionEvent event;
  event.instruction = &entry.instruction;
  event.next = next;
  event.address = address;
  event.size = size;
  event.value = value;
  std::vector<BurstState>& states = states_[thread];
  if (states.empty()) {
    for (const ProductionEngine& engine : engines_) states.push_back(engine.StartThread());
  }
  for (size_t i = 0; i < engines_.size(); ++i) engines_[i].Run(event, thread, &states[i]);
}

}  // namespace hbbp::tools
