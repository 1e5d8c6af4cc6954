#include "probes/thread_history.h"

#include <algorithm>
#include <iterator>

namespace hbbp {
namespace {

constexpr size_t kMaxCallDepth = 1 << 16;

}  // namespace

void ThreadHistory::Complete(ProbeKeySet keys, InstructionEvent* event) {
  const ProbedInstruction& instruction = *event->instruction;
  if ((keys & SetOf(ProbeKey::kStride)) != 0 && event->size != 0) {
    const auto [last, is_first] = last_addresses_.try_emplace(instruction.pc, event->address);
    event->stride = event->address - last->second;
    last->second = event->address;
  }
  if ((keys & SetOf(ProbeKey::kCaller)) != 0 && !calls_.empty()) {
    event->caller = calls_.back().caller;
  }
  const ControlFlow& flow = instruction.flow;
  if ((keys & SetOf(ProbeKey::kTrips)) != 0 && flow.kind == BranchKind::kConditional &&
      flow.target <= instruction.pc) {
    uint64_t& trips = trips_[instruction.pc];
    event->trips = ++trips;
    if (!event->is_taken()) trips = 0;
  }
}

void ThreadHistory::Follow(ProbeKeySet keys, const InstructionEvent& event) {
  if ((keys & SetOf(ProbeKey::kCaller)) == 0) return;
  const ProbedInstruction& instruction = *event.instruction;
  switch (instruction.flow.kind) {
    case BranchKind::kCall:
    case BranchKind::kIndirectCall:
      if (calls_.size() < kMaxCallDepth) {
        calls_.push_back({instruction.end(), instruction.function});
      }
      break;
    case BranchKind::kReturn: {
      // longjmp and exceptions leave frames without a return. A return that fits no frame, as one
      // that is used as a jump, leaves all.
      const auto frame = std::find_if(calls_.rbegin(), calls_.rend(), [&](const CallFrame& call) {
        return call.return_address == event.next;
      });
      if (frame != calls_.rend()) calls_.erase(std::prev(frame.base()), calls_.end());
      break;
    }
    default:
      break;
  }
}

}  // namespace hbbp
