#include "estimate/family_counts.h"

#include "estimate/ebs_estimator.h"
#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

double InstructionsBy(SourceFamily family, const ObservedBlock& observed,
                      std::span<const Contribution> contributions) {
  if (family == SourceFamily::kStreams) {
    return observed.all_streams.weights * observed.block.instruction_count;
  }
  double sum = 0;
  for (const size_t i : observed.counts) sum += contributions[i].period_sum;
  return sum;
}

}  // namespace

void Scale(double factor, StreamSums* sums) {
  if (factor == 1) return;
  sums->weights *= factor;
  for (float& sum : sums->replicates.sums) sum *= static_cast<float>(factor);
}

void Scale(double factor, Contribution* contribution) {
  contribution->period_sum *= factor;
  contribution->period_squares *= factor * factor;
}

ChosenEstimator ChooseEstimator(const ProfileData& data, const SampleTotals& totals,
                                std::span<const ObservedModule> modules,
                                std::span<const Contribution> contributions, EstimatorKind asked) {
  FamilyEvidence ebs, streams;
  for (size_t i = 0; i < data.sources.size(); ++i) {
    if (totals.of_source[i] == 0) continue;
    const SourceRecord& source = data.sources[i];
    const SourceFamily family = FamilyOf(source.kind);
    FamilyEvidence& evidence = family == SourceFamily::kEbs ? ebs : streams;
    evidence.is_observed = true;
    evidence.counts_executions &= CountsExecutions(family, source.event, source.burst_extent);
    evidence.suits_flow &=
        family == SourceFamily::kEbs || source.event == EventKind::kTakenBranches;
  }
  const auto add = [&](const ObservedModule& module) {
    for (const auto& [start, block] : module.observations.blocks) {
      ebs.instructions += InstructionsBy(SourceFamily::kEbs, block, contributions);
      streams.instructions += InstructionsBy(SourceFamily::kStreams, block, contributions);
    }
  };
  // Stacks of user mode sometimes reach into the kernel.
  for (const bool of_kernel : {false, true}) {
    if (ebs.instructions > 0 && streams.instructions > 0) break;
    for (const ObservedModule& module : modules) {
      const bool is_kernel = data.modules[module.module].kind == ModuleKind::kKernel;
      const bool by_both = module.observations.has_samples && module.observations.has_streams;
      if (by_both && is_kernel == of_kernel) add(module);
    }
  }
  return {EstimatorFor(asked, ebs, streams), FindScales(ebs, streams),
          (ebs.is_observed ? 1 : 0) + (streams.is_observed ? 1 : 0)};
}

FamilyCounts CountFamilies(const ObservedBlock& observed,
                           std::span<const Contribution> contributions, double streams_scale) {
  FamilyCounts counts;
  double period_sum = 0, period_squares = 0;
  for (const size_t i : observed.counts) {
    period_sum += contributions[i].period_sum;
    period_squares += contributions[i].period_squares;
  }
  counts.ebs = EstimateEbs(period_sum, period_squares, observed.block.instruction_count);
  StreamSums streams = observed.all_streams;
  if (streams.weights > 0) counts.taken_ratio = 1 - observed.fell_through.weights / streams.weights;
  Scale(streams_scale, &streams);
  counts.streams = EstimateStreams(streams);
  return counts;
}

double MeanCount(std::span<const ObservedModule> modules,
                 std::span<const Contribution> contributions, const ChosenEstimator& estimator) {
  double sum = 0;
  size_t number = 0;
  for (const ObservedModule& module : modules) {
    for (const auto& [start, block] : module.observations.blocks) {
      const FamilyCounts counts = CountFamilies(block, contributions, estimator.scales.streams);
      sum += counts.ebs.count + counts.streams.count;
      ++number;
    }
  }
  return number == 0 ? 0 : sum / static_cast<double>(number) / estimator.families;
}

}  // namespace hbbp
