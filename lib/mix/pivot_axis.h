// PivotAxis numbers the rows, or the columns, of a pivot.
#ifndef HBBP_LIB_MIX_PIVOT_AXIS_H_
#define HBBP_LIB_MIX_PIVOT_AXIS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mix/number_pairs.h"
#include "mix/pivot_key.h"

namespace hbbp {

// A line is a row or a column. The part of a line that depends on code is computed once for each
// block and instruction, and then combined with the part that depends on the observation.
class PivotAxis {
 public:
  explicit PivotAxis(std::vector<PivotKey*> keys);

  bool empty() const { return keys_.empty(); }
  const std::vector<PivotKey*>& keys() const { return keys_; }
  bool Uses(KeyLevel level) const { return !LevelOf(level).keys.empty(); }

  uint32_t PartOfBlock(const PivotBlock& block);
  // Returns the part of an instruction in the block that `block_part` is of. `kind` is the number
  // of its kind; for code that is missing, one that no kind has.
  uint32_t PartOfInstruction(uint32_t block_part, const PivotContext& context, uint32_t kind);
  uint32_t PartOfObservation(const PivotObservation& observation);
  // Returns the line, counted from 0 in order of appearance.
  uint32_t FindLine(uint32_t code_part, uint32_t observation_part);

  size_t size() const { return lines_.size(); }
  // Sets one of `values` for each key: kNoCode where code is missing and the key depends on code.
  void CopyValues(uint32_t line, std::span<uint32_t> values) const;

 private:
  struct Level {
    std::vector<size_t> keys;        // indices of keys_
    std::vector<NumberPairs> pairs;  // one fewer than keys
  };

  const Level& LevelOf(KeyLevel level) const { return levels_[static_cast<size_t>(level)]; }
  uint32_t FindNumber(size_t key, const PivotContext& context) const;
  uint32_t FindPart(KeyLevel level, const PivotContext& context);
  void CopyPartValues(KeyLevel level, uint32_t part, std::span<uint32_t> values) const;

  std::vector<PivotKey*> keys_;
  std::array<Level, 4> levels_;
  std::vector<uint32_t> kind_parts_;
  NumberPairs with_kind_;
  NumberPairs with_instruction_;
  NumberPairs with_observation_;
  std::vector<uint32_t> line_of_part_;
  std::vector<uint32_t> lines_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_AXIS_H_
