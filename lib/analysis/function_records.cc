#include "analysis/function_records.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

void AddToFunction(const Contribution& contribution, FunctionRecord* function) {
  function->samples += contribution.samples;
  function->instructions += contribution.period_sum;
  function->standard_error =
      std::hypot(function->standard_error, std::sqrt(contribution.period_squares));
}

class ModuleFunctions {
 public:
  ModuleFunctions(const ProfileData& data, const ObservedModule& observed,
                  const ResolvedModule& module, BlockMap* map, size_t first_block,
                  BlockCounts* counts, std::vector<FunctionRecord>* functions)
      : data_(data),
        observed_(observed),
        module_(module),
        map_(map),
        first_block_(first_block),
        first_function_(functions->size()),
        counts_(*counts),
        functions_(*functions) {}

  void AddThoseOfBlocks() {
    for (size_t i = first_block_; i < counts_.blocks.size(); ++i) Add(&counts_.blocks[i]);
    for (const auto& [function, sums] : replicates_) {
      FunctionRecord& record = functions_[function];
      record.standard_error = std::hypot(record.standard_error, std::sqrt(VarianceOf(sums)));
    }
  }

  // Where code cannot be read there are no blocks, but samples still name functions.
  void AddThoseWithoutCode() {
    const auto unnamed = SamplesWithoutCode();
    if (unnamed.empty()) return;
    // Functions stay in order of address, so those with blocks may get new indices.
    std::vector<FunctionRecord> with_blocks(
        functions_.begin() + static_cast<ptrdiff_t>(first_function_), functions_.end());
    functions_.resize(first_function_);
    std::vector<uint32_t> moved_to(with_blocks.size());
    auto next = unnamed.begin();
    const auto add_up_to = [&](ModuleAddress end) {
      for (; next != unnamed.end() && next->first < end; ++next) {
        const uint32_t function = FunctionFor(next->first);
        for (const size_t i : next->second) {
          counts_.contributions[i].function = function;
          AddToFunction(counts_.contributions[i], &functions_[function]);
        }
      }
    };
    for (size_t i = 0; i < with_blocks.size(); ++i) {
      add_up_to(with_blocks[i].range.start);
      moved_to[i] = static_cast<uint32_t>(functions_.size());
      functions_.push_back(std::move(with_blocks[i]));
      add_up_to(functions_.back().range.end);
    }
    add_up_to({UINT64_MAX});
    for (size_t i = first_block_; i < counts_.blocks.size(); ++i) {
      BlockRecord& block = counts_.blocks[i];
      block.function = moved_to[block.function - first_function_];
    }
  }

 private:
  void Add(BlockRecord* block) {
    block->function = FunctionFor(block->block.start);
    FunctionRecord& function = functions_[block->function];
    const auto found = observed_.observations.blocks.find(block->block.start);
    const ObservedBlock* observed =
        found == observed_.observations.blocks.end() ? nullptr : &found->second;
    if (!HasReplicates(block->source)) {
      if (observed == nullptr) return;
      for (const size_t i : observed->counts) AddToFunction(counts_.contributions[i], &function);
      return;
    }
    if (observed != nullptr) {
      function.samples += observed->streams_into_function;
      if (block->source == SourceKind::kCombined) {
        for (const size_t i : observed->counts) {
          function.samples += counts_.contributions[i].samples;
        }
      }
    }
    const double length = block->block.instruction_count;
    function.instructions += block->estimate.count * length;
    replicates_[block->function].Add(block->replicates, length);
  }

  // Returns indices of samples by the start of their function.
  std::map<ModuleAddress, std::vector<size_t>> SamplesWithoutCode() {
    std::map<ModuleAddress, std::vector<size_t>> samples;
    for (size_t i = observed_.counts.first; i < observed_.counts.end; ++i) {
      const ModuleAddress address{data_.counts[i].offset};
      const auto function = module_.code->FunctionAround(address);
      if (counts_.contributions[i].block != kNoIndex || !function) continue;
      // Samples in a block are counted by another source.
      const auto block = map_->Find(address);
      if (block && block->instruction_count != 0) continue;
      samples[function->start].push_back(i);
    }
    return samples;
  }

  uint32_t FunctionFor(ModuleAddress address) {
    const bool is_same_as_last = !functions_.empty() &&
                                 functions_.back().module == observed_.module &&
                                 functions_.back().range.Contains(address);
    if (!is_same_as_last) {
      const ModuleCode& code = *module_.code;
      FunctionRecord function;
      function.module = observed_.module;
      function.range = code.FunctionAround(address).value_or(AddressRange{address, address + 1});
      function.name = NameOrAddress(code.FunctionName(address), function.range.start);
      functions_.push_back(std::move(function));
    }
    return static_cast<uint32_t>(functions_.size() - 1);
  }

  const ProfileData& data_;
  const ObservedModule& observed_;
  const ResolvedModule& module_;
  BlockMap* const map_;
  const size_t first_block_;
  const size_t first_function_;
  BlockCounts& counts_;
  std::vector<FunctionRecord>& functions_;
  std::map<uint32_t, ReplicateSums> replicates_;  // by function
};

}  // namespace

std::string NameOrAddress(std::string name, ModuleAddress address) {
  if (!name.empty()) return name;
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, address.value);
  return text;
}

void AddFunctions(const ProfileData& data, const ObservedModule& observed,
                  const ResolvedModule& module, BlockMap* map, size_t first_block,
                  BlockCounts* counts, std::vector<FunctionRecord>* functions) {
  ModuleFunctions added(data, observed, module, map, first_block, counts, functions);
  added.AddThoseOfBlocks();
  if (module.names_missing_code) added.AddThoseWithoutCode();
}

uint32_t FindFunction(std::span<const FunctionRecord> functions, uint32_t module,
                      ModuleAddress address) {
  const auto before = [](const FunctionRecord& function, const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(function.module, function.range.end.value) <= key;
  };
  const auto function = std::lower_bound(functions.begin(), functions.end(),
                                         std::pair(module, address.value), before);
  const bool is_inside = function != functions.end() && function->module == module &&
                         function->range.Contains(address);
  return is_inside ? static_cast<uint32_t>(function - functions.begin()) : kNoIndex;
}

}  // namespace hbbp
