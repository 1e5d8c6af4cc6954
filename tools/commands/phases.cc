// hbbp phases: lists what ran in each slice of time.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "command.h"
#include "format.h"
#include "options.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "short_names.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "phases";
constexpr uint64_t kLeading = 3;
constexpr double kNsPerSecond = 1e9;

struct Phase {
  double instructions = 0;
  double standard_error = 0;
  std::string mnemonics;
  std::string functions;
};

// Something that much of a slice is of.
struct Leader {
  std::string name;
  double share;
};

// Returns the first ones by slice. Rows come by instructions, most first.
template <typename NameOf>
std::map<uint32_t, std::vector<Leader>> FindLeaders(const std::vector<hbbp_mix_row>& rows,
                                                    uint64_t leading,
                                                    const std::map<uint32_t, Phase>& phases,
                                                    NameOf&& name_of) {
  std::map<uint32_t, std::vector<Leader>> leaders;
  for (const hbbp_mix_row& row : rows) {
    std::vector<Leader>& of_slice = leaders[row.slice];
    const auto phase = phases.find(row.slice);
    if (phase == phases.end() || !(phase->second.instructions > 0)) continue;
    if (of_slice.size() >= leading) continue;
    of_slice.push_back({name_of(row), row.instructions / phase->second.instructions});
  }
  return leaders;
}

// Returns "mov 31.25 %, add 12.50 %".
std::string LeadersText(const std::vector<Leader>& leaders, const ShortNames& names) {
  std::string text;
  for (const Leader& leader : leaders) {
    if (!text.empty()) text += ", ";
    text += names.Of(leader.name) + " " + FormatShare(leader.share);
  }
  return text;
}

ShortNames ShortNamesIn(const std::map<uint32_t, std::vector<Leader>>& leaders) {
  std::vector<std::string> names;
  for (const auto& [slice, of_slice] : leaders) {
    for (const Leader& leader : of_slice) names.push_back(leader.name);
  }
  return ShortNames(std::move(names));
}

StatusOr<Table> MakeListing(const hbbp::analysis& analysis, uint64_t leading,
                            bool has_short_names) {
  const std::vector<hbbp_slice> slices = analysis.get_profile().slices();
  if (slices.empty()) {
    return MakeStatus(StatusCode::kUnsupported,
                      "the profile keeps no slices of time; record or import it with "
                      "--time-quantum 100ms");
  }
  const std::vector<hbbp_function> functions = analysis.functions();
  std::map<uint32_t, Phase> phases;
  double total = 0;
  for (const hbbp_mix_row& row : analysis.instruction_mix(HBBP_MIX_BY_SLICE).rows()) {
    total += row.instructions;
    Phase& phase = phases[row.slice];
    phase.instructions += row.instructions;
    phase.standard_error = row.standard_error;
  }
  const hbbp::mix by_mnemonic = analysis.instruction_mix(HBBP_MIX_BY_SLICE | HBBP_MIX_BY_MNEMONIC);
  const hbbp::mix by_function = analysis.instruction_mix(HBBP_MIX_BY_SLICE | HBBP_MIX_BY_FUNCTION);
  const auto mnemonics =
      FindLeaders(by_mnemonic.rows(), leading, phases,
                  [](const hbbp_mix_row& row) { return std::string(row.mnemonic); });
  const auto leaders =
      FindLeaders(by_function.rows(), leading, phases, [&](const hbbp_mix_row& row) {
        return row.function < functions.size() ? Demangle(functions[row.function].name)
                                               : std::string("?");
      });
  const ShortNames short_names = has_short_names ? ShortNamesIn(leaders) : ShortNames();
  for (const auto& [slice, of_slice] : mnemonics) {
    phases[slice].mnemonics = LeadersText(of_slice, ShortNames());
  }
  for (const auto& [slice, of_slice] : leaders) {
    phases[slice].functions = LeadersText(of_slice, short_names);
  }

  Table table({{"slice", "slice", Column::kCount},
               {"start_s", "from s", Column::kFactor},
               {"end_s", "to s", Column::kFactor},
               {"samples", "samples", Column::kCount},
               {"instructions", "instructions", Column::kCount},
               {"standard_error", "std. error", Column::kError},
               {"share", "share", Column::kShare},
               {"mnemonics", "mnemonics"},
               {"functions", "functions"}});
  const auto share = [total](double instructions) { return total > 0 ? instructions / total : 0; };
  uint64_t empty = 0;
  for (uint32_t i = 0; i < slices.size(); ++i) {
    const Phase& phase = phases[i];
    if (slices[i].samples == 0 && phase.instructions == 0) {
      ++empty;
      continue;
    }
    table.AddRow({uint64_t{i}, static_cast<double>(slices[i].start_ns) / kNsPerSecond,
                  static_cast<double>(slices[i].end_ns) / kNsPerSecond, slices[i].samples,
                  phase.instructions, phase.standard_error, share(phase.instructions),
                  phase.mnemonics, phase.functions});
  }
  const double without = phases[HBBP_NO_INDEX].instructions;
  table.AddField("total_instructions", total);
  table.AddField("instructions_without_time", without);
  table.AddField("slice_ns", slices.front().end_ns - slices.front().start_ns);
  table.AddField("empty_slices", empty);
  table.AddSummary(FormatCount(uint64_t{slices.size()}) + " slices of " +
                   FormatDuration(slices.front().end_ns - slices.front().start_ns) + "; " +
                   FormatCount(total) + " instructions in all");
  if (empty > 0) {
    table.AddNote("nothing was counted in " + FormatCount(empty) +
                  " of the slices, which are not listed: the program slept, or did not run");
  }
  if (without > 0) {
    table.AddNote(FormatShare(share(without)) +
                  " of the instructions are of samples whose time is not known");
  }
  AddCaveats(Sources(analysis), &table);
  AddCodeProblems(analysis, &table);
  return table;
}

}  // namespace

int RunPhases(int argc, char** argv) {
  std::vector<std::string> files;
  uint64_t leading = kLeading;
  PrintOptions printing;
  Options options(kName, "List what ran in each slice of time");
  options.Profiles(&files, "profiles recorded with --time-quantum; several are added up");
  options.Value("--top", &leading, "N", "name the N leading mnemonics and functions of each (3)");
  printing.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "from, to: after the start of the run; where profiles of several runs were added up, of "
      "each\n"
      "of them. Profiles that overlap in time are of one run, as processes of a program are.\n"
      "share: of all instructions; those of a mnemonic or function: of the slice. A program that\n"
      "runs longer than 1024 slices has wider ones. Slices without a count are left out.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  const StatusOr<Table> table = MakeListing(*analysis, leading, printing.has_short_names());
  if (!table.ok()) return Fail(kName, table.status().message());
  return printing.Print(kName, *table);
}

}  // namespace hbbp::tools
