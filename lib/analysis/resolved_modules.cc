#include "analysis/resolved_modules.h"

#include <algorithm>
#include <cinttypes>
#include <span>

#include "analysis/module_resolver.h"
#include "profile/sample_totals.h"

namespace hbbp {
namespace {

bool DecodeAt(const ResolvedModule& module, ModuleAddress address, Instruction* instruction) {
  if (module.code == nullptr) return false;
  return DecodeInstruction(module.code->CodeAt(address, kMaxInstructionLength), address.value,
                           instruction);
}

std::vector<uint64_t> SampledOffsets(const ProfileData& data, uint32_t module) {
  std::vector<uint64_t> offsets;
  for (const IpCount& count : data.counts) {
    if (count.module == module) offsets.push_back(count.offset);
  }
  for (const BranchCount& branch : data.branches) {
    if (branch.from_module == module) offsets.push_back(branch.from);
    if (branch.to_module == module) offsets.push_back(branch.to);
  }
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace

ResolvedModules::ResolvedModules(std::shared_ptr<const ProfileData> data, KernelFiles kernel_files)
    : data_(std::move(data)),
      kernel_files_(std::move(kernel_files)),
      opened_(std::make_shared<Opened>()) {
  opened_->data = data_;
  opened_->modules.resize(data_->modules.size());
}

ResolvedModules::ResolvedModules(std::shared_ptr<const ProfileData> counts,
                                 const ResolvedModules& same)
    : data_(std::move(counts)), kernel_files_(same.kernel_files_), opened_(same.opened_) {}

ResolvedModules::Use ResolvedModules::Open(uint32_t module) const {
  std::unique_lock lock(opened_->mutex);
  std::unique_ptr<const ResolvedModule>& opened = opened_->modules[module];
  // If memory is short, the module is opened again the next time.
  if (opened == nullptr) {
    opened = std::make_unique<const ResolvedModule>(
        ResolveModule(opened_->data->modules[module], kernel_files_));
  }
  return {std::move(lock), opened.get()};
}

bool ResolvedModules::HasOpened() const {
  std::lock_guard lock(opened_->mutex);
  return std::any_of(opened_->modules.begin(), opened_->modules.end(),
                     [](const auto& module) { return module != nullptr; });
}

StatusOr<Instruction> ResolvedModules::Decode(uint32_t module, ModuleAddress address) const {
  if (module >= data_->modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data_->modules.size());
  }
  Instruction instruction;
  if (!DecodeAt(*Open(module), address, &instruction)) {
    return MakeStatus(StatusCode::kNotFound, "%s: no instruction at 0x%" PRIx64,
                      data_->modules[module].path.c_str(), address.value);
  }
  return instruction;
}

std::vector<uint8_t> ResolvedModules::CodeAt(uint32_t module, ModuleAddress address,
                                             size_t size) const {
  if (module >= data_->modules.size()) return {};
  const Use use = Open(module);
  if (use->code == nullptr) return {};
  const std::span<const uint8_t> code = use->code->CodeAt(address, size);
  return {code.begin(), code.end()};
}

std::vector<Instruction> ResolvedModules::DecodeBlock(uint32_t module, const Block& block) const {
  std::vector<Instruction> instructions;
  instructions.reserve(block.instruction_count);
  const Use use = Open(module);
  for (ModuleAddress address = block.start; address < block.end;) {
    Instruction instruction;
    if (!DecodeAt(*use, address, &instruction)) break;
    instructions.push_back(instruction);
    address = address + instruction.length;
  }
  return instructions;
}

ProfileData ResolvedModules::DataToStore() const {
  const SampleTotals totals = CountSamples(*data_);
  ProfileData data = *data_;
  for (uint32_t i = 0; i < data.modules.size(); ++i) {
    if (data.modules[i].kind != ModuleKind::kKernel || totals.of_module[i] == 0) continue;
    CaptureKernel(*Open(i), SampledOffsets(*data_, i), &data.modules[i]);
  }
  return data;
}

}  // namespace hbbp
