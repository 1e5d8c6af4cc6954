// PivotAxis: the rows, or the columns, of a pivot, as numbers.
#ifndef HBBP_LIB_MIX_PIVOT_AXIS_H_
#define HBBP_LIB_MIX_PIVOT_AXIS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mix/number_pairs.h"
#include "mix/pivot_key.h"

namespace hbbp {

// A line is a row or a column. What the code alone tells of it is known by block and instruction,
// once; what an observation adds is combined with that.
class PivotAxis {
 public:
  explicit PivotAxis(std::vector<PivotKey*> keys);

  bool empty() const { return keys_.empty(); }
  const std::vector<PivotKey*>& keys() const { return keys_; }
  bool Uses(KeyLevel level) const { return !LevelOf(level).keys.empty(); }

  uint32_t PartOfBlock(const PivotBlock& block);
  // Of an instruction of the block that `block_part` is of. `kind` is the number of its kind; of
  // code that is missing, one that no kind has.
  uint32_t PartOfInstruction(uint32_t block_part, const PivotPlace& place, uint32_t kind);
  uint32_t PartOfObservation(const PivotObservation& observation);
  // The line, counted from 0 as they come up.
  uint32_t LineOf(uint32_t code_part, uint32_t observation_part);

  size_t size() const { return lines_.size(); }
  // `values` has a place for each key; kNoCode where code is missing and the key looks at code.
  void ValuesOf(uint32_t line, std::span<uint32_t> values) const;

 private:
  struct Level {
    std::vector<size_t> keys;        // of keys_
    std::vector<NumberPairs> pairs;  // one fewer
  };

  const Level& LevelOf(KeyLevel level) const { return levels_[static_cast<size_t>(level)]; }
  uint32_t NumberOf(size_t key, const PivotPlace& place) const;
  uint32_t PartOf(KeyLevel level, const PivotPlace& place);
  void PutValues(KeyLevel level, uint32_t part, std::span<uint32_t> values) const;

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
