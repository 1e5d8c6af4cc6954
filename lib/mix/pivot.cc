#include "mix/pivot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mix/number_pairs.h"
#include "mix/quotient_error.h"

namespace hbbp {
namespace {

constexpr size_t kMeasures = 6;

using Amounts = std::array<double, kMeasures>;

// What one execution of a block adds to a place, a row, a column or a cell, before it is known what
// observations add to the keys.
struct Addition {
  uint32_t row = 0;
  uint32_t column = 0;
  Amounts amounts{};
};

// What one execution of a block adds, as far as a filter keeps it.
struct BlockAdditions {
  Amounts whole{};
  std::vector<Addition> rows;
  std::vector<Addition> columns;
  std::vector<Addition> cells;
};

struct Item {
  uint32_t row;
  uint32_t column;
  double executions;
  double instructions;
  double bytes;
  const InstructionProperties* kind;  // null: of a whole block
};

class PivotMaker {
 public:
  PivotMaker(const PivotInput& input, const std::vector<PivotMeasure>& measures,
             PivotFilter* filter, PivotAxis* rows, PivotAxis* columns)
      : input_(input), measures_(measures), filter_(filter), rows_(rows), columns_(columns) {
    for (PivotSums* sums : {&pivot_.whole, &pivot_.rows, &pivot_.columns, &pivot_.cell_sums}) {
      *sums = PivotSums(measures_.size());
    }
    pivot_.whole.Resize(1);
    looks_at_instructions_ = std::any_of(measures.begin(), measures.end(), NeedsInstructions) ||
                             (filter != nullptr && filter->NeedsInstructions());
    for (const PivotAxis* axis : {rows, columns}) {
      looks_at_instructions_ |= axis->Uses(KeyLevel::kKind) || axis->Uses(KeyLevel::kInstruction);
    }
  }

  Pivot Make() {
    uint32_t block = kNoIndex;
    for (const PivotObservation& observation : input_.observations) {
      if (observation.block != block) {
        block = observation.block;
        ++round_;
        classes_ = 0;
      }
      Add(AdditionsOf(input_.blocks[block], filter_ == nullptr ? 0 : filter_->ClassOf(observation)),
          observation);
    }
    for (const PivotAxis* axis : {rows_, columns_}) {
      (axis == rows_ ? pivot_.rows : pivot_.columns).Resize(axis->size());
    }
    return std::move(pivot_);
  }

 private:
  const BlockAdditions& AdditionsOf(const PivotBlock& block, uint32_t observation_class) {
    if (observation_class >= places_.size()) places_.resize(observation_class + size_t{1});
    ClassPlace& place = places_[observation_class];
    if (place.round == round_) return by_class_[place.place];
    place = {round_, classes_};
    if (classes_ == by_class_.size()) by_class_.emplace_back();
    BlockAdditions& additions = by_class_[classes_++];
    FindItems(block, observation_class);
    SumItems(&additions);
    return additions;
  }

  void FindItems(const PivotBlock& block, uint32_t observation_class) {
    items_.clear();
    const uint32_t row = rows_->PartOfBlock(block);
    const uint32_t column = columns_->PartOfBlock(block);
    PivotPlace place;
    place.block = &block;
    if (block.block == kNoIndex) {
      if (filter_ != nullptr && !filter_->Keeps(observation_class, place)) return;
      const auto no_kind =
          static_cast<uint32_t>(input_.code == nullptr ? 0 : input_.code->kinds.size());
      // How often code that is missing was entered, nobody knows.
      items_.push_back({rows_->PartOfInstruction(row, place, no_kind),
                        columns_->PartOfInstruction(column, place, no_kind), 0,
                        static_cast<double>(block.instruction_count), 0, nullptr});
      return;
    }
    if (!looks_at_instructions_) {
      if (filter_ != nullptr && !filter_->Keeps(observation_class, place)) return;
      items_.push_back({row, column, 1, static_cast<double>(block.instruction_count),
                        static_cast<double>(block.bytes), nullptr});
      return;
    }
    const DescribedInstruction* const first = &input_.code->instructions[block.first_instruction];
    const DescribedInstruction* const end = first + block.instruction_count;
    for (const DescribedInstruction* instruction = first; instruction != end; ++instruction) {
      place.instruction = instruction;
      place.kind = &input_.code->kinds[instruction->kind];
      if (filter_ != nullptr && !filter_->Keeps(observation_class, place)) continue;
      const uint32_t next = instruction + 1 == end ? block.bytes : instruction[1].offset;
      items_.push_back({rows_->PartOfInstruction(row, place, instruction->kind),
                        columns_->PartOfInstruction(column, place, instruction->kind), 1, 1,
                        static_cast<double>(next - instruction->offset), place.kind});
    }
  }

