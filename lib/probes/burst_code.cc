#include "probes/burst_code.h"

#include <optional>

#include "symbols/demangle.h"

namespace hbbp {
namespace {

constexpr int kAddressBits = 48;
constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
constexpr uint32_t kMaxModules = (1u << (64 - kAddressBits)) - 1;
// Real code does not run so far without a taken branch.
constexpr uint64_t kMaxStreamBytes = 1 << 20;

uint64_t MakeNumber(uint32_t module, uint64_t address) {
  return (uint64_t{module} + 1) << kAddressBits | (address & kAddressMask);
}

// Both are of a number that is not kNoCodeNumber. Addresses of kernels are negative.
uint32_t ModuleFrom(uint64_t number) { return static_cast<uint32_t>(number >> kAddressBits) - 1; }
ModuleAddress AddressFrom(uint64_t number) {
  constexpr int kShift = 64 - kAddressBits;
  return {static_cast<uint64_t>(static_cast<int64_t>(number << kShift) >> kShift)};
}

bool MayPass(BranchKind kind) {
  return kind == BranchKind::kNone || kind == BranchKind::kConditional ||
         kind == BranchKind::kSystem;
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void BurstCode::Use(std::shared_ptr<const ResolvedModules> modules) {
  instructions_.clear();
  names_.clear();
  modules_.Use(modules);
  current_ = std::move(modules);
}

uint64_t BurstCode::Number(uint32_t module, uint64_t offset) const {
  if (module == kNoModule || modules_.NumberOf(module) >= kMaxModules) return kNoCodeNumber;
  const ResolvedModules::Use use = current_->Open(module);
  const std::optional<ModuleAddress> address =
      use->code == nullptr ? std::nullopt : use->AddressOf(offset);
  return MakeNumber(modules_.NumberOf(module), address ? address->value : offset);
}

BurstCodeLocation BurstCode::Locate(uint64_t number) const {
  BurstCodeLocation location;
  if (number == kNoCodeNumber || ModuleFrom(number) >= modules_.size()) return location;
  const BurstModules::Location& module = modules_.Find(ModuleFrom(number));
  location.is_known = true;
  if (module.modules == current_) location.module = module.index;
  location.path = module.modules->data().modules[module.index].path;
  location.address = AddressFrom(number);
  const ResolvedModules::Use use = module.modules->Open(module.index);
  if (use->code == nullptr) return location;
  if (const auto range = use->code->FunctionAround(location.address)) {
    location.function = range->start;
  }
  location.function_name = use->code->FunctionName(location.address);
  return location;
}

const BurstInstruction& BurstCode::Decode(const BurstModules::Location& module, uint64_t number) {
  const auto [found, is_new] = instructions_.try_emplace(number);
  BurstInstruction& entry = found->second;
  if (!is_new) return entry;
  const ResolvedModules::Use use = module.modules->Open(module.index);
  if (use->code == nullptr) return entry;
  const ModuleAddress address = AddressFrom(number);
  InstructionSite site;
  site.pc = number;
  const std::string& path = module.modules->data().modules[module.index].path;
  site.module = *names_.emplace(LastPart(path)).first;
  if (const auto range = use->code->FunctionAround(address)) {
    site.function = MakeNumber(ModuleFrom(number), range->start.value);
  }
  if ((set_.keys() & SetOf(ProbeKey::kName)) != 0) {
    site.name = *names_.insert(Demangle(use->code->FunctionName(address))).first;
  }
  const std::span<const uint8_t> code = use->code->CodeAt(address, kMaxInstructionLength);
  entry.is_instruction = set_.Prepare(code, site, &entry.instruction);
  if ((set_.keys() & kMemoryOperands) != 0) entry.memory = FindMemoryOperand(code, number);
  if ((set_.keys() & kRegisters) != 0) entry.written_registers = FindWrittenRegisters(code);
  return entry;
}

BurstStream BurstCode::FindStream(uint64_t start, uint64_t end) {
  if (start == kNoCodeNumber || end == kNoCodeNumber) return {StreamFault::kNoCode, {}};
  if (ModuleFrom(start) != ModuleFrom(end)) return {StreamFault::kPassesBranch, {}};
  if (end < start) return {StreamFault::kBackwards, {}};
  if (end - start > kMaxStreamBytes) return {StreamFault::kTooLong, {}};
  const BurstModules::Location& module = modules_.Find(ModuleFrom(start));
  BurstStream stream;
  for (uint64_t next = start;;) {
    const BurstInstruction& entry = Decode(module, next);
    if (!entry.is_instruction) {
      const bool has_code = module.modules->CodeAt(module.index, AddressFrom(next), 1).size() == 1;
      return {has_code ? StreamFault::kUndecodable : StreamFault::kNoCode, {}};
    }
    stream.instructions.push_back(&entry);
    const BranchKind kind = entry.instruction.flow.kind;
    if (next == end) {
      if (EndsBlock(kind)) return stream;
      return {StreamFault::kNotABranch, {}};
    }
    if (!MayPass(kind)) return {StreamFault::kPassesBranch, {}};
    next = entry.instruction.end();
    if (next > end) return {StreamFault::kUndecodable, {}};
  }
}

}  // namespace hbbp
