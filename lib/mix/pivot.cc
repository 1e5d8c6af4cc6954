// MakePivot goes through the observations, which are sorted by block. For each block, and each
// class of observations that the filter distinguishes, it finds the instructions that the filter
// keeps (FindItems) and sums their amounts by row, column and cell (SumItems); this is kept until
// the next block. It then adds these amounts times the count of the observation to the sums (Add,
// AddTo). MakePivotTable and ComputeMix call it.
#include "mix/pivot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mix/number_pairs.h"
#include "mix/ratio_error.h"

namespace hbbp {
namespace {

constexpr size_t kMeasures = 6;

using Amounts = std::array<double, kMeasures>;

// The amounts that one execution of a block adds to a row, a column or a cell, before the keys of
// observations are known.
struct Addition {
  uint32_t row = 0;
  uint32_t column = 0;
  Amounts amounts{};
};

// The amounts that one execution of a block adds, as far as the filter keeps it.
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
  const InstructionProperties* kind;  // null: a whole block
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
    needs_instructions_ = std::any_of(measures.begin(), measures.end(), NeedsInstructions) ||
                          (filter != nullptr && filter->NeedsInstructions());
    for (const PivotAxis* axis : {rows, columns}) {
      needs_instructions_ |= axis->Uses(KeyLevel::kKind) || axis->Uses(KeyLevel::kInstruction);
    }
  }

  Pivot Make(const Work& work) {
    WorkMeter meter(work, input_.observations.size());
    uint32_t block = kNoIndex;
    for (const PivotObservation& observation : input_.observations) {
      meter.AdvanceOrThrow();
      if (observation.block != block) {
        block = observation.block;
        ++round_;
        classes_ = 0;
      }
      Add(FindAdditions(input_.blocks[block],
                        filter_ == nullptr ? 0 : filter_->ClassOf(observation)),
          observation);
    }
    for (const PivotAxis* axis : {rows_, columns_}) {
      (axis == rows_ ? pivot_.rows : pivot_.columns).Resize(axis->size());
    }
    return std::move(pivot_);
  }

