#include "pmu_model/trace_builder.h"

#include <utility>

namespace hbbp::simulation {

uint32_t TraceBuilder::Find(uint64_t address) {
  const auto [entry, is_new] =
      known_by_address_.try_emplace(address, static_cast<uint32_t>(known_.size()));
  if (is_new) {
    const std::optional<TraceInstruction> instruction = code_->At(address);
    Known known;
    known.instruction = instruction.value_or(TraceInstruction{.address = address});
    known.is_outside = !instruction;
    known_.push_back(known);
  }
  return entry->second;
}

uint32_t TraceBuilder::FindBlock(uint32_t first, uint32_t count) {
  Known& start = known_[first];
  if (start.block != kNone && start.block_count == count) return start.block;
  const uint64_t key = uint64_t{first} << 32 | count;
  const auto [entry, is_new] =
      block_by_first_and_count_.try_emplace(key, static_cast<uint32_t>(trace_.blocks.size()));
  if (is_new) {
    trace_.blocks.push_back(
        {start.instruction.address, static_cast<uint32_t>(trace_.instructions.size()), count});
    for (uint32_t i = 0; i < count; ++i) {
      trace_.instructions.push_back(known_[current_[i]].instruction);
    }
  }
  start.block_count = count;
  start.block = entry->second;
  return entry->second;
}

void TraceBuilder::CloseBlock() {
  if (current_.empty()) return;
  trace_.sequence.push_back(FindBlock(current_.front(), static_cast<uint32_t>(current_.size())));
  current_.clear();
}

bool TraceBuilder::Add(uint64_t address) {
  if (taken_ == max_instructions_) return false;
  uint32_t found = kNone;
  if (!current_.empty()) {
    Known& last = known_[current_.back()];
    const bool ends = EndsBlock(last.instruction.branch);
    if (address == last.instruction.address && !ends) return true;
    const bool is_next = address == last.instruction.end();
    if (is_next) {
      if (last.next == kNone) {
        const uint32_t next = Find(address);
        known_[current_.back()].next = next;
        found = next;
      } else {
        found = last.next;
      }
    }
    if (ends || !is_next) CloseBlock();
  }
  if (found == kNone) found = Find(address);
  if (known_[found].is_outside) {
    CloseBlock();
    ++trace_.outside;
    const bool continues =
        !trace_.sequence.empty() && trace_.blocks[trace_.sequence.back()].count == 0;
    if (!continues) trace_.sequence.push_back(FindBlock(found, 0));
    return true;
  }
  current_.push_back(found);
  ++taken_;
  return true;
}

StatusOr<Trace> TraceBuilder::Finish(std::string program) {
  CloseBlock();
  std::vector<uint32_t>& sequence = trace_.sequence;
  const auto is_taken = [this, &sequence](size_t i) {
    return trace_.IsTaken(trace_.blocks[sequence[i]], trace_.blocks[sequence[i + 1]].start);
  };
  size_t first = 0;
  while (first + 1 < sequence.size() && !is_taken(first)) ++first;
  size_t last = sequence.empty() ? 0 : sequence.size() - 1;
  while (last > first + 1 && !is_taken(last - 1)) --last;
  if (last < first + 2) {
    return MakeStatus(StatusCode::kNotFound,
                      "%s ran %llu instructions without two taken branches; was it traced at all?",
                      program.c_str(), static_cast<unsigned long long>(taken_));
  }
  trace_.entry =
      trace_.FindBranch(trace_.blocks[sequence[first]], trace_.blocks[sequence[first + 1]].start);
  trace_.exit = trace_.blocks[sequence[last]].start;
  sequence.resize(last);
  sequence.erase(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(first + 1));
  trace_.program = std::move(program);
  trace_.modules = code_->Modules();
  return std::move(trace_);
}

}  // namespace hbbp::simulation
