#include "analysis/resolved_profile.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "image/kernel_code.h"

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
      slice_samples_(data_.slices.count),
      module_samples_(data_.modules.size()),
      unmapped_(data_.sources.size()),
      unexplained_(data_.sources.size()),
      superseded_(data_.sources.size()),
      modules_(data_.modules.size()) {
  for (const IpCount& count : data_.counts) {
    source_samples_[count.source] += count.samples;
    thread_samples_[count.thread] += count.samples;
    if (count.slice != kNoSlice) slice_samples_[count.slice] += count.samples;
    module_samples_[count.module] += count.samples;
  }
  for (size_t i = 0; i < data_.sources.size(); ++i) {
    // A sample at an unknown address is a sample all the same.
    source_samples_[i] += data_.sources[i].unmapped;
    unmapped_[i] += data_.sources[i].unmapped;
  }
  for (const BranchCount& branch : data_.branches) {
    if (branch.stream_end == kNoStream) {
      source_samples_[branch.source] += branch.number;
      thread_samples_[branch.thread] += branch.number;
      if (branch.slice != kNoSlice) slice_samples_[branch.slice] += branch.number;
    }
    if (branch.to_module == kNoModule) {
      unmapped_[branch.source] += branch.number;
    } else {
      module_samples_[branch.to_module] += branch.number;
    }
  }
}

ResolvedProfile::~ResolvedProfile() = default;

