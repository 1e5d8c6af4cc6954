// Compares counts of blocks. MatchModules pairs the modules of both sides, CountModule turns the
// counts of one pair into reference and estimate per block, SumFunctions adds these up by function,
// and Summarize scales the estimates and computes the errors of each module and of their sum, and
// the order of the hottest functions. hbbp compare calls these in this order; hbbp train needs the
// first two.
#include "compare.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "estimate/error_metrics.h"
#include "format.h"

namespace hbbp::tools {
namespace {

constexpr char kUnknownMnemonic[] = "(unknown)";

// Sums blocks and instructions of the reference that lie in one static block.
class BlockReader {
 public:
  BlockReader(const Code& code, ModuleCounts* counts) : code_(code), counts_(*counts) {}

  // `counts` has the addresses in the block; `next` is the count of the instruction after the
  // block.
  void AddReference(const Code::Block& block, std::span<const ReferenceCount> counts, double next);
  void AddEstimate(const EstimatedBlock& block);
  // Adds an address that no block explains.
  void AddUnexplained(const ReferenceCount& count);

 private:
  struct PlacedInstruction {
    uint64_t address;
    Code::Instruction instruction;
  };

  std::vector<PlacedInstruction> Instructions(uint64_t start, uint64_t end) const;

  const Code& code_;
  ModuleCounts& counts_;
};

std::vector<BlockReader::PlacedInstruction> BlockReader::Instructions(uint64_t start,
                                                                      uint64_t end) const {
  std::vector<PlacedInstruction> instructions;
  for (uint64_t address = start; address < end;) {
    std::optional<Code::Instruction> instruction = code_.Decode(address);
    if (!instruction || instruction->length == 0) break;
    const uint32_t length = instruction->length;
    instructions.push_back({address, *std::move(instruction)});
    address += length;
  }
  return instructions;
}

void BlockReader::AddUnexplained(const ReferenceCount& count) {
  const std::optional<Code::Instruction> instruction = code_.Decode(count.address);
  if (!instruction) counts_.unresolved += count.count;
  counts_.misplaced += count.count;
  BlockCounts& block = counts_.blocks[count.address];
  block.instruction_count = 1;
  block.reference += count.count;
  counts_.mnemonics[instruction ? instruction->mnemonic : kUnknownMnemonic].reference +=
      count.count;
}

void BlockReader::AddReference(const Code::Block& block, std::span<const ReferenceCount> counts,
                               double next) {
  const std::vector<PlacedInstruction> instructions = Instructions(block.start, block.end);
  double plain_sum = 0;
  size_t plain_instructions = 0;
  std::vector<std::pair<const Code::Instruction*, double>> strings;
  auto count = counts.begin();
  for (const PlacedInstruction& placed : instructions) {
    for (; count != counts.end() && count->address < placed.address; ++count) {
      AddUnexplained(*count);
    }
    const bool is_string = IsStringInstruction(placed.instruction);
    if (!is_string) ++plain_instructions;
    if (count == counts.end() || count->address != placed.address) continue;
    if (is_string) {
      strings.emplace_back(&placed.instruction, count->count);
    } else {
      plain_sum += count->count;
      counts_.mnemonics[placed.instruction.mnemonic].reference += count->count;
    }
    ++count;
  }
  for (; count != counts.end(); ++count) AddUnexplained(*count);

  double executed = plain_sum;
  const double mean =
      plain_instructions != 0 ? plain_sum / static_cast<double>(plain_instructions) : next;
  for (const auto& [instruction, iterations] : strings) {
    // A block that ended in a string instruction has no count after it to compare with.
    const double executions = mean > 0 ? std::min(iterations, mean) : iterations;
    executed += executions;
    counts_.rep_iterations += iterations - executions;
    counts_.mnemonics[instruction->mnemonic].reference += executions;
  }
  if (instructions.empty()) return;
  BlockCounts& total = counts_.blocks[block.start];
  total.instruction_count = static_cast<double>(instructions.size());
  total.reference += executed / total.instruction_count;
}

void BlockReader::AddEstimate(const EstimatedBlock& block) {
  const std::vector<PlacedInstruction> instructions = Instructions(block.start, block.end);
  for (const PlacedInstruction& placed : instructions) {
    counts_.mnemonics[placed.instruction.mnemonic].estimate += block.count;
  }
  if (instructions.size() < block.instruction_count) {
    const size_t missing = block.instruction_count - instructions.size();
    counts_.mnemonics[kUnknownMnemonic].estimate += block.count * static_cast<double>(missing);
  }
  BlockCounts& total = counts_.blocks[block.start];
  total.instruction_count = block.instruction_count;
  total.estimate += block.count;
  total.standard_error += block.standard_error;
}

ModuleComparison Compare(const ModuleCounts& counts, double scale) {
  ModuleComparison result;
  result.name = counts.path;
  result.build_id = counts.build_id;
  result.unresolved = counts.unresolved;
  result.rep_iterations = counts.rep_iterations;

  std::vector<BlockCountPair> blocks;
  blocks.reserve(counts.blocks.size());
  for (const auto& [start, block] : counts.blocks) {
    const BlockCountPair pair = {block.reference, block.estimate * scale, block.instruction_count,
                                 block.standard_error * scale};
    blocks.push_back(pair);
    if (pair.reference == 0) result.only_estimated += pair.estimate * pair.instruction_count;
    if (pair.estimate == 0) result.only_referenced += pair.reference * pair.instruction_count;
  }
  std::vector<CountPair> mnemonics;
  for (const auto& [mnemonic, count] : counts.mnemonics) {
    const CountPair pair = {count.reference, count.estimate * scale};
    mnemonics.push_back(pair);
    result.instructions_reference += pair.reference;
    result.instructions_estimate += pair.estimate;
    result.mnemonics.push_back(
        {mnemonic, pair.reference, pair.estimate, RelativeError(pair.reference, pair.estimate)});
  }
  std::sort(result.mnemonics.begin(), result.mnemonics.end(), [](const auto& a, const auto& b) {
    return a.reference != b.reference ? a.reference > b.reference : a.mnemonic < b.mnemonic;
  });
  result.avg_weighted_error = AverageWeightedError(mnemonics);
  result.block_accuracy_error = BlockAccuracyError(blocks);
  result.overlap = BlockOverlap(blocks);
  result.mnemonic_overlap = Overlap(mnemonics);
  result.intervals = CountIntervals(blocks);
  return result;
}

// The same address in different modules is a different block.
ModuleCounts Sum(const std::vector<ModuleCounts>& modules) {
  ModuleCounts total;
  total.path = "total";
  uint64_t key = 0;
  for (const ModuleCounts& module : modules) {
    for (const auto& [start, block] : module.blocks) total.blocks[key++] = block;
    for (const auto& [mnemonic, counts] : module.mnemonics) {
      MnemonicCounts& sum = total.mnemonics[mnemonic];
      sum.reference += counts.reference;
      sum.estimate += counts.estimate;
    }
    total.unresolved += module.unresolved;
    total.rep_iterations += module.rep_iterations;
  }
  return total;
}

// Returns the functions that either side counts, with a rank by each.
std::vector<FunctionComparison> RankedFunctions(const std::vector<ModuleCounts>& modules,
                                                double scale) {
  std::vector<FunctionComparison> functions;
  for (const ModuleCounts& module : modules) {
    for (const auto& [start, counts] : module.functions) {
      if (counts.reference == 0 && counts.estimate == 0) continue;
      functions.push_back({module.path, counts.name, counts.reference, counts.estimate * scale});
    }
  }
  const auto rank_by = [&functions](double FunctionComparison::*count,
                                    size_t FunctionComparison::*rank) {
    std::stable_sort(functions.begin(), functions.end(),
                     [count](const auto& a, const auto& b) { return a.*count > b.*count; });
    for (size_t i = 0; i < functions.size() && functions[i].*count > 0; ++i) {
      const bool is_tie = i != 0 && functions[i].*count == functions[i - 1].*count;
      functions[i].*rank = is_tie ? functions[i - 1].*rank : i + 1;
    }
  };
  // Names say nothing of either side's order.
  const auto name_of = [](const FunctionComparison& function) {
    return std::tie(function.module, function.name);
  };
  rank_by(&FunctionComparison::estimate, &FunctionComparison::estimate_rank);
  std::stable_sort(functions.begin(), functions.end(),
                   [&name_of](const auto& a, const auto& b) { return name_of(a) < name_of(b); });
  rank_by(&FunctionComparison::reference, &FunctionComparison::reference_rank);
  return functions;
}

FunctionRanks CompareRanks(const std::vector<ModuleCounts>& modules, double scale) {
  FunctionRanks ranks;
  ranks.hottest = RankedFunctions(modules, scale);
  std::erase_if(ranks.hottest,
                [](const FunctionComparison& function) { return function.reference_rank == 0; });
  if (ranks.hottest.size() > FunctionRanks::kMaxFunctions) {
    ranks.hottest.resize(FunctionRanks::kMaxFunctions);
  }
  for (const FunctionComparison& function : ranks.hottest) {
    const bool is_found =
        function.estimate_rank != 0 && function.estimate_rank <= ranks.hottest.size();
    if (is_found) ++ranks.found;
    if (function.estimate_rank == function.reference_rank) ++ranks.in_place;
  }
  return ranks;
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? std::string() : real.string();
}

// Matches "libz.so.1" and "libz.so.1.2.13", in either order.
bool SameUpToVersion(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return a.find(".so") != std::string_view::npos && b.starts_with(a) && b.size() > a.size() &&
         b[a.size()] == '.';
}

}  // namespace

bool IsStringInstruction(const Code::Instruction& instruction) {
  static constexpr std::string_view kNames[] = {"movs", "stos", "lods", "scas",
                                                "cmps", "ins",  "outs"};
  return std::find(std::begin(kNames), std::end(kNames), instruction.mnemonic) != std::end(kNames);
}

std::vector<std::optional<size_t>> MatchModules(const std::vector<ReferenceModule>& references,
                                                const std::vector<EstimatedModule>& estimates) {
  std::vector<std::string> reference_real;
  std::vector<std::string> estimate_real;
  for (const ReferenceModule& module : references) reference_real.push_back(RealPath(module.path));
  for (const EstimatedModule& module : estimates) estimate_real.push_back(RealPath(module.path));

  std::vector<std::optional<size_t>> match(references.size());
  std::vector<bool> used(estimates.size());
  const auto match_by = [&](const std::function<bool(size_t, size_t)>& same) {
    for (size_t r = 0; r < references.size(); ++r) {
      if (match[r]) continue;
      std::vector<size_t> found;
      for (size_t e = 0; e < estimates.size(); ++e) {
        if (!used[e] && same(r, e)) found.push_back(e);
      }
      // A file that was mapped before the process executed another one may be there twice.
      const bool has_several = found.size() > 1;
      if (has_several) std::erase_if(found, [&](size_t e) { return estimates[e].blocks.empty(); });
      if (found.size() != 1) continue;
      match[r] = found.front();
      used[found.front()] = true;
    }
  };
  const auto build_ids_differ = [&](size_t r, size_t e) {
    return !references[r].build_id.empty() && !estimates[e].build_id.empty() &&
           references[r].build_id != estimates[e].build_id;
  };
  match_by([&](size_t r, size_t e) {
    return !references[r].build_id.empty() && references[r].build_id == estimates[e].build_id;
  });
  match_by([&](size_t r, size_t e) {
    return references[r].path == estimates[e].path && !build_ids_differ(r, e);
  });
  match_by([&](size_t r, size_t e) {
    return !reference_real[r].empty() && reference_real[r] == estimate_real[e] &&
           !build_ids_differ(r, e);
  });
  match_by([&](size_t r, size_t e) {
    return BaseName(references[r].path) == BaseName(estimates[e].path) && !build_ids_differ(r, e);
  });
  match_by([&](size_t r, size_t e) {
    return SameUpToVersion(BaseName(references[r].path), BaseName(estimates[e].path)) &&
           !build_ids_differ(r, e);
  });
  return match;
}

std::optional<size_t> FindOtherBuild(const ReferenceModule& reference,
                                     const std::vector<EstimatedModule>& estimates) {
  if (reference.build_id.empty()) return std::nullopt;
  const auto is_same_path = [&](const EstimatedModule& estimate) {
    return estimate.path == reference.path && !estimate.build_id.empty();
  };
  const auto found = std::find_if(estimates.begin(), estimates.end(), is_same_path);
  if (found == estimates.end() || found->build_id == reference.build_id) return std::nullopt;
  return static_cast<size_t>(found - estimates.begin());
}

double ModuleCounts::ReferenceInstructions() const {
  double sum = 0;
  for (const auto& [mnemonic, counts] : mnemonics) sum += counts.reference;
  return sum;
}

double ModuleCounts::EstimatedInstructions() const {
  double sum = 0;
  for (const auto& [mnemonic, counts] : mnemonics) sum += counts.estimate;
  return sum;
}

ModuleCounts CountModule(const ReferenceModule& reference, const EstimatedModule& estimate,
                         const Code& code) {
  ModuleCounts result;
  result.path = estimate.path;
  result.build_id = estimate.build_id;
  BlockReader reader(code, &result);
  const std::vector<ReferenceCount>& counts = reference.counts;
  for (size_t i = 0; i < counts.size();) {
    const std::optional<Code::Block> block = code.FindBlock(counts[i].address);
    if (!block || block->end <= counts[i].address) {
      reader.AddUnexplained(counts[i++]);
      continue;
    }
    size_t end = i;
    while (end < counts.size() && counts[end].address < block->end) ++end;
    const double next =
        end < counts.size() && counts[end].address == block->end ? counts[end].count : 0;
    reader.AddReference(*block, std::span(counts).subspan(i, end - i), next);
    i = end;
  }
  for (const EstimatedBlock& block : estimate.blocks) reader.AddEstimate(block);
  return result;
}

void SumFunctions(const Code& code, ModuleCounts* counts) {
  for (const auto& [start, block] : counts->blocks) {
    std::optional<Code::Function> function = code.FindFunction(start);
    if (!function) continue;
    FunctionCounts& sum = counts->functions[function->start];
    sum.name = std::move(function->name);
    sum.reference += block.reference * block.instruction_count;
    sum.estimate += block.estimate * block.instruction_count;
  }
}

Comparison Summarize(const std::vector<ModuleCounts>& modules,
                     std::vector<OneSidedModule> only_in_reference,
                     std::vector<OneSidedModule> only_in_estimate, bool scaled) {
  const auto by_instructions = [](const OneSidedModule& a, const OneSidedModule& b) {
    return a.instructions != b.instructions ? a.instructions > b.instructions : a.name < b.name;
  };
  Comparison result;
  const ModuleCounts sum = Sum(modules);
  const double estimated = sum.EstimatedInstructions();
  result.scaled = scaled && estimated > 0;
  if (result.scaled) result.scale = sum.ReferenceInstructions() / estimated;
  for (const ModuleCounts& module : modules) {
    result.modules.push_back(Compare(module, result.scale));
  }
  std::sort(result.modules.begin(), result.modules.end(), [](const auto& a, const auto& b) {
    return a.instructions_reference != b.instructions_reference
               ? a.instructions_reference > b.instructions_reference
               : a.name < b.name;
  });
  result.total = Compare(sum, result.scale);
  result.functions = CompareRanks(modules, result.scale);
  result.only_in_reference = std::move(only_in_reference);
  result.only_in_estimate = std::move(only_in_estimate);
  for (OneSidedModule& module : result.only_in_estimate) module.instructions *= result.scale;
  std::sort(result.only_in_reference.begin(), result.only_in_reference.end(), by_instructions);
  std::sort(result.only_in_estimate.begin(), result.only_in_estimate.end(), by_instructions);
  return result;
}

}  // namespace hbbp::tools
