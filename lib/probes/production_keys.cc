// kKeys names the keys in the order of ProbeKey. ProductionKeys finds them for the parser;
// StaticFlag, StaticValues and EventValues have their values: of an instruction before anything is
// executed, and of one execution.
#include "probes/production_keys.h"

#include <algorithm>
#include <iterator>

namespace hbbp {
namespace {

struct NamedKey {
  std::string_view name;
  std::string_view name_in_paper;
  KeyType type;
};

// In the order of ProbeKey.
constexpr NamedKey kKeys[] = {
    {"pc", "T.PC", KeyType::kNumber},
    {"target", "T.Target", KeyType::kNumber},
    {"next", "", KeyType::kNumber},
    {"function", "", KeyType::kNumber},
    {"caller", "", KeyType::kNumber},
    {"path_start", "", KeyType::kNumber},
    {"address", "", KeyType::kNumber},
    {"size", "", KeyType::kNumber},
    {"value", "", KeyType::kNumber},
    {"divisor", "", KeyType::kNumber},
    {"stride", "", KeyType::kNumber},
    {"reuse", "", KeyType::kNumber},
    {"trips", "", KeyType::kNumber},
    {"path", "", KeyType::kNumber},
    {"sample_counter", "", KeyType::kNumber},
    {"burst_counter", "", KeyType::kNumber},
    {"rax", "", KeyType::kNumber},
    {"rcx", "", KeyType::kNumber},
    {"rdx", "", KeyType::kNumber},
    {"rbx", "", KeyType::kNumber},
    {"rsp", "", KeyType::kNumber},
    {"rbp", "", KeyType::kNumber},
    {"rsi", "", KeyType::kNumber},
    {"rdi", "", KeyType::kNumber},
    {"r8", "", KeyType::kNumber},
    {"r9", "", KeyType::kNumber},
    {"r10", "", KeyType::kNumber},
    {"r11", "", KeyType::kNumber},
    {"r12", "", KeyType::kNumber},
    {"r13", "", KeyType::kNumber},
    {"r14", "", KeyType::kNumber},
    {"r15", "", KeyType::kNumber},
    {"insn", "T.INSN", KeyType::kText},
    {"name", "", KeyType::kText},
    {"module", "", KeyType::kText},
    {"entry", "", KeyType::kFlag},
    {"proc_call", "", KeyType::kFlag},
    {"return", "", KeyType::kFlag},
    {"branch", "", KeyType::kFlag},
    {"conditional", "", KeyType::kFlag},
    {"direct", "", KeyType::kFlag},
    {"indirect", "", KeyType::kFlag},
    {"backward", "", KeyType::kFlag},
    {"taken", "", KeyType::kFlag},
    {"path_end", "", KeyType::kFlag},
    {"mem_op", "", KeyType::kFlag},
    {"load", "", KeyType::kFlag},
    {"store", "", KeyType::kFlag},
    {"sample_flag", "", KeyType::kFlag},
    {"burst_flag", "", KeyType::kFlag},
};
static_assert(std::size(kKeys) == static_cast<size_t>(ProbeKey::kCount));

bool IsTransfer(BranchKind kind) {
  return kind != BranchKind::kNone && kind != BranchKind::kSystem && kind != BranchKind::kTrap;
}

}  // namespace

std::string_view NameOf(ProbeKey key) { return kKeys[static_cast<size_t>(key)].name; }

std::optional<ProbeKey> FindProbeKey(std::string_view name) {
  const auto found = std::ranges::find_if(kKeys, [name](const NamedKey& key) {
    return !name.empty() && (key.name == name || key.name_in_paper == name);
  });
  if (found == std::end(kKeys)) return std::nullopt;
  return static_cast<ProbeKey>(found - std::begin(kKeys));
}

std::optional<ExpressionKey> ProductionKeys::Find(std::string_view name) const {
  if (const auto property = PropertyKeys().Find(name)) return property;
  if (const auto key = FindProbeKey(name)) {
    return ExpressionKey{IdOf(*key), kKeys[static_cast<size_t>(*key)].type};
  }
  const auto taxonomy = std::ranges::find(taxonomies_, name, &Taxonomy::name);
  if (taxonomy == taxonomies_.end()) return std::nullopt;
  const auto index = static_cast<uint32_t>(taxonomy - taxonomies_.begin());
  return ExpressionKey{kFirstTaxonomyId + index, KeyType::kWord};
}

std::vector<std::string_view> ProductionKeys::Names() const {
  std::vector<std::string_view> names = PropertyKeys().Names();
  for (const NamedKey& key : kKeys) names.push_back(key.name);
  for (const Taxonomy& taxonomy : taxonomies_) names.push_back(taxonomy.name());
  return names;
}

uint32_t ProductionKeys::WordCount(uint32_t id) const {
  if (id < kFirstProbeKeyId) return PropertyKeys().WordCount(id);
  return static_cast<uint32_t>(TaxonomyOf(id).groups().size() + 1);
}

std::string_view ProductionKeys::WordAt(uint32_t id, uint32_t word) const {
  if (id < kFirstProbeKeyId) return PropertyKeys().WordAt(id, word);
  return TaxonomyOf(id).GroupName(word);
}

std::optional<uint32_t> ProductionKeys::FindSynonym(uint32_t id, std::string_view word) const {
  if (id < kFirstProbeKeyId) return PropertyKeys().FindSynonym(id, word);
  return std::nullopt;
}

std::optional<bool> StaticFlag(const ProbedInstruction& instruction, ProbeKey key) {
  const BranchKind kind = instruction.flow.kind;
  const MemoryAccess memory = instruction.properties.memory;
  switch (key) {
    case ProbeKey::kEntry:
      return instruction.pc == instruction.function;
    case ProbeKey::kProcCall:
      return kind == BranchKind::kCall || kind == BranchKind::kIndirectCall;
    case ProbeKey::kReturn:
      return kind == BranchKind::kReturn;
    case ProbeKey::kBranch:
      return kind == BranchKind::kConditional || kind == BranchKind::kJump ||
             kind == BranchKind::kIndirectJump;
    case ProbeKey::kConditional:
      return kind == BranchKind::kConditional;
    case ProbeKey::kDirect:
      return IsTransfer(kind) && instruction.flow.has_target;
    case ProbeKey::kIndirect:
      return kind == BranchKind::kIndirectCall || kind == BranchKind::kIndirectJump;
    case ProbeKey::kBackward:
      if (!IsTransfer(kind)) return false;
      if (instruction.flow.has_target) return instruction.flow.target <= instruction.pc;
      return std::nullopt;
    case ProbeKey::kTaken:
      if (!IsTransfer(kind)) return false;
      if (kind != BranchKind::kConditional) return true;
      return std::nullopt;
    case ProbeKey::kPathEnd:
      if (kind == BranchKind::kConditional) return std::nullopt;
      if (kind == BranchKind::kJump) return instruction.flow.target <= instruction.pc;
      return kind == BranchKind::kReturn || kind == BranchKind::kIndirectJump;
    case ProbeKey::kMemOp:
      return memory != MemoryAccess::kNone;
    case ProbeKey::kLoad:
      return memory == MemoryAccess::kRead || memory == MemoryAccess::kReadWrite;
    case ProbeKey::kStore:
      return memory == MemoryAccess::kWrite || memory == MemoryAccess::kReadWrite;
    default:
      return std::nullopt;
  }
}

uint64_t EventValues::NumberOf(ProbeKey key) const {
  if (key >= ProbeKey::kRax && key <= ProbeKey::kR15) {
    const auto number = static_cast<size_t>(key) - static_cast<size_t>(ProbeKey::kRax);
    return event_.registers == nullptr ? 0 : (*event_.registers)[number];
  }
  switch (key) {
    case ProbeKey::kPc:
      return event_.instruction->pc;
    case ProbeKey::kTarget:
      return event_.target();
    case ProbeKey::kNext:
      return event_.next;
    case ProbeKey::kFunction:
      return event_.instruction->function;
    case ProbeKey::kCaller:
      return event_.caller;
    case ProbeKey::kPathStart:
      return event_.path_start;
    case ProbeKey::kPath:
      return event_.path;
    case ProbeKey::kPathEnd:
      return StaticFlag(*event_.instruction, key).value_or(event_.ends_path) ? 1 : 0;
    case ProbeKey::kStride:
      return event_.stride;
    case ProbeKey::kReuse:
      return event_.reuse;
    case ProbeKey::kTrips:
      return event_.trips;
    case ProbeKey::kAddress:
      return event_.address;
    case ProbeKey::kSize:
      return event_.size;
    case ProbeKey::kValue:
      return event_.value;
    case ProbeKey::kDivisor:
      if (event_.registers == nullptr) return 0;
      return event_.instruction->divisor.Value(*event_.registers, event_.value);
    case ProbeKey::kSampleCounter:
      return state_.sample_counter;
    case ProbeKey::kBurstCounter:
      return state_.burst_counter;
    case ProbeKey::kSampleFlag:
      return state_.sample_flag ? 1 : 0;
    case ProbeKey::kBurstFlag:
      return state_.burst_flag ? 1 : 0;
    case ProbeKey::kBackward:
      return IsTransfer(event_.instruction->flow.kind) && event_.target() <= event_.instruction->pc;
    case ProbeKey::kTaken:
      return event_.is_taken() ? 1 : 0;
    default:
      return StaticFlag(*event_.instruction, key).value_or(false) ? 1 : 0;
  }
}

bool StaticValues::Knows(uint32_t id) const {
  if (!IsProbeKeyId(id)) return true;
  const ProbeKey key = ProbeKeyFromId(id);
  switch (key) {
    case ProbeKey::kPc:
    case ProbeKey::kFunction:
    case ProbeKey::kInsn:
    case ProbeKey::kName:
    case ProbeKey::kModule:
    case ProbeKey::kSampleFlag:
    case ProbeKey::kBurstFlag:
      return true;
    case ProbeKey::kTarget:
      return event_.instruction->flow.has_target;
    default:
      return StaticFlag(*event_.instruction, key).has_value();
  }
}

}  // namespace hbbp
