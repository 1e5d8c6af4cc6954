// FindBoltBlocks lists our blocks of all functions that ran, and the addresses that code jumps to;
// adds up the streams that cross the blocks; and merges the blocks between two of these addresses.
// bolt_text.cc calls it.
#include "export/bolt_blocks.h"

#include <algorithm>
#include <map>

namespace hbbp {
namespace {

// One of our blocks.
struct Part {
  Block block;
  double count = 0;
  double fell_through = 0;
};

class Finder {
 public:
  Finder(const ExportSubject& subject, const BoltFunctions& functions)
      : subject_(subject),
        analysis_(subject.analysis),
        functions_(functions),
        check_(subject.work.cancel) {}

  std::vector<BoltBlock> Find(std::span<const BoltStream> streams) {
    AddBranches();
    AddCounts();
    for (const BoltStream& stream : streams) AddStream(stream);
    for (const auto& [start, part] : by_start_) parts_.push_back(part);
    for (const ModuleAddress target : std::vector(targets_)) AddTargetsAround(target);
    std::ranges::sort(targets_);
    std::ranges::sort(entries_);
    std::vector<BoltBlock> blocks;
    for (size_t first = 0, end = 0; first < parts_.size(); first = end) {
      check_.Step();
      end = first + 1;
      while (end < parts_.size() && GoesOn(end)) ++end;
      const BoltBlock block = Merge(std::span(parts_).subspan(first, end - first));
      if (block.count > 0 || block.went_on > 0) blocks.push_back(block);
    }
    return blocks;
  }

 private:
  void AddBranches() {
    for (const TakenBranchRecord& branch : analysis_.branches()) {
      check_.Step();
      if (branch.to_module != subject_.module || branch.to == kNoAddress) continue;
      if (!IsArrival(subject_, branch.from_module, branch.from)) targets_.push_back(branch.to);
    }
  }

  void AddCounts() {
    for (const BlockRecord& record : analysis_.blocks()) {
      check_.Step();
      if (record.module != subject_.module) continue;
      if (Part* part = FindPart(record.block.start)) part->count = record.estimate.count;
    }
  }

  void AddStream(const BoltStream& stream) {
    check_.Step();
    if (stream.is_arrival) arrivals_[stream.start] += stream.count;
    for (Part* part = FindPart(stream.start); part != nullptr && !part->block.Contains(stream.last);
         part = FindPart(part->block.next())) {
      part->fell_through += stream.count;
    }
  }

  // Adds the whole function when it is first asked for.
  Part* FindPart(ModuleAddress start) {
    auto found = by_start_.find(start);
    if (found == by_start_.end()) {
      AddFunction(start);
      found = by_start_.find(start);
    }
    return found == by_start_.end() ? nullptr : &found->second;
  }

  void AddFunction(ModuleAddress address) {
    for (const Block& block : analysis_.FunctionBlocks(subject_.module, address)) {
      by_start_.emplace(block.start, Part{block});
      AddTarget(block);
    }
    for (const ReadJumpTable& table : analysis_.JumpTables(subject_.module, address)) {
      targets_.insert(targets_.end(), table.targets.begin(), table.targets.end());
    }
  }

  void AddTarget(const Block& block) {
    const bool is_jump =
        block.terminator == BranchKind::kConditional || block.terminator == BranchKind::kJump;
    if (!is_jump || !block.has_target) return;
    targets_.push_back(block.target);
    if (functions_.Find(block.target) != functions_.Find(block.start)) {
      entries_.push_back(block.target);
    }
  }

  // Functions that did not run, such as the part "step.cold" of one, jump to those that did.
  void AddTargetsAround(ModuleAddress address) {
    const auto next = by_start_.upper_bound(address);
    if (next != by_start_.begin() && std::prev(next)->second.block.Contains(address)) return;
    check_.Step();
    AddFunction(address);
  }

  bool IsTarget(ModuleAddress address) const {
    return std::ranges::binary_search(targets_, address);
  }

  // Returns whether the block that ends with the part before goes on with this one.
  bool GoesOn(size_t next) const {
    const Part& part = parts_[next];
    const ModuleAddress start = part.block.start;
    if (parts_[next - 1].block.next() != start || IsTarget(start)) return false;
    const BoltFunctions::Function* function = functions_.Find(start);
    if (function == nullptr || function->range.start == start) return false;
    const Block& before = parts_[next - 1].block;
    switch (before.terminator) {
      case BranchKind::kNone:
      case BranchKind::kCall:
      case BranchKind::kIndirectCall:
      case BranchKind::kSystem:
        return true;
      case BranchKind::kConditional:
        // Conditional tail calls end their block.
        return part.block.terminator == BranchKind::kJump && part.block.instruction_count == 1 &&
               functions_.Find(before.target) == function;
      default:
        return false;
    }
  }

  // The count of the block is the mean of its instructions'.
  BoltBlock Merge(std::span<const Part> parts) const {
    BoltBlock merged;
    double instructions = 0;
    for (const Part& part : parts) {
      merged.count += part.count * part.block.instruction_count;
      instructions += part.block.instruction_count;
    }
    if (instructions > 0) merged.count /= instructions;
    const Block& last = parts.back().block;
    merged.start = parts.front().block.start;
    merged.last = merged.start;
    merged.next = last.next();
    merged.went_on = parts.back().fell_through;
    // llvm-bolt counts what arrives at an entry by the branches there.
    const bool is_entry = std::ranges::binary_search(entries_, merged.next);
    if (!is_entry &&
        (last.terminator == BranchKind::kCall || last.terminator == BranchKind::kIndirectCall)) {
      const auto arrived = arrivals_.find(merged.next);
      if (arrived != arrivals_.end()) merged.went_on += arrived->second;
    }
    if (functions_.Find(merged.next) != functions_.Find(last.start)) merged.went_on = 0;
    if (merged.went_on > 0) {
      const auto decoded = analysis_.modules().DecodeBlock(subject_.module, last);
      if (!decoded.empty()) merged.last = {decoded.back().address};
    }
    return merged;
  }

  const ExportSubject& subject_;
  const Analysis& analysis_;
  const BoltFunctions& functions_;
  CancelCheck check_;
  std::map<ModuleAddress, Part> by_start_;
  std::vector<Part> parts_;             // those of functions that ran, by address
  std::vector<ModuleAddress> targets_;  // of jumps
  std::vector<ModuleAddress> entries_;  // those of them that other functions jump to
  std::map<ModuleAddress, double> arrivals_;
};

}  // namespace

std::vector<BoltBlock> FindBoltBlocks(const ExportSubject& subject, const BoltFunctions& functions,
                                      std::span<const BoltStream> streams) {
  return Finder(subject, functions).Find(streams);
}

}  // namespace hbbp
