// The part of ResolvedProfile that counts blocks.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/flow_graph.h"
#include "analysis/resolved_profile.h"
#include "estimate/ebs_estimator.h"
#include "isa/code_traits.h"

namespace hbbp {
namespace {

SourceKind KindOf(SourceFamily family, const ObservedBlock& observed, const ProfileData& data) {
  if (family == SourceFamily::kStreams) {
    return observed.streams.empty() ? SourceKind::kNone
                                    : data.sources[observed.streams.begin()->first.source].kind;
  }
  return observed.counts.empty() ? SourceKind::kNone
                                 : data.sources[data.counts[observed.counts.front()].source].kind;
}

SourceKind KindIn(const ProfileData& data, SourceFamily family) {
  const auto source = std::find_if(
      data.sources.begin(), data.sources.end(),
      [family](const SourceRecord& record) { return FamilyOf(record.kind) == family; });
  return source == data.sources.end() ? SourceKind::kNone : source->kind;
}

void Scale(double factor, StreamSums* sums) {
  if (factor == 1) return;
  sums->weights *= factor;
  for (float& sum : sums->replicates.sums) sum *= static_cast<float>(factor);
}

void Scale(double factor, Contribution* contribution) {
  contribution->period_sum *= factor;
  contribution->period_squares *= factor * factor;
}

double Share(uint32_t part, uint32_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / whole;
}

}  // namespace

std::vector<ResolvedProfile::ObservedModule> ResolvedProfile::Observe(WorkMeter* meter) const {
  contributions_.reserve(data_.counts.size());
  for (const IpCount& count : data_.counts) {
    contributions_.push_back({kNoIndex, count.thread, count.source, kNoIndex, count.samples,
                              count.period_sum, count.period_squares, count.slice});
  }
  std::vector<ObservedModule> all;
  IndexRange counts, branches;
  for (uint32_t module = 0; module < data_.modules.size(); ++module) {
    counts.first = counts.end;
    while (counts.end < data_.counts.size() && data_.counts[counts.end].module == module) {
      ++counts.end;
    }
    branches.first = branches.end;
    while (branches.end < data_.branches.size() &&
           data_.branches[branches.end].to_module == module) {
      ++branches.end;
    }
    if (counts.empty() && branches.empty()) continue;
    ModuleState* state = OpenModule(module);
    all.push_back({module, counts,
                   ObserveBlocks(data_, counts, branches, state->resolved, state->blocks.get(),
                                 &unexplained_, meter)});
    if (!meter->status().ok()) break;
  }
  return all;
}

// From here on a sample of uops stands for instructions, as those of other sources do, so that a
// block of l instructions and u uops is counted P s / u times and not P s / l.
void ResolvedProfile::CountInInstructions(const ObservedModule& observed) const {
  for (const auto& [start, block] : observed.observations.blocks) {
    std::optional<double> factor;
    for (const size_t i : block.counts) {
      if (data_.sources[contributions_[i].source].event != EventKind::kUops) continue;
      if (!factor) factor = InstructionsPerUop(observed.module, block.block);
      Scale(*factor, &contributions_[i]);
    }
  }
}

double ResolvedProfile::InstructionsBy(SourceFamily family, const ObservedBlock& observed) const {
  if (family == SourceFamily::kStreams) {
    return observed.all_streams.weights * observed.block.instruction_count;
  }
  double sum = 0;
  for (const size_t i : observed.counts) sum += contributions_[i].period_sum;
  return sum;
}

void ResolvedProfile::FindScales(const std::vector<ObservedModule>& all) const {
  FamilyEvidence ebs, streams;
  for (size_t i = 0; i < data_.sources.size(); ++i) {
    if (source_samples_[i] == 0) continue;
    const SourceRecord& source = data_.sources[i];
    const SourceFamily family = FamilyOf(source.kind);
    FamilyEvidence& evidence = family == SourceFamily::kEbs ? ebs : streams;
    evidence.is_observed = true;
    evidence.counts_executions &= CountsExecutions(family, source.event, source.burst_extent);
    evidence.suits_flow &=
        family == SourceFamily::kEbs || source.event == EventKind::kTakenBranches;
  }
  const auto add = [&](const ObservedModule& module) {
    for (const auto& [start, block] : module.observations.blocks) {
      ebs.instructions += InstructionsBy(SourceFamily::kEbs, block);
      streams.instructions += InstructionsBy(SourceFamily::kStreams, block);
    }
  };
  // Stacks of user mode reach into the kernel here and there.
  for (const bool of_kernel : {false, true}) {
    if (ebs.instructions > 0 && streams.instructions > 0) break;
    for (const ObservedModule& module : all) {
      const bool is_kernel = data_.modules[module.module].kind == ModuleKind::kKernel;
      const bool by_both = module.observations.has_samples && module.observations.has_streams;
      if (by_both && is_kernel == of_kernel) add(module);
    }
  }
  scales_ = ScalesOf(ebs, streams);
  estimator_ = EstimatorFor(estimator_options_.kind, ebs, streams);

  double sum = 0;
  size_t number = 0;
  for (Contribution& contribution : contributions_) Scale(scales_.ebs, &contribution);
  for (const ObservedModule& module : all) {
    for (const auto& [start, block] : module.observations.blocks) {
      const FamilyCounts counts = CountFamilies(block);
      sum += counts.ebs.count + counts.streams.count;
      ++number;
    }
  }
  const int families = (ebs.is_observed ? 1 : 0) + (streams.is_observed ? 1 : 0);
  if (number != 0) mean_count_ = sum / static_cast<double>(number) / families;
}

FamilyCounts ResolvedProfile::CountFamilies(const ObservedBlock& observed) const {
  FamilyCounts counts;
  double period_sum = 0, period_squares = 0;
  for (const size_t i : observed.counts) {
    period_sum += contributions_[i].period_sum;
    period_squares += contributions_[i].period_squares;
  }
  counts.ebs = EstimateEbs(period_sum, period_squares, observed.block.instruction_count);
  StreamSums streams = observed.all_streams;
  if (streams.weights > 0) counts.taken_ratio = 1 - observed.fell_through.weights / streams.weights;
  Scale(scales_.streams, &streams);
  counts.streams = EstimateStreams(streams);
  return counts;
}

void ResolvedProfile::AddBias(std::vector<ObservedModule>* all) const {
  std::map<uint32_t, BlockObservations*> by_module;
  for (ObservedModule& module : *all) by_module[module.module] = &module.observations;
  for (const TakenBranchRecord& branch : branches_) {
    const auto module = by_module.find(branch.from_module);
    if (branch.bias.expected == 0 || branch.from == kNoAddress || module == by_module.end()) {
      continue;
    }
    auto& blocks = module->second->blocks;
    const auto next = blocks.upper_bound(branch.from);
    if (next == blocks.begin()) continue;
    ObservedBlock& observed = std::prev(next)->second;
    if (observed.block.Contains(branch.from)) observed.bias.Add(branch.bias);
  }
}

SourceFamily ResolvedProfile::FamilyFor(const ObservedModule& observed,
                                        const BlockRecord& record) const {
  if (!observed.observations.has_streams) return SourceFamily::kEbs;
  if (!observed.observations.has_samples) return SourceFamily::kStreams;
  switch (estimator_) {
    case EstimatorKind::kTree:
      return estimator_options_.tree.Choose(FindFeatures(record));
    case EstimatorKind::kEbs:
      return SourceFamily::kEbs;
    case EstimatorKind::kAuto:
    case EstimatorKind::kStreams:
    case EstimatorKind::kFlow:
      break;
  }
  return SourceFamily::kStreams;
}

void ResolvedProfile::EstimateModule(const ObservedModule& observed, WorkMeter* meter) const {
  FunctionReplicates replicates;
  BlockMap* const map = OpenModule(observed.module)->blocks.get();
  if (estimator_ == EstimatorKind::kFlow && map != nullptr) {
    EstimateByFlow(observed, map, &replicates, meter);
  } else {
    ChooseByBlock(observed, &replicates, meter);
  }
  for (const auto& [function, sums] : replicates) {
    FunctionRecord& record = functions_[function];
    record.standard_error = std::hypot(record.standard_error, std::sqrt(VarianceOf(sums)));
  }
}

void ResolvedProfile::ChooseByBlock(const ObservedModule& observed, FunctionReplicates* replicates,
                                    WorkMeter* meter) const {
  for (const auto& [start, block] : observed.observations.blocks) {
    if (!meter->Advance()) return;
    BlockRecord record;
    record.module = observed.module;
    record.block = block.block;
    record.bias = block.bias;
    record.families = CountFamilies(block);
    record.fell_through = block.fell_through;
    Scale(scales_.streams, &record.fell_through);
    const SourceFamily family = FamilyFor(observed, record);
    record.source = KindOf(family, block, data_);
    if (family == SourceFamily::kStreams) {
      for (const size_t i : block.counts) {
        superseded_[data_.counts[i].source] += data_.counts[i].samples;
      }
    }
    if (record.source == SourceKind::kNone) {
      // Where each block is chosen for, that the chosen source did not see it is an answer.
      if (estimator_ != EstimatorKind::kTree) continue;
      record.source = KindIn(data_, family);
    }
    AddBlock(block, record, replicates);
  }
}

// How much of a block each thread did in each slice, by all sources.
ResolvedProfile::OriginWeights ResolvedProfile::WeightsByOrigin(
    const ObservedBlock& observed) const {
  OriginWeights weights;
  for (const size_t i : observed.counts) {
    const Contribution& contribution = contributions_[i];
    weights[{contribution.source, contribution.thread, contribution.slice}] +=
        contribution.period_sum / observed.block.instruction_count;
  }
  for (const auto& [origin, sums] : observed.streams) {
    weights[origin] += sums.weights * scales_.streams;
  }
  return weights;
}

void ResolvedProfile::EstimateByFlow(const ObservedModule& observed, BlockMap* map,
                                     FunctionReplicates* replicates, WorkMeter* meter) const {
  const ResolvedModule& resolved = OpenModule(observed.module)->resolved;
  const std::vector<CombinedBlock> combined = CombineByFlow({.data = data_,
                                                             .observations = observed.observations,
                                                             .module = resolved,
                                                             .module_index = observed.module,
                                                             .contributions = contributions_,
                                                             .streams_scale = scales_.streams},
                                                            map, FlowErrorsOf(data_));
  const auto evidence_of = [&](const CombinedBlock& block) {
    const auto found = observed.observations.blocks.find(block.block.start);
    return found == observed.observations.blocks.end() ? nullptr : &found->second;
  };
  for (size_t first = 0, end = 0; first < combined.size(); first = end) {
    if (!meter->Advance(end - first)) return;
    const AddressRange function =
        resolved.code->FunctionAround(combined[first].block.start).value_or(AddressRange{});
    OriginWeights origins_of_function;
    for (end = first;
         end == first || (end < combined.size() && function.Contains(combined[end].block.start));
         ++end) {
      const ObservedBlock* evidence = evidence_of(combined[end]);
      if (evidence == nullptr) continue;
      for (const auto& [key, weight] : WeightsByOrigin(*evidence)) {
        origins_of_function[key] += weight * evidence->block.instruction_count;
      }
    }
    // A block that nobody observed is of one thread and slice: there may be many of all.
    OriginWeights busiest_origin;
    const auto busiest =
        std::max_element(origins_of_function.begin(), origins_of_function.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (busiest != origins_of_function.end()) busiest_origin.insert(*busiest);
    for (size_t i = first; i < end; ++i) {
      const ObservedBlock* evidence = evidence_of(combined[i]);
      BlockRecord record;
      record.module = observed.module;
      record.block = combined[i].block;
      record.source = SourceKind::kCombined;
      record.estimate = {combined[i].count, std::sqrt(VarianceOf(combined[i].replicates))};
      record.replicates = combined[i].replicates;
      record.function = FunctionFor(record.module, record.block.start);
      if (evidence != nullptr) {
        record.bias = evidence->bias;
        record.families = CountFamilies(*evidence);
        record.fell_through = evidence->fell_through;
        Scale(scales_.streams, &record.fell_through);
        for (const size_t sample : evidence->counts) record.samples += data_.counts[sample].samples;
        functions_[record.function].samples += record.samples + evidence->streams_into_function;
        record.samples += evidence->all_streams.streams;
      }
      AddCombined(record, evidence != nullptr ? WeightsByOrigin(*evidence) : busiest_origin,
                  replicates);
    }
  }
}

void ResolvedProfile::AddCombined(BlockRecord record, const OriginWeights& origins,
                                  FunctionReplicates* replicates) const {
  const double length = record.block.instruction_count;
  functions_[record.function].instructions += record.estimate.count * length;
  (*replicates)[record.function].Add(record.replicates, length);
  double whole = 0;
  for (const auto& [origin, weight] : origins) whole += weight;
  for (const auto& [origin, weight] : origins) {
    if (whole <= 0) break;
    StreamContribution part;
    part.block = static_cast<uint32_t>(blocks_.size());
    part.source = origin.source;
    part.thread = origin.thread;
    part.slice = origin.slice;
    part.sums.weights = record.estimate.count * weight / whole;
    part.sums.replicates.Add(record.replicates, weight / whole);
    stream_contributions_.push_back(part);
  }
  blocks_.push_back(record);
}

void ResolvedProfile::AddBlock(const ObservedBlock& observed, BlockRecord record,
                               FunctionReplicates* replicates) const {
  record.function = FunctionFor(record.module, record.block.start);
  FunctionRecord& function = functions_[record.function];
  if (HasStreams(record.source)) {
    CountStreams(observed, &record);
    const double length = record.block.instruction_count;
    function.samples += observed.streams_into_function;
    function.instructions += record.estimate.count * length;
    (*replicates)[record.function].Add(record.replicates, length);
  } else {
    CountSamples(observed, &record);
    for (const size_t i : observed.counts) AddToFunction(contributions_[i], &function);
  }
  blocks_.push_back(record);
}

// `record` becomes the next of blocks_.
void ResolvedProfile::CountSamples(const ObservedBlock& observed, BlockRecord* record) const {
  for (const size_t i : observed.counts) {
    Contribution& contribution = contributions_[i];
    contribution.block = static_cast<uint32_t>(blocks_.size());
    record->samples += contribution.samples;
  }
  record->estimate = record->families.ebs;
}

// `record` becomes the next of blocks_.
void ResolvedProfile::CountStreams(const ObservedBlock& observed, BlockRecord* record) const {
  StreamSums total;
  for (const auto& [origin, sums] : observed.streams) {
    StreamContribution& contribution = stream_contributions_.emplace_back(StreamContribution{
        static_cast<uint32_t>(blocks_.size()), origin.thread, origin.source, sums, origin.slice});
    Scale(scales_.streams, &contribution.sums);
    total.Add(contribution.sums);
  }
  record->samples = total.streams;
  record->estimate = record->families.streams;
  record->replicates = total.replicates;
}

void ResolvedProfile::AddToFunction(const Contribution& contribution, FunctionRecord* function) {
  function->samples += contribution.samples;
  function->instructions += contribution.period_sum;
  function->standard_error =
      std::hypot(function->standard_error, std::sqrt(contribution.period_squares));
}

BlockFeatures ResolvedProfile::FindFeatures(const BlockRecord& record) const {
  const ModuleState& state = *OpenModule(record.module);
  const Block& block = record.block;
  const uint64_t bytes = block.end - block.start;
  const CodeTraits traits = TraitsOf(state.resolved.code->CodeAt(block.start, bytes));
  const double unit = mean_count_ > 0 ? mean_count_ : 1;
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
  const std::optional<Block> next = state.blocks->Find(block.end);
  if (next && next->start == block.end) {
    features[Feature::kNextLength] = next->instruction_count;
  }
  std::optional<Block> previous;
  if (block.start.value != 0) previous = state.blocks->Find(block.start - 1);
  if (previous && previous->end == block.start) {
    features[Feature::kPreviousLength] = previous->instruction_count;
  }
  features[Feature::kTakenRatio] = record.families.taken_ratio;
  return features;
}

BlockFeatures ResolvedProfile::FeaturesOf(const BlockRecord& record) const {
  Resolve();
  std::lock_guard lock(mutex_);
  return FindFeatures(record);
}

}  // namespace hbbp
