#include "probe/probed_program.h"

#include <algorithm>
#include <iterator>

namespace hbbp::tools {
namespace {

constexpr size_t kMaxCallDepth = 1 << 16;

}  // namespace

void ProbedProgram::Reset() {
  engines_.clear();
  threads_.clear();
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
  if ((set_.keys() & SetOf(ProbeKey::kStride)) != 0 && event.size != 0) {
    const auto [last, is_first] = thread.last_addresses.try_emplace(pc, event.address);
    event.stride = event.address - last->second;
    last->second = event.address;
  }
  const bool follows_calls = (set_.keys() & SetOf(ProbeKey::kCaller)) != 0;
  if (follows_calls && !thread.calls.empty()) event.caller = thread.calls.back().caller;
  for (size_t i = 0; i < engines_.size(); ++i) {
    engines_[i].Run(event, thread_id, &thread.states[i]);
  }
  if (follows_calls) FollowCalls(event, &thread);
}

void ProbedProgram::FollowCalls(const InstructionEvent& event, Thread* thread) {
  const ProbedInstruction& instruction = *event.instruction;
  std::vector<CallFrame>& calls = thread->calls;
  switch (instruction.flow.kind) {
    case BranchKind::kCall:
    case BranchKind::kIndirectCall:
      if (calls.size() < kMaxCallDepth) calls.push_back({instruction.end(), instruction.function});
      break;
    case BranchKind::kReturn: {
      // longjmp and exceptions leave frames without a return. A return that fits no frame, as one
      // that is used as a jump, leaves all.
      const auto frame = std::find_if(calls.rbegin(), calls.rend(), [&](const CallFrame& call) {
        return call.return_address == event.next;
      });
      if (frame != calls.rend()) calls.erase(std::prev(frame.base()), calls.end());
      break;
    }
    default:
      break;
  }
}

}  // namespace hbbp::tools