  static void AddItem(const Item& item, Amounts* amounts) {
    (*amounts)[static_cast<size_t>(PivotMeasure::kInstructions)] += item.instructions;
    (*amounts)[static_cast<size_t>(PivotMeasure::kExecutions)] = item.executions;
    (*amounts)[static_cast<size_t>(PivotMeasure::kBytes)] += item.bytes;
    if (item.kind == nullptr) return;
    (*amounts)[static_cast<size_t>(PivotMeasure::kReadBytes)] += item.kind->read_bytes;
    (*amounts)[static_cast<size_t>(PivotMeasure::kWrittenBytes)] += item.kind->written_bytes;
    (*amounts)[static_cast<size_t>(PivotMeasure::kFlops)] += item.kind->flops;
  }

  // One addition for all items of a place. `place_of` gives its number.
  template <typename PlaceOf>
  void SumByPlace(PlaceOf&& place_of, std::vector<Addition>* additions) {
    order_.clear();
    for (const Item& item : items_) order_.push_back({place_of(item), &item});
    std::sort(order_.begin(), order_.end(),
              [](const PlacedItem& a, const PlacedItem& b) { return a.place < b.place; });
    const PlacedItem* last = nullptr;
    for (const PlacedItem& placed : order_) {
      if (last == nullptr || last->place != placed.place) {
        additions->push_back({placed.item->row, placed.item->column, {}});
      }
      AddItem(*placed.item, &additions->back().amounts);
      last = &placed;
    }
  }

  void SumItems(BlockAdditions* additions) {
    additions->whole = {};
    additions->rows.clear();
    additions->columns.clear();
    additions->cells.clear();
    for (const Item& item : items_) AddItem(item, &additions->whole);
    SumByPlace([](const Item& item) { return uint64_t{item.row}; }, &additions->rows);
    if (columns_->empty()) return;
    SumByPlace([](const Item& item) { return uint64_t{item.column}; }, &additions->columns);
    SumByPlace([](const Item& item) { return uint64_t{item.row} << 32 | item.column; },
               &additions->cells);
  }

  void AddTo(PivotSums* sums, size_t place, const Amounts& amounts, const Amounts& whole,
             const PivotObservation& observation) const {
    const CountEstimate& estimate = observation.estimate;
    const double variance = estimate.standard_error * estimate.standard_error;
    for (size_t i = 0; i < measures_.size(); ++i) {
      const auto measure = static_cast<size_t>(measures_[i]);
      const double amount = amounts[measure];
      if (observation.replicates != kNoIndex) {
        sums->Add(place, i, amount * estimate.count, amount,
                  input_.replicates[observation.replicates]);
      } else {
        sums->Add(place, i, amount * estimate.count, amount * amount * variance,
                  amount * whole[measure] * variance);
      }
    }
  }

