// hbbp compare: measures how far a profile is from exact counts, or from another profile.
#include "compare.h"

#include <algorithm>
#include <utility>

#include "command.h"
#include "commands/compare_report.h"
#include "compare_inputs.h"
#include "estimator_option.h"
#include "file_options.h"
#include "format.h"
#include "kernel_options.h"
#include "options.h"
#include "profile_view.h"
#include "truth/truth_file.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "compare";
// Share of the estimate; sampling noise and starts of programs leave less than this anyway.
constexpr double kNotableShare = 0.01;

// Makes exact counts of a profile: every instruction of a block ran as often as the block.
std::vector<ReferenceModule> ReferenceFromProfile(const hbbp::analysis& analysis) {
  const std::vector<EstimatedModule> modules = Estimates(analysis);
  std::vector<ReferenceModule> references;
  for (size_t i = 0; i < modules.size(); ++i) {
    const ModuleCode code(analysis, static_cast<uint32_t>(i));
    if (modules[i].blocks.empty()) continue;
    ReferenceModule& reference = references.emplace_back();
    reference.path = modules[i].path;
    reference.build_id = modules[i].build_id;
    for (const EstimatedBlock& block : modules[i].blocks) {
      for (uint64_t address = block.start; address < block.end;) {
        reference.counts.push_back({address, block.count});
        const std::optional<Code::Instruction> instruction = code.Decode(address);
        if (!instruction || instruction->length == 0) break;
        address += instruction->length;
      }
    }
  }
  return references;
}

StatusOr<Comparison> CompareModules(const hbbp::analysis& analysis,
                                    const std::vector<ReferenceModule>& references,
                                    const std::vector<EstimatedModule>& estimates, bool scaled) {
  const std::vector<ModuleView> modules = Modules(analysis);
  const std::vector<std::optional<size_t>> match = MatchModules(references, estimates);
  HBBP_RETURN_IF_ERROR(CheckBuilds(references, match, estimates));
  std::vector<bool> used(estimates.size());
  std::vector<ModuleCounts> both;
  std::vector<OneSidedModule> only_in_reference;
  for (size_t r = 0; r < references.size(); ++r) {
    if (match[r]) {
      used[*match[r]] = true;
      const ModuleCode code(analysis, static_cast<uint32_t>(*match[r]));
      both.push_back(CountModule(references[r], estimates[*match[r]], code));
      HBBP_RETURN_IF_ERROR(CheckAddresses(both.back(), modules[*match[r]]));
      SumFunctions(code, &both.back());
      continue;
    }
    double instructions = 0;
    for (const ReferenceCount& count : references[r].counts) instructions += count.count;
    only_in_reference.push_back({references[r].path, references[r].build_id, instructions});
  }
  std::vector<OneSidedModule> only_in_estimate;
  for (size_t e = 0; e < estimates.size(); ++e) {
    if (used[e] || estimates[e].instructions == 0) continue;
    only_in_estimate.push_back(
        {estimates[e].path, estimates[e].build_id, estimates[e].instructions});
  }
  return Summarize(both, std::move(only_in_reference), std::move(only_in_estimate), scaled);
}

void AddComparisonNotes(const Comparison& comparison, std::vector<std::string>* notes) {
  const ModuleComparison& total = comparison.total;
  if (comparison.scaled) {
    notes->push_back("estimates were multiplied by " + FormatFactor(comparison.scale) +
                     " so that the modules in both have as many instructions in both");
  }
  if (comparison.modules.empty()) {
    notes->push_back("no module is in both: is this the profile of the same program?");
  }
  if (total.rep_iterations > 0) {
    notes->push_back(FormatCount(total.rep_iterations) +
                     " iterations of string instructions in the reference were not counted as "
                     "instructions");
  }
  if (total.only_estimated > kNotableShare * total.instructions_estimate) {
    notes->push_back(FormatShare(total.only_estimated / total.instructions_estimate) +
                     " of the estimate is in blocks that the reference never saw; callgrind leaves "
                     "out PLT stubs, and hides AVX-512 so that libc uses other functions");
  }
  if (total.unresolved > 0) {
    notes->push_back(FormatCount(total.unresolved) +
                     " instructions of the reference are at addresses where no code could be "
                     "found or decoded: (unknown)");
  }
}

struct Inputs {
  std::vector<std::string> files;
  TruthInput truth;
  EstimatorOption estimator;
  FileOptions moved;
  KernelOptions kernel;
};