 private:
  const BlockAdditions& FindAdditions(const PivotBlock& block, uint32_t observation_class) {
    if (observation_class >= class_indices_.size()) {
      class_indices_.resize(observation_class + size_t{1});
    }
    ClassIndex& known = class_indices_[observation_class];
    if (known.round == round_) return by_class_[known.index];
    known = {round_, classes_};
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
    PivotContext context;
    context.block = &block;
    if (block.block == kNoIndex) {
      if (filter_ != nullptr && !filter_->Keeps(observation_class, context)) return;
      const auto no_kind =
          static_cast<uint32_t>(input_.code == nullptr ? 0 : input_.code->kinds.size());
      // The executions of code that is missing are unknown.
      items_.push_back({rows_->PartOfInstruction(row, context, no_kind),
                        columns_->PartOfInstruction(column, context, no_kind), 0,
                        static_cast<double>(block.instruction_count), 0, nullptr});
      return;
    }
    if (!needs_instructions_) {
      if (filter_ != nullptr && !filter_->Keeps(observation_class, context)) return;
      items_.push_back({row, column, 1, static_cast<double>(block.instruction_count),
                        static_cast<double>(block.bytes), nullptr});
      return;
    }
    const InstructionEntry* const first = &input_.code->instructions[block.first_instruction];
    const InstructionEntry* const end = first + block.instruction_count;
    for (const InstructionEntry* instruction = first; instruction != end; ++instruction) {
      context.instruction = instruction;
      context.kind = &input_.code->kinds[instruction->kind];
      if (filter_ != nullptr && !filter_->Keeps(observation_class, context)) continue;
      const uint32_t next = instruction + 1 == end ? block.bytes : instruction[1].offset;
      items_.push_back({rows_->PartOfInstruction(row, context, instruction->kind),
                        columns_->PartOfInstruction(column, context, instruction->kind), 1, 1,
                        static_cast<double>(next - instruction->offset), context.kind});
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

  // Makes one addition for all items of a group, a row, a column or a cell. `group_of` gives its
  // number.
  template <typename GroupOf>
  void SumByGroup(GroupOf&& group_of, std::vector<Addition>* additions) {
    order_.clear();
    for (const Item& item : items_) order_.push_back({group_of(item), &item});
    std::sort(order_.begin(), order_.end(),
              [](const GroupedItem& a, const GroupedItem& b) { return a.group < b.group; });
    const GroupedItem* last = nullptr;
    for (const GroupedItem& grouped : order_) {
      if (last == nullptr || last->group != grouped.group) {
        additions->push_back({grouped.item->row, grouped.item->column, {}});
      }
      AddItem(*grouped.item, &additions->back().amounts);
      last = &grouped;
    }
  }

  void SumItems(BlockAdditions* additions) {
    additions->whole = {};
    additions->rows.clear();
    additions->columns.clear();
    additions->cells.clear();
    for (const Item& item : items_) AddItem(item, &additions->whole);
    SumByGroup([](const Item& item) { return uint64_t{item.row}; }, &additions->rows);
    if (columns_->empty()) return;
    SumByGroup([](const Item& item) { return uint64_t{item.column}; }, &additions->columns);
    SumByGroup([](const Item& item) { return uint64_t{item.row} << 32 | item.column; },
               &additions->cells);
  }

  void AddTo(PivotSums* sums, size_t index, const Amounts& amounts, const Amounts& whole,
             const PivotObservation& observation) const {
    const CountEstimate& estimate = observation.estimate;
    const double variance = estimate.standard_error * estimate.standard_error;
    for (size_t i = 0; i < measures_.size(); ++i) {
      const auto measure = static_cast<size_t>(measures_[i]);
      const double amount = amounts[measure];
      if (observation.replicates != kNoIndex) {
        sums->Add(index, i, amount * estimate.count, amount,
                  input_.replicates[observation.replicates]);
      } else {
        sums->Add(index, i, amount * estimate.count, amount * amount * variance,
                  amount * whole[measure] * variance);
      }
    }
  }

  void Add(const BlockAdditions& additions, const PivotObservation& observation) {
    if (additions.rows.empty()) return;
    AddTo(&pivot_.whole, 0, additions.whole, additions.whole, observation);
    const uint32_t row_part = rows_->PartOfObservation(observation);
    for (const Addition& addition : additions.rows) {
      AddTo(&pivot_.rows, rows_->FindLine(addition.row, row_part), addition.amounts,
            additions.whole, observation);
    }
    if (columns_->empty()) return;
    const uint32_t column_part = columns_->PartOfObservation(observation);
    for (const Addition& addition : additions.columns) {
      AddTo(&pivot_.columns, columns_->FindLine(addition.column, column_part), addition.amounts,
            additions.whole, observation);
    }
    for (const Addition& addition : additions.cells) {
      const PivotCell cell = {rows_->FindLine(addition.row, row_part),
                              columns_->FindLine(addition.column, column_part)};
      const uint32_t index = cells_.Combine(cell.row, cell.column);
      if (index == pivot_.cells.size()) pivot_.cells.push_back(cell);
      AddTo(&pivot_.cell_sums, index, addition.amounts, additions.whole, observation);
    }
  }

  const PivotInput& input_;
  const std::vector<PivotMeasure>& measures_;
  PivotFilter* const filter_;
  PivotAxis* const rows_;
  PivotAxis* const columns_;
  bool needs_instructions_ = false;
  Pivot pivot_;
  NumberPairs cells_;
  std::vector<Item> items_;
  struct GroupedItem {
    uint64_t group;
    const Item* item;
  };
  std::vector<GroupedItem> order_;  // pointers into items_
  // The additions of the current block; the first `classes_` are valid.
  std::vector<BlockAdditions> by_class_;
  size_t classes_ = 0;
  // The index of a class in by_class_, valid if `round` is that of the current block.
  struct ClassIndex {
    uint64_t round = 0;
    size_t index = 0;
  };
  std::vector<ClassIndex> class_indices_;
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

PivotSum PivotSums::At(size_t index, size_t measure) const {
  const size_t slot = Slot(index, measure);
  const auto& [value, variance, covariance] = moments_[slot];
  return {value, variance, covariance, replicates_.empty() ? ReplicateSums() : replicates_[slot]};
}

void PivotSums::Resize(size_t size) {
  moments_.resize(size * measures_);
  if (!replicates_.empty()) replicates_.resize(moments_.size());
}

void PivotSums::Add(size_t index, size_t measure, double value, double variance,
                    double covariance) {
  Moments& moments = moments_[MakeSlot(index, measure)];
  moments.value += value;
  moments.variance += variance;
  moments.covariance += covariance;
}

void PivotSums::Add(size_t index, size_t measure, double value, double amount,
                    const ReplicateSums& replicates) {
  const size_t slot = MakeSlot(index, measure);
  if (replicates_.empty()) replicates_.resize(moments_.size());
  moments_[slot].value += value;
  replicates_[slot].Add(replicates, amount);
}

CountEstimate ComputeShare(const PivotSum& part, const PivotSum& whole) {
  if (!(whole.value > 0)) return {};
  const double share = part.value / whole.value;
  ReplicateSums differences = part.replicates;
  differences.Add(whole.replicates, -share);
  const double of_samples =
      VarianceOfDifference(part.variance, part.covariance, whole.variance, share);
  return {share, std::sqrt(of_samples + VarianceOf(differences)) / whole.value};
}

Pivot MakePivot(const PivotInput& input, const std::vector<PivotMeasure>& measures,
                PivotFilter* filter, PivotAxis* rows, PivotAxis* columns, const Work& work) {
  return PivotMaker(input, measures, filter, rows, columns).Make(work);
}

}  // namespace hbbp
