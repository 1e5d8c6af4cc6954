#include "analysis/analyze.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/block_observations.h"
#include "estimate/event_choice.h"
#include "isa/uop_estimate.h"
#include "profile/profile_merge.h"

namespace hbbp {
namespace {

std::vector<Contribution> ContributionsOf(const ProfileData& data) {
  std::vector<Contribution> contributions;
  contributions.reserve(data.counts.size());
  for (const IpCount& count : data.counts) {
    contributions.push_back({kNoIndex, count.thread, count.source, kNoIndex, count.samples,
                             count.period_sum, count.period_squares, count.slice});
  }
  return contributions;
}

// Opens and decodes the modules that have samples.
std::vector<ObservedModule> Observe(const ResolvedModules& modules, WorkMeter* meter,
                                    Analysis::BlockMaps* maps,
                                    std::vector<UnexplainedCounts>* unexplained) {
  const ProfileData& data = modules.data();
  std::vector<ObservedModule> all;
  IndexRange counts, branches;
  for (uint32_t module = 0; module < data.modules.size(); ++module) {
    counts.first = counts.end;
    while (counts.end < data.counts.size() && data.counts[counts.end].module == module) {
      ++counts.end;
    }
    branches.first = branches.end;
    while (branches.end < data.branches.size() && data.branches[branches.end].to_module == module) {
      ++branches.end;
    }
    if (counts.empty() && branches.empty()) continue;
    const ResolvedModules::Use use = modules.Open(module);
    std::unique_ptr<BlockMap>& map = (*maps)[module];
    if (use->code != nullptr) map = std::make_unique<BlockMap>(use->code.get());
    all.push_back({module, counts,
                   ObserveBlocks(data, counts, branches, *use, map.get(), unexplained, meter)});
    if (!meter->status().ok()) break;
  }
  return all;
}

double InstructionsPerUop(const Block& block, const ModuleCode& code) {
  return block.instruction_count / EstimateUops(code.CodeAt(block.start, block.end - block.start));
}

// Converts samples of uops to instructions, which those of other sources are in, so that a block of
// l instructions and u uops is counted P s / u times and not P s / l.
void CountInInstructions(const ResolvedModules& modules, const ObservedModule& observed,
                         std::vector<Contribution>* contributions) {
  const ResolvedModules::Use use = modules.Open(observed.module);
  for (const auto& [start, block] : observed.observations.blocks) {
    std::optional<double> factor;
    for (const size_t i : block.counts) {
      Contribution& contribution = (*contributions)[i];
      if (modules.data().sources[contribution.source].event != EventKind::kUops) continue;
      if (!factor) factor = InstructionsPerUop(block.block, *use->code);
      Scale(*factor, &contribution);
    }
  }
}

// Returns the samples of each source that are in a module.
std::vector<uint64_t> LocatedSamples(const ProfileData& data, const SampleTotals& totals) {
  std::vector<uint64_t> located = totals.of_source;
  for (size_t i = 0; i < located.size(); ++i) located[i] -= data.sources[i].unmapped;
  return located;
}

// Returns the same modules with the counts of these sources alone.
std::shared_ptr<const ResolvedModules> WithSources(const std::vector<bool>& is_counted,
                                                   std::shared_ptr<const ResolvedModules> modules) {
  if (std::find(is_counted.begin(), is_counted.end(), false) == is_counted.end()) return modules;
  auto data = std::make_shared<ProfileData>(modules->data());
  KeepSources(is_counted, data.get());
  return std::make_shared<const ResolvedModules>(std::move(data), *modules);
}

void AddBias(const std::vector<TakenBranchRecord>& branches, std::vector<ObservedModule>* all) {
  std::map<uint32_t, BlockObservations*> by_module;
  for (ObservedModule& module : *all) by_module[module.module] = &module.observations;
  for (const TakenBranchRecord& branch : branches) {
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

}  // namespace

StatusOr<Analysis> Analyze(ProfileData data, const AnalysisOptions& options, const Work& work) {
  return Analyze(std::make_shared<const ResolvedModules>(
                     std::make_shared<const ProfileData>(std::move(data)), options.kernel_files),
                 options.estimator, work);
}

StatusOr<Analysis> Analyze(std::shared_ptr<const ResolvedModules> modules,
                           const EstimatorOptions& estimator, const Work& work) {
  Analysis::Parts parts;
  parts.totals = CountSamples(modules->data());
  HBBP_ASSIGN_OR_RETURN(
      parts.is_counted,
      ChooseEvents(modules->data().sources, LocatedSamples(modules->data(), parts.totals),
                   estimator.event));
  modules = WithSources(parts.is_counted, std::move(modules));
  const ProfileData& data = modules->data();
  const uint64_t evidence = data.counts.size() + data.branches.size();
  WorkMeter meter(work, 3 * evidence);
  parts.maps.resize(data.modules.size());
  parts.unexplained.resize(data.sources.size());
  parts.counts.superseded.resize(data.sources.size());
  parts.counts.contributions = ContributionsOf(data);
  std::vector<Contribution>& contributions = parts.counts.contributions;

  std::vector<ObservedModule> observed = Observe(*modules, &meter, &parts.maps, &parts.unexplained);
  HBBP_RETURN_IF_ERROR(meter.status());
  for (const ObservedModule& module : observed) {
    CountInInstructions(*modules, module, &contributions);
  }
  parts.estimator =
      ChooseEstimator(data, CountSamples(data), observed, contributions, estimator.kind);
  for (Contribution& contribution : contributions) {
    Scale(parts.estimator.scales.ebs, &contribution);
  }
  parts.mean_count = MeanCount(observed, contributions, parts.estimator);
  parts.branches = ListTakenBranches(*modules, parts.estimator.scales.streams);
  AddBias(parts.branches, &observed);

  const CountingMethod method = {parts.estimator, estimator.tree, parts.mean_count,
                                 FlowErrorsOf(data)};
  for (ObservedModule& module : observed) {
    const ResolvedModules::Use use = modules->Open(module.module);
    BlockMap* const map = parts.maps[module.module].get();
    const size_t first_block = parts.counts.blocks.size();
    CountBlocks({data, module, use->code.get(), map,
                 [&use](uint64_t offset) { return use->AddressOf(offset); }},
                method, &meter, &parts.counts);
    HBBP_RETURN_IF_ERROR(meter.status());
    AddFunctions(data, module, *use, map, first_block, &parts.counts, &parts.functions);
    module.observations = {};
  }
  parts.ibs_sums = ListIbsSums(*modules, parts.functions);
  parts.ibs_latencies = ListIbsLatencies(*modules, parts.functions);
  parts.ibs_objects = ListIbsObjects(*modules);
  HBBP_RETURN_IF_ERROR(work.Report(3 * evidence, 3 * evidence));
  parts.modules = std::move(modules);
  return Analysis(std::move(parts));
}

}  // namespace hbbp
