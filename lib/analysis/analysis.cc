#include "analysis/analysis.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <optional>
#include <utility>

#include "estimate/observed_features.h"
#include "image/kernel_code.h"

namespace hbbp {

Analysis::Analysis(Parts parts) : parts_(std::move(parts)) {}

uint64_t Analysis::UnexplainedOfSource(uint32_t source) const {
  const UnexplainedCounts& counts = UnexplainedByReason(source);
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// The code of a module is decoded under its lock. A module that was not observed has no map, and is
// decoded for the call.
template <typename Answer>
Answer Analysis::AskMap(uint32_t module, Answer (BlockMap::*question)(ModuleAddress),
                        ModuleAddress address) const {
  const ResolvedModules::Use use = modules().Open(module);
  if (use->code == nullptr) return {};
  if (BlockMap* const map = parts_.maps[module].get()) return (map->*question)(address);
  BlockMap map(use->code.get());
  return (map.*question)(address);
}

StatusOr<BlockRecord> Analysis::FindBlock(uint32_t module, ModuleAddress address) const {
  if (module >= data().modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data().modules.size());
  }
  const std::optional<Block> block = AskMap(module, &BlockMap::Find, address);
  if (!block) {
    return MakeStatus(StatusCode::kNotFound, "%s: no code at 0x%" PRIx64,
                      data().modules[module].path.c_str(), address.value);
  }
  const auto before = [](const BlockRecord& record, const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(record.module, record.block.start.value) < key;
  };
  const auto known = std::lower_bound(blocks().begin(), blocks().end(),
                                      std::pair(module, block->start.value), before);
  if (known != blocks().end() && known->module == module && known->block.start == block->start) {
    return *known;
  }
  BlockRecord record;
  record.module = module;
  record.block = *block;
  record.function = FindFunction(functions(), module, block->start);
  return record;
}

std::vector<Block> Analysis::FunctionBlocks(uint32_t module, ModuleAddress address) const {
  return AskMap(module, &BlockMap::FunctionBlocks, address);
}

std::vector<ReadJumpTable> Analysis::JumpTables(uint32_t module, ModuleAddress address) const {
  return AskMap(module, &BlockMap::JumpTables, address);
}

BlockFeatures Analysis::FeaturesOf(const BlockRecord& record) const {
  const ResolvedModules::Use use = modules().Open(record.module);
  return FindFeatures(record, *use->code, parts_.maps[record.module].get(), parts_.mean_count);
}

uint64_t Analysis::PatchedBytesOf(uint32_t module) const {
  const ResolvedModules::Use use = modules().Open(module);
  uint64_t patched = 0;
  for (const FunctionRecord& function : functions()) {
    if (use->kernel != nullptr && function.module == module) {
      patched += use->kernel->PatchedBytes(function.range);
    }
  }
  return patched;
}

}  // namespace hbbp
