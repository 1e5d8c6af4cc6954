#include "profile/resolved_profile.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <utility>

namespace hbbp {
namespace {

std::string NameOrAddress(std::string name, ModuleAddress address) {
  if (!name.empty()) return name;
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, address.value);
  return text;
}

}  // namespace

ResolvedProfile::ResolvedProfile(ProfileData data)
    : data_(std::move(data)),
      source_samples_(data_.sources.size()),
      thread_samples_(data_.threads.size()),
      module_samples_(data_.modules.size()),
      unexplained_(data_.sources.size()),
      modules_(data_.modules.size()) {
  for (const IpCount& count : data_.counts) {
    source_samples_[count.source] += count.samples;
    thread_samples_[count.thread] += count.samples;
    module_samples_[count.module] += count.samples;
  }
  // A sample at an unknown address is a sample all the same.
  for (size_t i = 0; i < data_.sources.size(); ++i) {
    source_samples_[i] += data_.sources[i].unmapped;
  }
}

ResolvedProfile::~ResolvedProfile() = default;

uint64_t ResolvedProfile::UnexplainedOfSource(uint32_t source) const {
  Resolve();
  return unexplained_[source];
}

CodeState ResolvedProfile::CodeStateOf(uint32_t module) const {
  std::lock_guard lock(mutex_);
  return OpenModule(module)->resolved.state;
}

const std::string& ResolvedProfile::ProblemOf(uint32_t module) const {
  std::lock_guard lock(mutex_);
  return OpenModule(module)->resolved.problem;
}

const std::vector<BlockRecord>& ResolvedProfile::blocks() const {
  Resolve();
  return blocks_;
}

const std::vector<FunctionRecord>& ResolvedProfile::functions() const {
  Resolve();
  return functions_;
}

const std::vector<Contribution>& ResolvedProfile::contributions() const {
  Resolve();
  return contributions_;
}

void ResolvedProfile::Resolve() const {
  std::call_once(resolve_once_, [this] { ResolveOnce(); });
}

void ResolvedProfile::ResolveOnce() const {
  std::lock_guard lock(mutex_);
  contributions_.resize(data_.counts.size());
  for (size_t first = 0, end = 0; first < data_.counts.size(); first = end) {
    const uint32_t module = data_.counts[first].module;
    while (end < data_.counts.size() && data_.counts[end].module == module) ++end;
    ResolveModuleBlocks(module, first, end);
    if (data_.modules[module].kind == ModuleKind::kKernel) {
      AddFunctionsOfKernel(module, first, end);
    }
  }
}

ResolvedProfile::ModuleState* ResolvedProfile::OpenModule(uint32_t module) const {
  std::unique_ptr<ModuleState>& state = modules_[module];
  if (state == nullptr) {
    state = std::make_unique<ModuleState>();
    state->resolved = ResolveModule(data_.modules[module]);
    if (state->resolved.code != nullptr) {
      state->blocks = std::make_unique<BlockMap>(state->resolved.code.get());
    }
  }
  return state.get();
}

void ResolvedProfile::ResolveModuleBlocks(uint32_t module, size_t first_count,
                                          size_t end_count) const {
  ModuleState* state = OpenModule(module);
  std::vector<std::pair<ModuleAddress, size_t>> located;  // address, index of its count
  for (size_t i = first_count; i < end_count; ++i) {
    const IpCount& count = data_.counts[i];
    contributions_[i] = {kNoIndex,      count.thread,     count.source,
                         count.samples, count.period_sum, count.period_squares};
    std::optional<ModuleAddress> address;
    if (state->blocks != nullptr) address = state->resolved.AddressOf(count.offset);
    if (address) {
      located.emplace_back(*address, i);
    } else {
      unexplained_[count.source] += count.samples;
    }
  }
  std::sort(located.begin(), located.end());
  // All evidence first: it may move the bounds of blocks.
  for (const auto& [address, i] : located) state->blocks->AddInstructionEvidence(address);
  const size_t first_block = blocks_.size();
  for (const auto& [address, i] : located) {
    const IpCount& count = data_.counts[i];
    const std::optional<Block> block = state->blocks->Find(address);
    if (!block || block->instruction_count == 0) {
      unexplained_[count.source] += count.samples;
      continue;
    }
    AddToBlock(module, *block, first_block, &contributions_[i]);
  }
  for (size_t i = first_block; i < blocks_.size(); ++i) {
    BlockRecord& record = blocks_[i];
    record.estimate = EstimateEbs(record.estimate.count, record.estimate.standard_error,
                                  record.block.instruction_count);
  }
}

