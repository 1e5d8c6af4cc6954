// The keys of conditions in productions: classes of instructions, operands of an execution, the
// state of the burst, properties of instructions, and groups of taxonomies.
//
// docs/guide/productions.md is the manual.
#ifndef HBBP_LIB_PROBES_PRODUCTION_KEYS_H_
#define HBBP_LIB_PROBES_PRODUCTION_KEYS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/property_expression.h"
#include "isa/taxonomy.h"
#include "probes/instruction_event.h"

namespace hbbp {

// Keys besides properties and taxonomies.
enum class ProbeKey : uint8_t {
  // Numbers, which actions can record as well; addresses of code first.
  kPc,
  kTarget,
  kNext,
  kFunction,
  kCaller,
  kPathStart,
  kAddress,
  kSize,
  kValue,
  kDivisor,
  kStride,
  kReuse,
  kTrips,
  kPath,
  kSampleCounter,
  kBurstCounter,
  // General-purpose registers, in the order of their numbers.
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  // Texts.
  kInsn,    // the bytes of the instruction: "f30f1efa"
  kName,    // of the function
  kModule,  // the file, without directories
  // Flags.
  kEntry,
  kProcCall,
  kReturn,
  kBranch,
  kConditional,
  kDirect,
  kIndirect,
  kBackward,
  kTaken,
  kPathEnd,
  kMemOp,
  kLoad,
  kStore,
  kSampleFlag,
  kBurstFlag,
  kCount,
};

// Returns a name such as "proc_call".
std::string_view NameOf(ProbeKey key);
// Finds "pc", and also the spellings of the paper: "T.PC", "T.Target", "T.INSN".
std::optional<ProbeKey> FindProbeKey(std::string_view name);

// A set of keys of which streams may lack some.
using ProbeKeySet = uint64_t;
constexpr ProbeKeySet SetOf(ProbeKey key) { return ProbeKeySet{1} << static_cast<unsigned>(key); }
static_assert(static_cast<size_t>(ProbeKey::kCount) <= 64);
// The operands that only some streams have.
inline constexpr ProbeKeySet kMemoryOperands = SetOf(ProbeKey::kAddress) | SetOf(ProbeKey::kSize) |
                                               SetOf(ProbeKey::kValue) | SetOf(ProbeKey::kDivisor) |
                                               SetOf(ProbeKey::kStride) | SetOf(ProbeKey::kReuse);
// Those that depend on where an instruction accessed memory.
inline constexpr ProbeKeySet kAddresses =
    SetOf(ProbeKey::kAddress) | SetOf(ProbeKey::kStride) | SetOf(ProbeKey::kReuse);
inline constexpr ProbeKeySet kValues = SetOf(ProbeKey::kValue) | SetOf(ProbeKey::kDivisor);
inline constexpr ProbeKeySet kRegisters =
    ((SetOf(ProbeKey::kR15) << 1) - SetOf(ProbeKey::kRax)) | SetOf(ProbeKey::kDivisor);
inline constexpr ProbeKeySet kPaths =
    SetOf(ProbeKey::kPathStart) | SetOf(ProbeKey::kPath) | SetOf(ProbeKey::kPathEnd);

// Properties have the ids of PropertyKeys, then follow those of ProbeKey, then taxonomies.
inline constexpr uint32_t kFirstProbeKeyId = static_cast<uint32_t>(Property::kCount);
inline constexpr uint32_t kFirstTaxonomyId =
    kFirstProbeKeyId + static_cast<uint32_t>(ProbeKey::kCount);

constexpr uint32_t IdOf(ProbeKey key) { return kFirstProbeKeyId + static_cast<uint32_t>(key); }
constexpr bool IsProbeKeyId(uint32_t id) { return id >= kFirstProbeKeyId && id < kFirstTaxonomyId; }
// Returns whether a number is an address of code: of an instruction, or the start of a function.
constexpr bool IsCodeAddress(ProbeKey key) { return key <= ProbeKey::kPathStart; }
constexpr bool IsText(ProbeKey key) {
  return key == ProbeKey::kInsn || key == ProbeKey::kName || key == ProbeKey::kModule;
}
constexpr ProbeKey ProbeKeyFromId(uint32_t id) {
  return static_cast<ProbeKey>(id - kFirstProbeKeyId);
}

class ProductionKeys : public ExpressionKeys {
 public:
  // The taxonomies must outlive this object.
  explicit ProductionKeys(std::span<const Taxonomy> taxonomies) : taxonomies_(taxonomies) {}

  std::optional<ExpressionKey> Find(std::string_view name) const override;
  std::vector<std::string_view> Names() const override;
  std::string WhereListed() const override {
    return "; docs/guide/productions.md lists classes and operands, 'hbbp mix --help' properties";
  }
  uint32_t WordCount(uint32_t id) const override;
  std::string_view WordAt(uint32_t id, uint32_t word) const override;
  std::optional<uint32_t> FindSynonym(uint32_t id, std::string_view word) const override;

 private:
  const Taxonomy& TaxonomyOf(uint32_t id) const { return taxonomies_[id - kFirstTaxonomyId]; }

  std::span<const Taxonomy> taxonomies_;
};

// What the instruction alone says about a flag: 0, 1, or nothing if it depends on the execution.
std::optional<bool> StaticFlag(const ProbedInstruction& instruction, ProbeKey key);

// The values of all keys for one execution, for Expression::Matches.
class EventValues {
 public:
  EventValues(std::span<const Taxonomy> taxonomies, const InstructionEvent& event,
              const BurstState& state)
      : taxonomies_(taxonomies), event_(event), state_(state) {}

  uint64_t NumberOf(uint32_t id) const {
    if (id < kFirstProbeKeyId) {
      return PropertyNumber(event_.instruction->properties, static_cast<Property>(id));
    }
    if (id < kFirstTaxonomyId) return NumberOf(ProbeKeyFromId(id));
    return taxonomies_[id - kFirstTaxonomyId].GroupOf(event_.instruction->properties);
  }
  uint64_t NumberOf(ProbeKey key) const;

  template <typename Fits>
  bool AnyText(uint32_t id, uint32_t, Fits&& fits) const {
    if (id == IdOf(ProbeKey::kName)) return fits(event_.instruction->name);
    if (id == IdOf(ProbeKey::kModule)) return fits(event_.instruction->module);
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<char, 2 * kMaxInstructionLength> text;
    size_t size = 0;
    for (const uint8_t byte : event_.instruction->code()) {
      text[size++] = kDigits[byte >> 4];
      text[size++] = kDigits[byte & 15];
    }
    return fits(std::string_view(text.data(), size));
  }

 protected:
  std::span<const Taxonomy> taxonomies_;
  const InstructionEvent& event_;
  const BurstState& state_;
};

// The values that are known before an execution: of the instruction, and the flags of the state.
class StaticValues : public EventValues {
 public:
  using EventValues::EventValues;
  bool Knows(uint32_t id) const;
};

// The values of an execution of which the stream does not know all.
class KnownValues : public EventValues {
 public:
  using EventValues::EventValues;
  bool Knows(uint32_t id) const {
    return !IsProbeKeyId(id) || (event_.unknown & SetOf(ProbeKeyFromId(id))) == 0;
  }
  // Of an unknown number: what it is at least.
  uint64_t Minimum(uint32_t id) const { return id == IdOf(ProbeKey::kReuse) ? event_.reuse : 0; }
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_PRODUCTION_KEYS_H_
