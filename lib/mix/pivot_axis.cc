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

// The value of a key. Keys that look at code have one more, which is 0: that there is none.
uint32_t PivotAxis::NumberOf(size_t key, const PivotPlace& place) const {
  if (keys_[key]->DoesWithoutCode()) return keys_[key]->ValueOf(place);
  // There is a block, as keys of observations do without. NOLINTNEXTLINE(*-core.NullDereference)
  return place.block->block == kNoIndex ? 0 : keys_[key]->ValueOf(place) + 1;
}

uint32_t PivotAxis::PartOf(KeyLevel level, const PivotPlace& place) {
  Level& used = levels_[static_cast<size_t>(level)];
  if (used.keys.empty()) return 0;
  uint32_t part = NumberOf(used.keys[0], place);
  for (size_t i = 1; i < used.keys.size(); ++i) {
    part = used.pairs[i - 1].Combine(part, NumberOf(used.keys[i], place));
  }
  return part;
}

uint32_t PivotAxis::PartOfBlock(const PivotBlock& block) {
  PivotPlace place;
  place.block = &block;
  return PartOf(KeyLevel::kBlock, place);
}

uint32_t PivotAxis::PartOfInstruction(uint32_t block_part, const PivotPlace& place, uint32_t kind) {
  uint32_t part = block_part;
  if (Uses(KeyLevel::kKind)) {
    uint32_t& kind_part = At(&kind_parts_, kind);
    if (kind_part == kNoIndex) kind_part = PartOf(KeyLevel::kKind, place);
    part = Uses(KeyLevel::kBlock) ? with_kind_.Combine(part, kind_part) : kind_part;
  }
  if (Uses(KeyLevel::kInstruction)) {
    const uint32_t of_instruction = PartOf(KeyLevel::kInstruction, place);
    const bool is_alone = !Uses(KeyLevel::kBlock) && !Uses(KeyLevel::kKind);
    part = is_alone ? of_instruction : with_instruction_.Combine(part, of_instruction);
  }
  return part;
}

uint32_t PivotAxis::PartOfObservation(const PivotObservation& observation) {
  PivotPlace place;
  place.observation = &observation;
  return PartOf(KeyLevel::kObservation, place);
}

uint32_t PivotAxis::LineOf(uint32_t code_part, uint32_t observation_part) {
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

void PivotAxis::PutValues(KeyLevel level, uint32_t part, std::span<uint32_t> values) const {
  const Level& used = LevelOf(level);
  for (size_t i = used.keys.size(); i > 0; --i) {
    uint32_t value = part;
    if (i > 1) std::tie(part, value) = used.pairs[i - 2].Parts(part);
    const size_t key = used.keys[i - 1];
    if (!keys_[key]->DoesWithoutCode()) value = value == 0 ? kNoCode : value - 1;
    values[key] = value;
  }
}

void PivotAxis::ValuesOf(uint32_t line, std::span<uint32_t> values) const {
  uint32_t part = lines_[line];
  if (Uses(KeyLevel::kObservation)) {
    uint32_t of_observation = 0;
    std::tie(part, of_observation) = with_observation_.Parts(part);
    PutValues(KeyLevel::kObservation, of_observation, values);
  }
  if (Uses(KeyLevel::kInstruction)) {
    uint32_t of_instruction = part;
    if (Uses(KeyLevel::kBlock) || Uses(KeyLevel::kKind)) {
      std::tie(part, of_instruction) = with_instruction_.Parts(part);
    }
    PutValues(KeyLevel::kInstruction, of_instruction, values);
  }
  if (Uses(KeyLevel::kKind)) {
    uint32_t of_kind = part;
    if (Uses(KeyLevel::kBlock)) std::tie(part, of_kind) = with_kind_.Parts(part);
    PutValues(KeyLevel::kKind, of_kind, values);
  }
  PutValues(KeyLevel::kBlock, part, values);
}

}  // namespace hbbp
