// CountBlocks handles one module. For EstimatorKind::kFlow it calls CombineByFlow; otherwise it
// counts each observed block by both families (CountFamilies), chooses one by the method, the tree
// included, and records which samples that supersedes. Contributions are then attributed to the
// threads and slices that observed the block. Analyze() calls it for each module.
#include "estimate/block_counts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimate/observed_features.h"
#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

using OriginWeights = std::map<StreamOrigin, double>;

SourceKind KindIn(const ProfileData& data, SourceFamily family) {
  const auto source = std::find_if(
      data.sources.begin(), data.sources.end(),
      [family](const SourceRecord& record) { return FamilyOf(record.kind) == family; });
  return source == data.sources.end() ? SourceKind::kNone : source->kind;
}

class ModuleCounter {
 public:
  ModuleCounter(const ModuleEvidence& evidence, const CountingMethod& method, BlockCounts* counts)
      : evidence_(evidence), method_(method), counts_(*counts) {}

  void ChooseByBlock(WorkMeter* meter) {
    for (const auto& [start, observed] : evidence_.observed.observations.blocks) {
      if (!meter->Advance()) return;
      BlockRecord record;
      record.block = observed.block;
      SetObservations(observed, &record);
      const SourceFamily family = FamilyFor(record);
      record.source = FindKind(family, observed);
      if (family == SourceFamily::kStreams) {
        for (const size_t i : observed.counts) {
          const IpCount& count = evidence_.data.counts[i];
          counts_.superseded[count.source] += count.samples;
        }
      }
      if (record.source == SourceKind::kNone) {
        // If the choice depends on the block, the chosen source's observation of nothing counts as
        // 0.
        if (method_.estimator.kind != EstimatorKind::kTree) continue;
        record.source = KindIn(evidence_.data, family);
      }
      if (HasStreams(record.source)) {
        CountStreams(observed, &record);
      } else {
        CountSamples(observed, &record);
      }
      counts_.blocks.push_back(record);
    }
  }