uint64_t ResolvedProfile::UnexplainedOfSource(uint32_t source) const {
  const UnexplainedCounts& counts = UnexplainedByReason(source);
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

const UnexplainedCounts& ResolvedProfile::UnexplainedByReason(uint32_t source) const {
  Resolve();
  return unexplained_[source];
}

uint64_t ResolvedProfile::SupersededOfSource(uint32_t source) const {
  Resolve();
  return superseded_[source];
}

CodeState ResolvedProfile::CodeStateOf(uint32_t module) const {
  std::lock_guard lock(mutex_);
  return OpenModule(module)->resolved.state;
}

const std::string& ResolvedProfile::ProblemOf(uint32_t module) const {
  std::lock_guard lock(mutex_);
  return OpenModule(module)->resolved.problem;
}

uint64_t ResolvedProfile::PatchedBytesOf(uint32_t module) const {
  Resolve();
  std::lock_guard lock(mutex_);
  const KernelCode* kernel = OpenModule(module)->resolved.kernel;
  uint64_t patched = 0;
  for (const FunctionRecord& function : functions_) {
    if (kernel != nullptr && function.module == module) {
      patched += kernel->PatchedBytes(function.range);
    }
  }
  return patched;
}

std::vector<uint64_t> ResolvedProfile::SampledOffsets(uint32_t module) const {
  std::vector<uint64_t> offsets;
  for (const IpCount& count : data_.counts) {
    if (count.module == module) offsets.push_back(count.offset);
  }
  for (const BranchCount& branch : data_.branches) {
    if (branch.from_module == module) offsets.push_back(branch.from);
    if (branch.to_module == module) offsets.push_back(branch.to);
  }
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

ProfileData ResolvedProfile::DataToStore() const {
  ProfileData data = data_;
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < data.modules.size(); ++i) {
    if (data.modules[i].kind != ModuleKind::kKernel || module_samples_[i] == 0) continue;
    CaptureKernel(OpenModule(i)->resolved, SampledOffsets(i), &data.modules[i]);
  }
  return data;
}

Status ResolvedProfile::SetKernelFiles(const KernelFilePaths& paths) {
  std::lock_guard lock(mutex_);
  const bool is_resolved = std::any_of(modules_.begin(), modules_.end(),
                                       [](const auto& state) { return state != nullptr; });
  if (is_resolved) {
    return MakeStatus(StatusCode::kInvalidState,
                      "the code of this profile was sought before; name the files first");
  }
  HBBP_ASSIGN_OR_RETURN(KernelFiles files, OpenKernelFiles(paths));
  Status status = OkStatus();
  for (size_t i = 0; i < data_.modules.size(); ++i) {
    if (data_.modules[i].kind != ModuleKind::kKernel || module_samples_[i] == 0) continue;
    status = CheckKernelFiles(files, data_.modules[i]);
    if (status.ok()) break;
  }
  HBBP_RETURN_IF_ERROR(status);
  kernel_files_ = std::move(files);
  return OkStatus();
}

void ResolvedProfile::SetEstimator(EstimatorOptions options) {
  estimator_options_ = std::move(options);
  is_resolved_ = false;
  find_loops_once_ = std::make_unique<std::once_flag>();
  ForgetResolution();
}

void ResolvedProfile::ForgetResolution() const {
  std::fill(unexplained_.begin(), unexplained_.end(), UnexplainedCounts{});
  std::fill(superseded_.begin(), superseded_.end(), 0);
  blocks_.clear();
  functions_.clear();
  contributions_.clear();
  stream_contributions_.clear();
  branches_.clear();
  ibs_sums_.clear();
  code_ = nullptr;
}

void ResolvedProfile::SetOptionsOf(const ResolvedProfile& whole) {
  kernel_files_ = whole.kernel_files_;
  SourceOptions source_options = whole.source_options_;
  source_options.progress = nullptr;
  source_options.search.cancel = nullptr;
  SetSourceOptions(std::move(source_options));
  estimator_options_ = whole.estimator_options_;
}

EstimatorKind ResolvedProfile::estimator() const {
  Resolve();
  return estimator_;
}

const FamilyScales& ResolvedProfile::family_scales() const {
  Resolve();
  return scales_;
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

const std::vector<StreamContribution>& ResolvedProfile::stream_contributions() const {
  Resolve();
  return stream_contributions_;
}

const std::vector<TakenBranchRecord>& ResolvedProfile::branches() const {
  Resolve();
  return branches_;
}

const std::vector<IbsSumRecord>& ResolvedProfile::ibs_sums() const {
  Resolve();
  return ibs_sums_;
}

const ProfileLoops& ResolvedProfile::loops() const {
  Resolve();
  std::call_once(*find_loops_once_, [this] { loops_ = FindProfileLoops(*this); });
  return loops_;
}

Status ResolvedProfile::Resolve(const Work& work) const {
  if (is_resolved_) return OkStatus();
  std::lock_guard resolving(resolve_mutex_);
  if (is_resolved_) return OkStatus();
  std::lock_guard lock(mutex_);
  // What an attempt that memory ended had found.
  ForgetResolution();
  Status status = ResolveAll(work);
  if (!status.ok()) ForgetResolution();
  is_resolved_ = status.ok();
  return status;
}

Status ResolvedProfile::ResolveAll(const Work& work) const {
  const uint64_t evidence = data_.counts.size() + data_.branches.size();
  WorkMeter meter(work, 3 * evidence);
  std::vector<ObservedModule> observed = Observe(&meter);
  HBBP_RETURN_IF_ERROR(meter.status());
  for (const ObservedModule& module : observed) CountInInstructions(module);
  FindScales(observed);
  ResolveBranches();
  AddBias(&observed);
  for (const ObservedModule& module : observed) {
    const size_t first_block = blocks_.size();
    const size_t first_function = functions_.size();
    EstimateModule(module, &meter);
    HBBP_RETURN_IF_ERROR(meter.status());
    if (modules_[module.module]->resolved.names_missing_code) {
      AddFunctionsWithoutCode(module.module, module.counts, {first_block, blocks_.size()},
                              first_function);
    }
  }
  ResolveIbs();
  return work.Tell(3 * evidence, 3 * evidence);
}

ResolvedProfile::ModuleState* ResolvedProfile::OpenModule(uint32_t module) const {
  // Where memory is short on the way, it is sought again the next time.
  if (modules_[module] == nullptr) {
    auto state = std::make_unique<ModuleState>();
    state->resolved = ResolveModule(data_.modules[module], kernel_files_);
    if (state->resolved.code != nullptr) {
      state->blocks = std::make_unique<BlockMap>(state->resolved.code.get());
    }
    modules_[module] = std::move(state);
  }
  return modules_[module].get();
}

// Where code cannot be read there are no blocks, but samples still name functions.
void ResolvedProfile::AddFunctionsWithoutCode(uint32_t module, IndexRange counts, IndexRange blocks,
                                              size_t first_function) const {
  ModuleState* state = OpenModule(module);
  const ModuleCode& code = *state->resolved.code;
  std::map<ModuleAddress, std::vector<size_t>> contributions;  // by start of their function
  for (size_t i = counts.first; i < counts.end; ++i) {
    const ModuleAddress address{data_.counts[i].offset};
    const auto function = code.FunctionAround(address);
    if (contributions_[i].block != kNoIndex || !function) continue;
    // Another source counts what is in a block.
    const auto block = state->blocks->Find(address);
    if (block && block->instruction_count != 0) continue;
    contributions[function->start].push_back(i);
  }
  if (contributions.empty()) return;

  // Functions stay in order of address, so those that have blocks may move.
  std::vector<FunctionRecord> with_blocks(
      functions_.begin() + static_cast<ptrdiff_t>(first_function), functions_.end());
  functions_.resize(first_function);
  std::vector<uint32_t> moved_to(with_blocks.size());
  auto unnamed = contributions.begin();
  const auto add_up_to = [&](ModuleAddress end) {
    for (; unnamed != contributions.end() && unnamed->first < end; ++unnamed) {
      const uint32_t function = FunctionFor(module, unnamed->first);
      for (const size_t i : unnamed->second) {
        contributions_[i].function = function;
        AddToFunction(contributions_[i], &functions_[function]);
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
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    blocks_[i].function = moved_to[blocks_[i].function - first_function];
  }
}

ModuleAddress ResolvedProfile::AddressIn(uint32_t module, uint64_t offset) const {
  if (module == kNoModule) return kNoAddress;
  const ResolvedModule& resolved = OpenModule(module)->resolved;
  if (resolved.code == nullptr) return kNoAddress;
  return resolved.AddressOf(offset).value_or(kNoAddress);
}

void ResolvedProfile::ResolveBranches() const {
  static_assert(kNoModule == kNoIndex);
  std::vector<TakenBranchRecord> all;
  all.reserve(data_.branches.size());
  for (const BranchCount& branch : data_.branches) {
    TakenBranchRecord record;
    record.from_module = branch.from_module;
    record.to_module = branch.to_module;
    record.from = AddressIn(branch.from_module, branch.from);
    record.to = AddressIn(branch.to_module, branch.to);
    record.observed = branch.number;
    record.count = branch.weights * scales_.streams;
    record.replicates.Add(branch.replicates, scales_.streams);
    record.bias = {branch.oldest, branch.oldest_expected};
    all.push_back(record);
  }
  const auto key_of = [](const TakenBranchRecord& record) {
    return std::tie(record.from_module, record.from, record.to_module, record.to);
  };
  std::sort(all.begin(), all.end(), [&](const TakenBranchRecord& a, const TakenBranchRecord& b) {
    return key_of(a) < key_of(b);
  });
  for (const TakenBranchRecord& record : all) {
    if (branches_.empty() || key_of(branches_.back()) != key_of(record)) {
      branches_.push_back(record);
      continue;
    }
    branches_.back().observed += record.observed;
    branches_.back().count += record.count;
    branches_.back().replicates.Add(record.replicates);
    branches_.back().bias.Add(record.bias);
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
  record.function = FunctionAround(module, block->start);
  return record;
}

// One of functions(), or kNoIndex.
uint32_t ResolvedProfile::FunctionAround(uint32_t module, ModuleAddress address) const {
  const auto before = [](const FunctionRecord& function, const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(function.module, function.range.end.value) <= key;
  };
  const auto function = std::lower_bound(functions_.begin(), functions_.end(),
                                         std::pair(module, address.value), before);
  const bool is_inside = function != functions_.end() && function->module == module &&
                         function->range.Contains(address);
  return is_inside ? static_cast<uint32_t>(function - functions_.begin()) : kNoIndex;
}

bool ResolvedProfile::DecodeAt(const ModuleState& state, ModuleAddress address,
                               Instruction* instruction) const {
  if (state.resolved.code == nullptr) return false;
  return DecodeInstruction(state.resolved.code->CodeAt(address, kMaxInstructionLength),
                           address.value, instruction);
}

std::vector<Block> ResolvedProfile::FunctionBlocks(uint32_t module, ModuleAddress address) const {
  std::lock_guard lock(mutex_);
  const ModuleState* state = OpenModule(module);
  return state->blocks == nullptr ? std::vector<Block>() : state->blocks->FunctionBlocks(address);
}

std::vector<ReadJumpTable> ResolvedProfile::JumpTables(uint32_t module,
                                                       ModuleAddress address) const {
  std::lock_guard lock(mutex_);
  const ModuleState* state = OpenModule(module);
  return state->blocks == nullptr ? std::vector<ReadJumpTable>()
                                  : state->blocks->JumpTables(address);
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

std::shared_ptr<const DescribedCode> ResolvedProfile::code() const {
  const size_t instructions = std::accumulate(
      blocks().begin(), blocks().end(), size_t{0},
      [](size_t sum, const BlockRecord& record) { return sum + record.block.instruction_count; });
  if (instructions > kMaxKeptInstructions) {
    return std::make_shared<const DescribedCode>(DescribeCode(*this));
  }
  std::lock_guard lock(code_mutex_);
  if (code_ == nullptr) code_ = std::make_shared<const DescribedCode>(DescribeCode(*this));
  return code_;
}

}  // namespace hbbp
