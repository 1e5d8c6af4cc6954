#include "probes/thread_history.h"

#include <bit>

namespace hbbp {

void ThreadHistory::Complete(ProbeKeySet keys, InstructionEvent* event) {
  const ProbedInstruction& instruction = *event->instruction;
  if ((keys & SetOf(ProbeKey::kStride)) != 0 && event->size != 0) {
    if ((event->unknown & SetOf(ProbeKey::kAddress)) != 0) {
      event->unknown |= SetOf(ProbeKey::kStride);
      last_addresses_.erase(instruction.pc);
    } else {
      const auto [last, is_first] = last_addresses_.try_emplace(instruction.pc, event->address);
      event->stride = event->address - last->second;
      last->second = event->address;
      if (is_first) MarkUnknown(ProbeKey::kStride, event);
    }
  }
  if ((keys & SetOf(ProbeKey::kReuse)) != 0 && event->size != 0) AccessLines(event);
  if ((keys & SetOf(ProbeKey::kCaller)) != 0) {
    if (!calls_.empty() && calls_without_frame_ == 0) {
      event->caller = calls_.back().caller;
    } else {
      MarkUnknown(ProbeKey::kCaller, event);
    }
  }
  const ControlFlow& flow = instruction.flow;
  if ((keys & SetOf(ProbeKey::kTrips)) != 0 && flow.kind == BranchKind::kConditional &&
      flow.target <= instruction.pc) {
    const auto [trips, is_first] = trips_.try_emplace(instruction.pc, 0);
    event->trips = ++trips->second;
    if (is_first) MarkUnknown(ProbeKey::kTrips, event);
    if (!event->is_taken()) {
      trips->second = 0;
    } else if (is_first && extent_ == Extent::kPart) {
      trips_.erase(trips);
    }
  }
  if ((keys & kPaths) != 0) AddOutcome(event);
}

void ThreadHistory::AccessLines(InstructionEvent* event) {
  if ((event->unknown & SetOf(ProbeKey::kAddress)) != 0) {
    event->unknown |= SetOf(ProbeKey::kReuse);
    reuse_ = {};  // it may have been to any line
    return;
  }
  const uint64_t first = event->address >> kLineBits;
  const uint64_t last = (event->address + event->size - 1) >> kLineBits;
  uint64_t distance = reuse_.Access(first);
  if (distance == ReuseDistances::kFirst && extent_ == Extent::kPart) {
    event->unknown |= SetOf(ProbeKey::kReuse);
    distance = reuse_.lines() - 1;
  }
  event->reuse = distance == ReuseDistances::kFirst ? distance : std::bit_floor(distance);
  for (uint64_t line = first + 1; line <= last; ++line) reuse_.Access(line);
}

void ThreadHistory::AddOutcome(InstructionEvent* event) {
  const ProbedInstruction& instruction = *event->instruction;
  if (path_.start == 0 && extent_ == Extent::kWholeThread) path_.start = instruction.pc;
  bool ends = StaticFlag(instruction, ProbeKey::kPathEnd).value_or(false);
  if (instruction.flow.kind == BranchKind::kConditional) {
    const bool is_taken = event->is_taken();
    path_.outcomes = path_.outcomes << 1 | (is_taken ? 1 : 0);
    ends = (is_taken && instruction.flow.target <= instruction.pc) ||
           path_.outcomes >> kMaxOutcomes != 0;
  }
  if (path_.start == 0) event->unknown |= SetOf(ProbeKey::kPath) | SetOf(ProbeKey::kPathStart);
  event->path_start = path_.start;
  event->path = path_.outcomes;
  event->ends_path = ends;
}

void ThreadHistory::Follow(ProbeKeySet keys, const InstructionEvent& event) {
  if ((keys & (SetOf(ProbeKey::kCaller) | kPaths)) == 0) return;
  const ProbedInstruction& instruction = *event.instruction;
  switch (instruction.flow.kind) {
    case BranchKind::kCall:
    case BranchKind::kIndirectCall:
      if (calls_.size() < kMaxCallDepth) {
        calls_.push_back({instruction.end(), instruction.function, path_});
        ++frames_of_[instruction.end()];
      } else {
        ++calls_without_frame_;
      }
      path_ = {event.next};
      break;
    case BranchKind::kReturn:
      // Of a part, the path of the caller began before.
      path_ = {extent_ == Extent::kWholeThread ? event.next : 0};
      if (calls_without_frame_ != 0) {
        --calls_without_frame_;
      } else {
        ReturnTo(event.next);
      }
      break;
    default:
      if (event.ends_path) path_ = {event.next};
      break;
  }
}

void ThreadHistory::ReturnTo(uint64_t address) {
  // longjmp and exceptions leave frames without a return. A return that fits no frame, as one that
  // is used as a jump, leaves all.
  if (!frames_of_.contains(address)) return;
  uint64_t left = 0;
  do {
    left = calls_.back().return_address;
    path_ = calls_.back().path;
    calls_.pop_back();
    const auto frames = frames_of_.find(left);
    if (--frames->second == 0) frames_of_.erase(frames);
  } while (left != address);
}

}  // namespace hbbp
