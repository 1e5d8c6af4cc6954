#include "estimate/observed_features.h"

#include <optional>

#include "isa/code_traits.h"

namespace hbbp {
namespace {

double Share(uint32_t part, uint32_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / whole;
}

}  // namespace

BlockFeatures FindFeatures(const BlockRecord& record, const ModuleCode& code, BlockMap* map,
                           double mean_count) {
  const Block& block = record.block;
  const uint64_t bytes = block.end - block.start;
  const CodeTraits traits = CountCodeTraits(code.CodeAt(block.start, bytes));
  const double unit = mean_count > 0 ? mean_count : 1;
  BlockFeatures features;
  features[Feature::kLength] = block.instruction_count;
  features[Feature::kBytes] = static_cast<double>(bytes);
  features[Feature::kBiased] = IsSuspect(record.bias) ? 1 : 0;
  features[Feature::kEbsCount] = record.families.ebs.count / unit;
  features[Feature::kEbsError] = record.families.ebs.standard_error / unit;
  features[Feature::kStreamsCount] = record.families.streams.count / unit;
  features[Feature::kStreamsError] = record.families.streams.standard_error / unit;
  features[Feature::kLongLatencyShare] = Share(traits.long_latency, traits.instructions);
  features[Feature::kMemoryShare] = Share(traits.memory, traits.instructions);
  features[Feature::kCallShare] = Share(traits.calls, traits.instructions);
  features[Feature::kDivisionShare] = Share(traits.divisions, traits.instructions);
  const std::optional<Block> next = map->Find(block.end);
  if (next && next->start == block.end) {
    features[Feature::kNextLength] = next->instruction_count;
  }
  std::optional<Block> previous;
  if (block.start.value != 0) previous = map->Find(block.start - 1);
  if (previous && previous->end == block.start) {
    features[Feature::kPreviousLength] = previous->instruction_count;
  }
  features[Feature::kTakenRatio] = record.families.taken_ratio;
  return features;
}

}  // namespace hbbp