  void Add(const BlockAdditions& additions, const PivotObservation& observation) {
    if (additions.rows.empty()) return;
    AddTo(&pivot_.whole, 0, additions.whole, additions.whole, observation);
    const uint32_t row_part = rows_->PartOfObservation(observation);
    for (const Addition& addition : additions.rows) {
      AddTo(&pivot_.rows, rows_->LineOf(addition.row, row_part), addition.amounts, additions.whole,
            observation);
    }
    if (columns_->empty()) return;
    const uint32_t column_part = columns_->PartOfObservation(observation);
    for (const Addition& addition : additions.columns) {
      AddTo(&pivot_.columns, columns_->LineOf(addition.column, column_part), addition.amounts,
            additions.whole, observation);
    }
    for (const Addition& addition : additions.cells) {
      const PivotCell cell = {rows_->LineOf(addition.row, row_part),
                              columns_->LineOf(addition.column, column_part)};
      const uint32_t place = cells_.Combine(cell.row, cell.column);
      if (place == pivot_.cells.size()) pivot_.cells.push_back(cell);
      AddTo(&pivot_.cell_sums, place, addition.amounts, additions.whole, observation);
    }
  }

  const PivotInput& input_;
  const std::vector<PivotMeasure>& measures_;
  PivotFilter* const filter_;
  PivotAxis* const rows_;
  PivotAxis* const columns_;
  bool looks_at_instructions_ = false;
  Pivot pivot_;
  NumberPairs cells_;
  std::vector<Item> items_;
  struct PlacedItem {
    uint64_t place;
    const Item* item;
  };
  std::vector<PlacedItem> order_;  // of items_
  // Of the block at hand; the first `classes_` of them.
  std::vector<BlockAdditions> by_class_;
  size_t classes_ = 0;
  // Where those of a class are, if `round` is that of the block at hand.
  struct ClassPlace {
    uint64_t round = 0;
    size_t place = 0;
  };
  std::vector<ClassPlace> places_;
  uint64_t round_ = 0;
};

}  // namespace

bool NeedsInstructions(PivotMeasure measure) {
  switch (measure) {
    case PivotMeasure::kInstructions:
    case PivotMeasure::kExecutions:
    case PivotMeasure::kBytes:
      return false;
    case PivotMeasure::kReadBytes:
    case PivotMeasure::kWrittenBytes:
    case PivotMeasure::kFlops:
      break;
  }
  return true;
}

double PivotSum::StandardError() const { return std::sqrt(variance + VarianceOf(replicates)); }

PivotSum PivotSums::At(size_t place, size_t measure) const {
  const size_t index = Index(place, measure);
  const auto& [value, variance, covariance] = moments_[index];
  return {value, variance, covariance, replicates_.empty() ? ReplicateSums() : replicates_[index]};
}

void PivotSums::Resize(size_t places) {
  moments_.resize(places * measures_);
  if (!replicates_.empty()) replicates_.resize(moments_.size());
}

void PivotSums::Add(size_t place, size_t measure, double value, double variance,
                    double covariance) {
  Moments& moments = moments_[MakeIndex(place, measure)];
  moments.value += value;
  moments.variance += variance;
  moments.covariance += covariance;
}

void PivotSums::Add(size_t place, size_t measure, double value, double amount,
                    const ReplicateSums& replicates) {
  const size_t index = MakeIndex(place, measure);
  if (replicates_.empty()) replicates_.resize(moments_.size());
  moments_[index].value += value;
  replicates_[index].Add(replicates, amount);
}

CountEstimate ShareOf(const PivotSum& part, const PivotSum& whole) {
  if (!(whole.value > 0)) return {};
  const double share = part.value / whole.value;
  ReplicateSums differences = part.replicates;
  differences.Add(whole.replicates, -share);
  const double of_samples =
      VarianceOfDifference(part.variance, part.covariance, whole.variance, share);
  return {share, std::sqrt(of_samples + VarianceOf(differences)) / whole.value};
}

Pivot MakePivot(const PivotInput& input, const std::vector<PivotMeasure>& measures,
                PivotFilter* filter, PivotAxis* rows, PivotAxis* columns) {
  return PivotMaker(input, measures, filter, rows, columns).Make();
}

}  // namespace hbbp