// Samples come in order of address, so those of a block, or of a function, one after another.
void ResolvedProfile::AddToBlock(uint32_t module, const Block& block, size_t first_block,
                                 Contribution* contribution) const {
  const bool same_as_last =
      blocks_.size() > first_block && blocks_.back().block.start == block.start;
  if (!same_as_last) {
    BlockRecord record;
    record.module = module;
    record.block = block;
    record.source = data_.sources[contribution->source].kind;
    record.function = FunctionFor(module, block.start);
    blocks_.push_back(record);
  }
  BlockRecord& record = blocks_.back();
  contribution->block = static_cast<uint32_t>(blocks_.size() - 1);
  record.samples += contribution->samples;
  // The sums are kept in the estimate until all samples of the block are in.
  record.estimate.count += contribution->period_sum;
  record.estimate.standard_error += contribution->period_squares;
  AddToFunction(*contribution, &functions_[record.function]);
}

void ResolvedProfile::AddToFunction(const Contribution& contribution, FunctionRecord* function) {
  function->samples += contribution.samples;
  function->instructions += contribution.period_sum;
  function->standard_error =
      std::hypot(function->standard_error, std::sqrt(contribution.period_squares));
}

// Kernel code cannot be read, so there are no blocks, but samples still name functions.
void ResolvedProfile::AddFunctionsOfKernel(uint32_t module, size_t first_count,
                                           size_t end_count) const {
  ModuleState* state = OpenModule(module);
  if (state->resolved.code == nullptr) return;
  for (size_t i = first_count; i < end_count; ++i) {
    const ModuleAddress address{data_.counts[i].offset};
    if (!state->resolved.code->FunctionAround(address)) continue;
    AddToFunction(contributions_[i], &functions_[FunctionFor(module, address)]);
  }
}

uint32_t ResolvedProfile::FunctionFor(uint32_t module, ModuleAddress address) const {
  const bool same_as_last = !functions_.empty() && functions_.back().module == module &&
                            functions_.back().range.Contains(address);
  if (!same_as_last) {
    const ModuleCode& code = *modules_[module]->resolved.code;
    FunctionRecord function;
    function.module = module;
    function.range = code.FunctionAround(address).value_or(AddressRange{address, address + 1});
    function.name = NameOrAddress(code.FunctionName(address), function.range.start);
    functions_.push_back(std::move(function));
  }
  return static_cast<uint32_t>(functions_.size() - 1);
}

StatusOr<BlockRecord> ResolvedProfile::FindBlock(uint32_t module, ModuleAddress address) const {
  Resolve();
  if (module >= data_.modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data_.modules.size());
  }
  std::lock_guard lock(mutex_);
  ModuleState* state = OpenModule(module);
  std::optional<Block> block;
  if (state->blocks != nullptr) block = state->blocks->Find(address);
  if (!block) {
    return MakeStatus(StatusCode::kNotFound, "%s: no code at 0x%" PRIx64,
                      data_.modules[module].path.c_str(), address.value);
  }
  const auto before = [](const BlockRecord& record, const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(record.module, record.block.start.value) < key;
  };
  auto known = std::lower_bound(blocks_.begin(), blocks_.end(),
                                std::pair(module, block->start.value), before);
  if (known != blocks_.end() && known->module == module && known->block.start == block->start) {
    return *known;
  }
  BlockRecord record;
  record.module = module;
  record.block = *block;
  const auto function_before = [](const FunctionRecord& function,
                                  const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(function.module, function.range.end.value) <= key;
  };
  auto function = std::lower_bound(functions_.begin(), functions_.end(),
                                   std::pair(module, block->start.value), function_before);
  if (function != functions_.end() && function->module == module &&
      function->range.Contains(block->start)) {
    record.function = static_cast<uint32_t>(function - functions_.begin());
  }
  return record;
}

bool ResolvedProfile::DecodeAt(const ModuleState& state, ModuleAddress address,
                               Instruction* instruction) const {
  if (state.resolved.code == nullptr) return false;
  if (decoder_ == nullptr) {
    StatusOr<std::unique_ptr<Decoder>> decoder = Decoder::Create();
    if (!decoder.ok()) return false;
    decoder_ = *std::move(decoder);
  }
  return decoder_->Decode(state.resolved.code->CodeAt(address, kMaxInstructionLength),
                          address.value, instruction);
}

StatusOr<Instruction> ResolvedProfile::Decode(uint32_t module, ModuleAddress address) const {
  if (module >= data_.modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data_.modules.size());
  }
  std::lock_guard lock(mutex_);
  Instruction instruction;
  if (!DecodeAt(*OpenModule(module), address, &instruction)) {
    return MakeStatus(StatusCode::kNotFound, "%s: no instruction at 0x%" PRIx64,
                      data_.modules[module].path.c_str(), address.value);
  }
  return instruction;
}

std::vector<Instruction> ResolvedProfile::InstructionsOf(const BlockRecord& record) const {
  std::lock_guard lock(mutex_);
  std::vector<Instruction> instructions;
  instructions.reserve(record.block.instruction_count);
  const ModuleState& state = *OpenModule(record.module);
  for (ModuleAddress address = record.block.start; address < record.block.end;) {
    Instruction instruction;
    if (!DecodeAt(state, address, &instruction)) break;
    instructions.push_back(instruction);
    address = address + instruction.length;
  }
  return instructions;
}

}  // namespace hbbp
