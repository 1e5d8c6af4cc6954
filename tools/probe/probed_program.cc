#include "probe/probed_program.h"

#include <utility>

#include "format.h"

namespace hbbp::tools {

void ProbedProgram::Reset() {
  engines_.clear();
  threads_.clear();
  for (const ProductionEngineOptions& options : options_) engines_.emplace_back(&set_, options);
  instructions_ = 0;
  undecodable_ = 0;
}

void ProbedProgram::Start(pid_t pid, std::function<bool()> is_current) {
  if (instructions_ != 0) {
    Reset();
    ++dropped_programs_;
  }
  code_ = std::make_unique<ProbedCode>(pid, &set_, &modules_, std::move(is_current));
}

void ProbedProgram::Execute(uint32_t thread_id, uint64_t pc, InstructionEvent event) {
  ++instructions_;
  const ProbedCode::Entry& entry = code_->At(pc);
  if (!entry.is_instruction) {
    ++undecodable_;
    return;
  }
  event.instruction = &entry.instruction;
  Thread& thread = threads_[thread_id];
  if (thread.states.empty()) {
    for (const ProductionEngine& engine : engines_) thread.states.push_back(engine.StartThread());
  }
  thread.history.Complete(set_.keys(), &event);
  for (size_t i = 0; i < engines_.size(); ++i) {
    engines_[i].Run(event, thread_id, &thread.states[i]);
  }
  thread.history.Follow(set_.keys(), event);
}

void ProbedProgram::EndThread(uint32_t thread) {
  threads_.erase(thread);
  for (ProductionEngine& engine : engines_) engine.EndThread(thread);
}

CodeDescription ProbedProgram::Describe(uint64_t code) const {
  const CodeLocation location = code_->LocationOf(code);
  CodeDescription description;
  description.address = location.address;
  description.function_start = location.function;
  if (location.module == nullptr) return description;
  description.is_in_module = true;
  description.module = location.module->path;
  if (location.module->image != nullptr) {
    description.function = location.module->image->FunctionName(ModuleAddress{location.address});
  }
  return description;
}

std::vector<std::string> ProbedProgram::Notes() const {
  std::vector<std::string> notes;
  if (undecodable_ != 0) {
    notes.push_back(FormatCount(undecodable_) +
                    " instructions could not be decoded, and no production saw them");
  }
  if (dropped_programs_ != 0) {
    notes.push_back("the process executed another program; only the last one is listed");
  }
  notes.insert(notes.end(), modules_.problems().begin(), modules_.problems().end());
  return notes;
}

}  // namespace hbbp::tools
