#include "isa/property_names.h"

#include <iterator>
#include <span>

#include "isa/mnemonic_table.h"
#include "isa/operand_kinds.h"

namespace hbbp {
namespace {

constexpr std::string_view kNames[] = {
    "mnemonic",      "extension",      "category",   "encoding",      "packing", "element",
    "element-bits",  "vector-bits",    "operands",   "operand-kinds", "memory",  "read-bytes",
    "written-bytes", "flops",          "masking",    "broadcast",     "lock",    "repeat",
    "immediate",     "immediate-bits", "addressing", "avx512vl",      "length",
};
static_assert(std::size(kNames) == static_cast<size_t>(Property::kCount));

constexpr std::string_view kEncodings[] = {"legacy", "3dnow", "xop", "vex", "evex"};
constexpr std::string_view kPackings[] = {"none", "scalar", "packed"};
constexpr std::string_view kElements[] = {"none",   "integer", "half",     "bfloat16",
                                          "single", "double",  "extended", "bit"};
constexpr std::string_view kMemory[] = {"none", "read", "write", "read-write"};
constexpr std::string_view kMaskings[] = {"none", "merging", "zeroing", "selecting"};
constexpr std::string_view kAddressings[] = {
    "none",  "rip-relative", "absolute", "base",  "base-disp", "base-index", "base-index-disp",
    "index", "vector",       "stack",    "string"};
constexpr std::string_view kNoYes[] = {"no", "yes"};

static_assert(std::size(kEncodings) == static_cast<size_t>(Encoding::kEvex) + 1);
static_assert(std::size(kPackings) == static_cast<size_t>(Packing::kPacked) + 1);
static_assert(std::size(kElements) == static_cast<size_t>(ElementType::kBit) + 1);
static_assert(std::size(kMemory) == static_cast<size_t>(MemoryAccess::kReadWrite) + 1);
static_assert(std::size(kMaskings) == static_cast<size_t>(Masking::kSelecting) + 1);
static_assert(std::size(kAddressings) == static_cast<size_t>(AddressForm::kString) + 1);

// Returns the words of a property whose words are listed above.
std::span<const std::string_view> WordsOf(Property property) {
  switch (property) {
    case Property::kEncoding:
      return kEncodings;
    case Property::kPacking:
      return kPackings;
    case Property::kElement:
      return kElements;
    case Property::kMemory:
      return kMemory;
    case Property::kMasking:
      return kMaskings;
    case Property::kAddressing:
      return kAddressings;
    case Property::kBroadcast:
    case Property::kLock:
    case Property::kRepeat:
    case Property::kImmediate:
    case Property::kAvx512vl:
      return kNoYes;
    default:
      return {};
  }
}

template <typename Enum>
uint64_t Ordinal(Enum value) {
  return static_cast<uint64_t>(value);
}

}  // namespace

std::string_view NameOf(Property property) { return kNames[static_cast<size_t>(property)]; }

std::optional<Property> FindProperty(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Property>(i);
  }
  return std::nullopt;
}

bool IsNumber(Property property) { return WordCount(property) == 0; }

uint64_t PropertyNumber(const InstructionProperties& properties, Property property) {
  switch (property) {
    case Property::kMnemonic:
      return Ordinal(properties.mnemonic);
    case Property::kExtension:
      return Ordinal(properties.extension);
    case Property::kCategory:
      return Ordinal(properties.category);
    case Property::kEncoding:
      return Ordinal(properties.encoding);
    case Property::kPacking:
      return Ordinal(properties.packing);
    case Property::kElement:
      return Ordinal(properties.element_type);
    case Property::kElementBits:
      return properties.element_bits;
    case Property::kVectorBits:
      return properties.vector_bits;
    case Property::kOperands:
      return properties.operands;
    case Property::kOperandKinds:
      return OperandKindsOf(properties);
    case Property::kMemory:
      return Ordinal(properties.memory);
    case Property::kReadBytes:
      return properties.read_bytes;
    case Property::kWrittenBytes:
      return properties.written_bytes;
    case Property::kFlops:
      return properties.flops;
    case Property::kMasking:
      return Ordinal(properties.masking);
    case Property::kBroadcast:
      return properties.is_broadcast;
    case Property::kLock:
      return properties.is_locked;
    case Property::kRepeat:
      return properties.is_repeated;
    case Property::kImmediate:
      return properties.has_immediate;
    case Property::kImmediateBits:
      return properties.immediate_bits;
    case Property::kAddressing:
      return Ordinal(properties.addressing);
    case Property::kAvx512vl:
      return properties.needs_avx512vl;
    case Property::kLength:
      return properties.length;
    case Property::kCount:
      break;
  }
  return 0;
}

uint32_t WordCount(Property property) {
  switch (property) {
    case Property::kMnemonic:
      return ZYDIS_MNEMONIC_MAX_VALUE + 1;
    case Property::kExtension:
      return static_cast<uint32_t>(IsaExtension::kCount);
    case Property::kCategory:
      return static_cast<uint32_t>(InstructionCategory::kCount);
    case Property::kOperandKinds:
      return kOperandKindsCount;
    default:
      return static_cast<uint32_t>(WordsOf(property).size());
  }
}

std::string_view WordAt(Property property, uint64_t word) {
  if (word >= WordCount(property)) return "";
  switch (property) {
    case Property::kMnemonic:
      return MnemonicName(static_cast<Mnemonic>(word));
    case Property::kExtension:
      return NameOf(static_cast<IsaExtension>(word));
    case Property::kCategory:
      return NameOf(static_cast<InstructionCategory>(word));
    case Property::kOperandKinds:
      return OperandKindsName(static_cast<uint32_t>(word));
    default:
      return WordsOf(property)[word];
  }
}

PropertyValue FindValue(const InstructionProperties& properties, Property property) {
  const uint64_t number = PropertyNumber(properties, property);
  if (IsNumber(property)) return {.is_number = true, .number = number, .text = {}};
  return {.is_number = false, .number = number, .text = WordAt(property, number)};
}

}  // namespace hbbp
