#include "compare_inputs.h"

#include "format.h"
#include "truth/callgrind.h"

namespace hbbp::tools {

std::optional<Code::Block> ProfileCode::FindBlock(uint64_t address) const {
  HBBP_INIT(hbbp_block, block);
  if (hbbp_profile_find_block(profile_, module_, address, &block, nullptr) != HBBP_OK) {
    return std::nullopt;
  }
  return Block{block.start, block.end};
}

std::optional<Code::Instruction> ProfileCode::Decode(uint64_t address) const {
  HBBP_INIT(hbbp_instruction, instruction);
  if (hbbp_profile_decode(profile_, module_, address, &instruction, nullptr) != HBBP_OK) {
    return std::nullopt;
  }
  return Instruction{instruction.length, instruction.mnemonic};
}

StatusOr<std::vector<EstimatedModule>> Estimates(const hbbp_profile* profile) {
  HBBP_ASSIGN_OR_RETURN(const auto modules, Modules(profile));
  HBBP_ASSIGN_OR_RETURN(const auto blocks, Blocks(profile));
  std::vector<EstimatedModule> estimates;
  for (const hbbp_module& module : modules) {
    estimates.push_back({module.path, FormatHex(module.build_id, module.build_id_size), 0, {}});
  }
  for (const hbbp_block& block : blocks) {
    if (block.module >= estimates.size()) continue;
    EstimatedModule& estimate = estimates[block.module];
    estimate.instructions += block.count * block.instruction_count;
    estimate.blocks.push_back({block.start, block.end, block.instruction_count, block.count});
  }
  return estimates;
}

StatusOr<std::vector<ReferenceModule>> ReferenceFromCallgrind(const std::string& path,
                                                              std::vector<std::string>* notes) {
  HBBP_ASSIGN_OR_RETURN(const Truth truth, ReadCallgrindFile(path));
  if (truth.declared_total && *truth.declared_total != truth.total) {
    notes->push_back(path + " has " + FormatCount(truth.total) + " instructions and claims " +
                     FormatCount(*truth.declared_total));
  }
  std::vector<ReferenceModule> references;
  for (const TruthObject& object : truth.objects) {
    ReferenceModule& reference = references.emplace_back();
    reference.path = object.path;
    for (const InstructionCount& instruction : object.instructions) {
      reference.counts.push_back({instruction.address, static_cast<double>(instruction.count)});
    }
  }
  return references;
}

}  // namespace hbbp::tools
