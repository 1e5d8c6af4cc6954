#include "mix/pivot_input.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "estimate/ebs_estimator.h"

namespace hbbp {
namespace {

class InputMaker {
 public:
  InputMaker(const Analysis& analysis, std::shared_ptr<const InstructionTable> code,
             const PivotDetail& detail)
      : analysis_(analysis), detail_(detail) {
    input_.code = std::move(code);
  }

  PivotInput Make() {
    AddBlocks();
    if (detail_.threads || detail_.slices) {
      ObserveParts();
    } else {
      ObserveBlocks();
    }
    if (detail_.missing_code) AddMissingCode();
    return std::move(input_);
  }

 private:
  void AddBlocks() {
    const std::vector<BlockRecord>& records = analysis_.blocks();
    size_t instructions = 0;
    input_.blocks.reserve(records.size());
    for (uint32_t i = 0; i < records.size(); ++i) {
      const BlockRecord& record = records[i];
      PivotBlock block;
      block.module = record.module;
      block.function = record.function;
      block.block = i;
      block.source = record.source;
      block.start = record.block.start;
      block.bytes = static_cast<uint32_t>(record.block.end - record.block.start);
      block.instruction_count = record.block.instruction_count;
      block.first_instruction = instructions;
      instructions += block.instruction_count;
      input_.blocks.push_back(block);
    }
  }

  uint32_t AddReplicates(const ReplicateSums& replicates) {
    input_.replicates.push_back(replicates);
    return static_cast<uint32_t>(input_.replicates.size() - 1);
  }

  void ObserveBlocks() {
    for (uint32_t i = 0; i < analysis_.blocks().size(); ++i) {
      const BlockRecord& block = analysis_.blocks()[i];
      const uint32_t replicates =
          HasReplicates(block.source) ? AddReplicates(block.replicates) : kNoIndex;
      Observe({i}, block.estimate, replicates);
    }
  }

  // The part of a block's count that a contribution belongs to.
  struct Part {
    uint32_t block = 0;
    uint32_t thread = kNoIndex;
    uint32_t slice = kNoSlice;

    auto operator<=>(const Part&) const = default;
  };
  struct PartHash {
    size_t operator()(const Part& part) const {
      return HashNumbers({part.block, part.thread, part.slice});
    }
  };

  template <typename AnyContribution>
  Part PartOf(const AnyContribution& contribution) const {
    return {contribution.block, detail_.threads ? contribution.thread : kNoIndex,
            detail_.slices ? contribution.slice : kNoSlice};
  }

  void Observe(const Part& part, const CountEstimate& estimate, uint32_t replicates) {
    input_.observations.push_back({part.block, part.thread, estimate, replicates, part.slice});
  }

  void ObserveParts() {
    std::map<Part, StreamSums> streams;
    for (const StreamContribution& contribution : analysis_.stream_contributions()) {
      streams[PartOf(contribution)].Add(contribution.sums);
    }
    for (const auto& [part, sums] : streams) {
      Observe(part, EstimateStreams(sums), AddReplicates(sums.replicates));
    }
    struct Periods {
      double sum = 0;
      double squares = 0;
    };
    std::unordered_map<Part, Periods, PartHash> samples;
    for (const Contribution& contribution : analysis_.contributions()) {
      if (contribution.block == kNoIndex) continue;
      Periods& periods = samples[PartOf(contribution)];
      periods.sum += contribution.period_sum;
      periods.squares += contribution.period_squares;
    }
    for (const auto& [part, periods] : samples) {
      const uint32_t length = analysis_.blocks()[part.block].block.instruction_count;
      Observe(part, EstimateEbs(periods.sum, periods.squares, length), kNoIndex);
    }
    std::sort(input_.observations.begin(), input_.observations.end(),
              [](const PivotObservation& a, const PivotObservation& b) {
                return std::tie(a.block, a.thread, a.slice) < std::tie(b.block, b.thread, b.slice);
              });
  }

  // A sample of a function without code counts as the instructions of its period.
  void AddMissingCode() {
    for (const Contribution& contribution : analysis_.contributions()) {
      if (contribution.function == kNoIndex) continue;
      PivotBlock block;
      block.module = analysis_.functions()[contribution.function].module;
      block.function = contribution.function;
      block.source = analysis_.data().sources[contribution.source].kind;
      block.instruction_count = 1;
      Part part = PartOf(contribution);
      part.block = static_cast<uint32_t>(input_.blocks.size());
      Observe(part, {contribution.period_sum, std::sqrt(contribution.period_squares)}, kNoIndex);
      input_.blocks.push_back(block);
    }
  }

  const Analysis& analysis_;
  const PivotDetail detail_;
  PivotInput input_;
};

}  // namespace

PivotInput MakePivotInput(const Analysis& analysis, std::shared_ptr<const InstructionTable> code,
                          const PivotDetail& detail) {
  return InputMaker(analysis, std::move(code), detail).Make();
}

}  // namespace hbbp
