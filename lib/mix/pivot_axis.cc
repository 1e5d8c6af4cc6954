#include "mix/pivot_axis.h"

#include <tuple>
#include <utility>

namespace hbbp {
namespace {

uint32_t& At(std::vector<uint32_t>* table, uint32_t index) {
  if (index >= table->size()) table->resize(index + size_t{1}, kNoIndex);
  return (*table)[index];
}

}  // namespace

PivotAxis::PivotAxis(std::vector<PivotKey*> keys) : keys_(std::move(keys)) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    levels_[static_cast<size_t>(keys_[i]->level())].keys.push_back(i);
  }
  for (Level& level : levels_) {
    if (!level.keys.empty()) level.pairs.resize(level.keys.size() - 1);
  }
}

// Returns the value of a key. Keys that depend on code have one more, 0, for code that is missing.
uint32_t PivotAxis::FindNumber(size_t key, const PivotContext& context) const {
  if (keys_[key]->DoesWithoutCode()) return keys_[key]->ValueOf(context);
  // Only keys of observations go without a block. NOLINTNEXTLINE(*-core.NullDereference)
  return context.block->block == kNoIndex ? 0 : keys_[key]->ValueOf(context) + 1;
}

uint32_t PivotAxis::FindPart(KeyLevel level, const PivotContext& context) {
  Level& used = levels_[static_cast<size_t>(level)];
  if (used.keys.empty()) return 0;
  uint32_t part = FindNumber(used.keys[0], context);
  for (size_t i = 1; i < used.keys.size(); ++i) {
    part = used.pairs[i - 1].Combine(part, FindNumber(used.keys[i], context));
  }
  return part;
}

uint32_t PivotAxis::PartOfBlock(const PivotBlock& block) {
  PivotContext context;
  context.block = &block;
  return FindPart(KeyLevel::kBlock, context);
}

uint32_t PivotAxis::PartOfInstruction(uint32_t block_part, const PivotContext& context,
                                      uint32_t kind) {
  uint32_t part = block_part;
  if (Uses(KeyLevel::kKind)) {
    uint32_t& kind_part = At(&kind_parts_, kind);
    if (kind_part == kNoIndex) kind_part = FindPart(KeyLevel::kKind, context);
    part = Uses(KeyLevel::kBlock) ? with_kind_.Combine(part, kind_part) : kind_part;
  }
  if (Uses(KeyLevel::kInstruction)) {
    const uint32_t of_instruction = FindPart(KeyLevel::kInstruction, context);
    const bool is_alone = !Uses(KeyLevel::kBlock) && !Uses(KeyLevel::kKind);
    part = is_alone ? of_instruction : with_instruction_.Combine(part, of_instruction);
  }
  return part;
}

uint32_t PivotAxis::PartOfObservation(const PivotObservation& observation) {
  PivotContext context;
  context.observation = &observation;
  return FindPart(KeyLevel::kObservation, context);
}

uint32_t PivotAxis::FindLine(uint32_t code_part, uint32_t observation_part) {
  const uint32_t part = Uses(KeyLevel::kObservation)
                            ? with_observation_.Combine(code_part, observation_part)
                            : code_part;
  uint32_t& line = At(&line_of_part_, part);
  if (line == kNoIndex) {
    line = static_cast<uint32_t>(lines_.size());
    lines_.push_back(part);
  }
  return line;
}

void PivotAxis::CopyPartValues(KeyLevel level, uint32_t part, std::span<uint32_t> values) const {
  const Level& used = LevelOf(level);
  for (size_t i = used.keys.size(); i > 0; --i) {
    uint32_t value = part;
    if (i > 1) std::tie(part, value) = used.pairs[i - 2].Parts(part);
    const size_t key = used.keys[i - 1];
    if (!keys_[key]->DoesWithoutCode()) value = value == 0 ? kNoCode : value - 1;
    values[key] = value;
  }
}

void PivotAxis::CopyValues(uint32_t line, std::span<uint32_t> values) const {
  uint32_t part = lines_[line];
  if (Uses(KeyLevel::kObservation)) {
    uint32_t of_observation = 0;
    std::tie(part, of_observation) = with_observation_.Parts(part);
    CopyPartValues(KeyLevel::kObservation, of_observation, values);
  }
  if (Uses(KeyLevel::kInstruction)) {
    uint32_t of_instruction = part;
    if (Uses(KeyLevel::kBlock) || Uses(KeyLevel::kKind)) {
      std::tie(part, of_instruction) = with_instruction_.Parts(part);
    }
    CopyPartValues(KeyLevel::kInstruction, of_instruction, values);
  }
  if (Uses(KeyLevel::kKind)) {
    uint32_t of_kind = part;
    if (Uses(KeyLevel::kBlock)) std::tie(part, of_kind) = with_kind_.Parts(part);
    CopyPartValues(KeyLevel::kKind, of_kind, values);
  }
  CopyPartValues(KeyLevel::kBlock, part, values);
}

}  // namespace hbbp