  void CombineBlocks(WorkMeter* meter) {
    const std::vector<CombinedBlock> combined =
        CombineByFlow({.data = evidence_.data,
                       .observations = evidence_.observed.observations,
                       .address_of = evidence_.address_of,
                       .module_index = evidence_.observed.module,
                       .contributions = counts_.contributions,
                       .streams_scale = streams_scale()},
                      evidence_.map, method_.flow_errors);
    for (size_t first = 0, end = 0; first < combined.size(); first = end) {
      if (!meter->Advance(end - first)) return;
      const AddressRange function =
          evidence_.code->FunctionAround(combined[first].block.start).value_or(AddressRange{});
      OriginWeights origins_of_function;
      for (end = first;
           end == first || (end < combined.size() && function.Contains(combined[end].block.start));
           ++end) {
        const ObservedBlock* observed = ObservedAt(combined[end].block.start);
        if (observed == nullptr) continue;
        for (const auto& [key, weight] : WeightsByOrigin(*observed)) {
          origins_of_function[key] += weight * observed->block.instruction_count;
        }
      }
      // A block that no source observed is attributed to one thread and slice, because all of them
      // may be many.
      OriginWeights busiest_origin;
      const auto busiest =
          std::max_element(origins_of_function.begin(), origins_of_function.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (busiest != origins_of_function.end()) busiest_origin.insert(*busiest);
      for (size_t i = first; i < end; ++i) AddCombined(combined[i], busiest_origin);
    }
  }

 private:
  double streams_scale() const { return method_.estimator.scales.streams; }

  const ObservedBlock* ObservedAt(ModuleAddress start) const {
    const auto& blocks = evidence_.observed.observations.blocks;
    const auto found = blocks.find(start);
    return found == blocks.end() ? nullptr : &found->second;
  }

  void SetObservations(const ObservedBlock& observed, BlockRecord* record) const {
    record->module = evidence_.observed.module;
    record->bias = observed.bias;
    record->families = CountFamilies(observed, counts_.contributions, streams_scale());
    record->fell_through = observed.fell_through;
    Scale(streams_scale(), &record->fell_through);
  }

  SourceFamily FamilyFor(const BlockRecord& record) const {
    const BlockObservations& observations = evidence_.observed.observations;
    if (!observations.has_streams) return SourceFamily::kEbs;
    if (!observations.has_samples) return SourceFamily::kStreams;
    switch (method_.estimator.kind) {
      case EstimatorKind::kTree:
        return method_.tree.Choose(
            FindFeatures(record, *evidence_.code, evidence_.map, method_.mean_count));
      case EstimatorKind::kEbs:
        return SourceFamily::kEbs;
      case EstimatorKind::kAuto:
      case EstimatorKind::kStreams:
      case EstimatorKind::kFlow:
        break;
    }
    return SourceFamily::kStreams;
  }

  SourceKind FindKind(SourceFamily family, const ObservedBlock& observed) const {
    const ProfileData& data = evidence_.data;
    if (family == SourceFamily::kStreams) {
      return observed.streams.empty() ? SourceKind::kNone
                                      : data.sources[observed.streams.begin()->first.source].kind;
    }
    return observed.counts.empty() ? SourceKind::kNone
                                   : data.sources[data.counts[observed.counts.front()].source].kind;
  }

  // Returns the index of the block that is added next.
  uint32_t next_block() const { return static_cast<uint32_t>(counts_.blocks.size()); }

  void CountSamples(const ObservedBlock& observed, BlockRecord* record) {
    for (const size_t i : observed.counts) {
      Contribution& contribution = counts_.contributions[i];
      contribution.block = next_block();
      record->samples += contribution.samples;
    }
    record->estimate = record->families.ebs;
  }

  void CountStreams(const ObservedBlock& observed, BlockRecord* record) {
    StreamSums total;
    for (const auto& [origin, sums] : observed.streams) {
      StreamContribution& contribution = counts_.stream_contributions.emplace_back(
          StreamContribution{next_block(), origin.thread, origin.source, sums, origin.slice});
      Scale(streams_scale(), &contribution.sums);
      total.Add(contribution.sums);
    }
    record->samples = total.streams;
    record->estimate = record->families.streams;
    record->replicates = total.replicates;
  }

  // Returns the share of each thread and slice in the block, by all sources.
  OriginWeights WeightsByOrigin(const ObservedBlock& observed) const {
    OriginWeights weights;
    for (const size_t i : observed.counts) {
      const Contribution& contribution = counts_.contributions[i];
      weights[{contribution.source, contribution.thread, contribution.slice}] +=
          contribution.period_sum / observed.block.instruction_count;
    }
    for (const auto& [origin, sums] : observed.streams) {
      weights[origin] += sums.weights * streams_scale();
    }
    return weights;
  }

  void AddCombined(const CombinedBlock& combined, const OriginWeights& origins_of_unobserved) {
    const ObservedBlock* observed = ObservedAt(combined.block.start);
    BlockRecord record;
    record.module = evidence_.observed.module;
    record.block = combined.block;
    record.source = SourceKind::kCombined;
    record.estimate = {combined.count, std::sqrt(VarianceOf(combined.replicates))};
    record.replicates = combined.replicates;
    if (observed == nullptr) {
      AddParts(record, origins_of_unobserved);
    } else {
      SetObservations(*observed, &record);
      for (const size_t i : observed->counts) record.samples += evidence_.data.counts[i].samples;
      record.samples += observed->all_streams.streams;
      AddParts(record, WeightsByOrigin(*observed));
    }
    counts_.blocks.push_back(record);
  }

  void AddParts(const BlockRecord& record, const OriginWeights& origins) {
    double whole = 0;
    for (const auto& [origin, weight] : origins) whole += weight;
    for (const auto& [origin, weight] : origins) {
      if (whole <= 0) break;
      StreamContribution part;
      part.block = next_block();
      part.source = origin.source;
      part.thread = origin.thread;
      part.slice = origin.slice;
      part.sums.weights = record.estimate.count * weight / whole;
      part.sums.replicates.Add(record.replicates, weight / whole);
      counts_.stream_contributions.push_back(part);
    }
  }

  const ModuleEvidence& evidence_;
  const CountingMethod& method_;
  BlockCounts& counts_;
};

}  // namespace

void CountBlocks(const ModuleEvidence& evidence, const CountingMethod& method, WorkMeter* meter,
                 BlockCounts* counts) {
  ModuleCounter counter(evidence, method, counts);
  if (method.estimator.kind == EstimatorKind::kFlow && evidence.map != nullptr) {
    counter.CombineBlocks(meter);
  } else {
    counter.ChooseByBlock(meter);
  }
}

}  // namespace hbbp