StatusOr<Comparison> Run(Inputs inputs, std::vector<std::string>* notes) {
  const hbbp::profile profile = LoadProfile(inputs.files[0]);
  HBBP_RETURN_IF_ERROR(inputs.estimator.Read());
  HBBP_RETURN_IF_ERROR(inputs.moved.Read());
  hbbp_analysis_options options = {};
  const hbbp_kernel_files kernel = inputs.kernel.Files();
  options.kernel = &kernel;
  inputs.moved.SetTo(profile, &options);
  const hbbp::analysis analysis = inputs.estimator.Analyse(profile, options);
  const std::vector<EstimatedModule> estimates = Estimates(analysis);
  const std::vector<SourceView> sources = Sources(analysis);
  *notes = CollectNotes(analysis, sources);
  bool scaled = IsUpToFactor(sources);
  std::vector<ReferenceModule> references;
  if (inputs.files.size() == 2) {
    const hbbp::profile other_profile = LoadProfile(inputs.files[1]);
    inputs.moved.SetTo(other_profile, &options);
    const hbbp::analysis other = inputs.estimator.Analyse(other_profile, options);
    const std::vector<SourceView> other_sources = Sources(other);
    scaled = scaled || IsUpToFactor(other_sources);
    for (const std::string& note : CollectNotes(other, other_sources)) {
      notes->push_back(inputs.files[1] + ": " + note);
    }
    references = ReferenceFromProfile(other);
  } else {
    HBBP_ASSIGN_OR_RETURN(references, ReadTruth(inputs.truth, ProfiledModules(estimates), notes));
  }
  HBBP_RETURN_IF_ERROR(inputs.moved.CheckUsed());
  HBBP_ASSIGN_OR_RETURN(Comparison comparison,
                        CompareModules(analysis, references, estimates, scaled));
  AddComparisonNotes(comparison, notes);
  return comparison;
}

}  // namespace

int RunCompare(int argc, char** argv) {
  Inputs inputs;
  std::string format = "table";
  Options options(kName, "Show how far a profile is from exact counts or from another profile");
  options.Positionals("FILE", &inputs.files, 1, 2, "the profile; and the one to compare it with");
  options.Values(
      "--truth", &inputs.truth.files, "FILE",
      "exact counts: of hbbp count, valgrind --tool=callgrind --dump-instr=yes or "
      "--tool=exp-bbv, sde64 -mix, gcov (docs/guide/truth.md); as often as there are files");
  options.Choice("--truth-format", &inputs.truth.format, TruthFormatNames(),
                 "what --truth is (by its content)");
  options.Values("--truth-map", &inputs.truth.load_addresses, "PATH=ADDRESS",
                 "where exp-bbv had loaded a file, if it cannot be found out");
  inputs.estimator.AddTo(&options);
  inputs.moved.AddTo(&options);
  inputs.kernel.AddTo(&options);
  options.Choice("--format", &format, FormatNames(), "how to print (table)");
  options.Footer(
      "mnemonic error: sum |reference - estimate| over mnemonics / instructions of the reference.\n"
      "block error: the same over blocks, each weighing its length. overlap: sum of the smaller\n"
      "of both shares, over blocks or mnemonics; 100 % is the same distribution. rank: by "
      "executed\n"
      "instructions; of the ten functions that have most in the reference, in both.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  if ((inputs.files.size() == 2) != inputs.truth.files.empty()) {
    return Fail(kName, "give one FILE and --truth, or two FILEs; see hbbp compare --help");
  }

  std::vector<std::string> notes;
  const StatusOr<Comparison> comparison = Run(std::move(inputs), &notes);
  if (!comparison.ok()) return Fail(kName, comparison.status().message());
  switch (FormatFromName(format)) {
    case Format::kJson:
      return WriteOutput(kName, CompareJson(*comparison, notes));
    case Format::kTable:
      return WriteOutput(kName, CompareText(*comparison, notes));
    case Format::kCsv:
      break;
  }
  const int status = WriteOutput(kName, CompareCsv(*comparison));
  for (const std::string& note : notes) Note(kName, note);
  for (const OneSidedModule& module : comparison->only_in_reference) {
    Note(kName, module.name + ": " + FormatCount(module.instructions) +
                    " instructions, only in the reference");
  }
  for (const OneSidedModule& module : comparison->only_in_estimate) {
    Note(kName, module.name + ": " + FormatCount(module.instructions) +
                    " instructions, only in the profile");
  }
  return status;
}

}  // namespace hbbp::tools
