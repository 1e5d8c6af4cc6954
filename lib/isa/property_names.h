// Finds properties of instructions by name, for filters, pivot tables and groups.
#ifndef HBBP_LIB_ISA_PROPERTY_NAMES_H_
#define HBBP_LIB_ISA_PROPERTY_NAMES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "isa/instruction_properties.h"

namespace hbbp {

enum class Property : uint8_t {
  kMnemonic,
  kExtension,
  kCategory,
  kEncoding,
  kPacking,
  kElement,
  kElementBits,
  kVectorBits,
  kOperands,
  kOperandKinds,
  kMemory,
  kReadBytes,
  kWrittenBytes,
  kFlops,
  kMasking,
  kBroadcast,
  kLock,
  kRepeat,
  kImmediate,
  kImmediateBits,
  kAddressing,
  kAvx512vl,
  kLength,
  kCount,
};

// Returns a name such as "mnemonic" or "element-bits".
std::string_view NameOf(Property property);
std::optional<Property> FindProperty(std::string_view name);

// A property is a number, or one of a fixed list of words, which are numbered.
bool IsNumber(Property property);

// Returns the number, or the number of the word. Takes a few nanoseconds.
uint64_t PropertyNumber(const InstructionProperties& properties, Property property);

// Return the number of words, which is 0 if the property is a number, and a word, which lives as
// long as the process. Words of mnemonics are numbered as Mnemonic is; gaps have the word "(bad)".
uint32_t WordCount(Property property);
std::string_view WordAt(Property property, uint64_t word);

struct PropertyValue {
  bool is_number = false;
  uint64_t number = 0;    // the number, or the number of the word
  std::string_view text;  // the word, or empty for a number; lives as long as the process
};

PropertyValue FindValue(const InstructionProperties& properties, Property property);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_PROPERTY_NAMES_H_
