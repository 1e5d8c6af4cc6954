#include "compare_inputs.h"

#include <algorithm>

#include "format.h"

namespace hbbp::tools {
namespace {

// Maximum share of a module's truth at addresses without instruction; above it is the truth of
// another file.
constexpr double kMaxMisplaced = 0.02;

}  // namespace

std::optional<Code::Block> ModuleCode::FindBlock(uint64_t address) const {
  const std::optional<hbbp_block> block = analysis_.try_find_block(module_, address);
  if (!block) return std::nullopt;
  return Block{block->start, block->end};
}

std::optional<Code::Instruction> ModuleCode::Decode(uint64_t address) const {
  const std::optional<hbbp_instruction> instruction = analysis_.try_decode(module_, address);
  if (!instruction) return std::nullopt;
  return Instruction{instruction->length, instruction->mnemonic};
}

std::optional<Code::Function> ModuleCode::FindFunction(uint64_t address) const {
  if (others_ == nullptr) {
    functions_ = analysis_.functions();
    std::erase_if(functions_,
                  [&](const hbbp_function& function) { return function.module != module_; });
    const hbbp_module module = analysis_.get_profile().modules()[module_];
    others_ = std::make_unique<ModuleFunctions>(module.path,
                                                FormatHex(module.build_id, module.build_id_size));
  }
  const auto is_before = [](uint64_t key, const hbbp_function& function) {
    return key < function.start;
  };
  const auto next = std::upper_bound(functions_.begin(), functions_.end(), address, is_before);
  if (next != functions_.begin() && address < std::prev(next)->end) {
    return Function{std::prev(next)->start, std::prev(next)->demangled_name};
  }
  return others_->Find(address);
}

std::vector<EstimatedModule> Estimates(const hbbp::analysis& analysis) {
  std::vector<EstimatedModule> estimates;
  for (const hbbp_module& module : analysis.get_profile().modules()) {
    estimates.push_back({module.path, FormatHex(module.build_id, module.build_id_size), 0, {}});
  }
  for (const hbbp_block& block : analysis.blocks()) {
    if (block.module >= estimates.size()) continue;
    EstimatedModule& estimate = estimates[block.module];
    estimate.instructions += block.count * block.instruction_count;
    estimate.blocks.push_back(
        {block.start, block.end, block.instruction_count, block.count, block.standard_error});
  }
  return estimates;
}

std::vector<ProfiledModule> ProfiledModules(const std::vector<EstimatedModule>& estimates) {
  std::vector<ProfiledModule> modules;
  for (const EstimatedModule& module : estimates) modules.push_back({module.path, module.build_id});
  return modules;
}

Status CheckBuilds(const std::vector<ReferenceModule>& references,
                   const std::vector<std::optional<size_t>>& match,
                   const std::vector<EstimatedModule>& estimates) {
  for (size_t r = 0; r < references.size(); ++r) {
    if (match[r]) continue;
    const std::optional<size_t> other = FindOtherBuild(references[r], estimates);
    if (!other) continue;
    return MakeStatus(StatusCode::kMismatch,
                      "%s is of two builds: build ID %s in the truth and %s in the profile; make "
                      "both with the same file",
                      references[r].path.c_str(), references[r].build_id.c_str(),
                      estimates[*other].build_id.c_str());
  }
  return OkStatus();
}

Status CheckAddresses(const ModuleCounts& counts, const ModuleView& module) {
  const double all = counts.ReferenceInstructions();
  // Without samples, only the instructions show whether there is a file.
  const bool is_file = module.code == HBBP_CODE_FILE || (module.code == HBBP_CODE_NOT_SOUGHT &&
                                                         counts.unresolved < counts.misplaced);
  if (!is_file || counts.misplaced <= kMaxMisplaced * all) return OkStatus();
  return MakeStatus(StatusCode::kMismatch,
                    "%s: %s of the truth are at addresses where no instruction starts: it is the "
                    "truth of another build, or of a file that was loaded elsewhere; make it again "
                    "with the program that was profiled",
                    counts.path.c_str(), FormatShare(counts.misplaced / all).c_str());
}

}  // namespace hbbp::tools
