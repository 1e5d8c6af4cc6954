// Properties of instructions by name, for filters, pivot tables and groups.
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

// "mnemonic", "element-bits".
std::string_view NameOf(Property property);
std::optional<Property> FindProperty(std::string_view name);

// Properties are numbers, or one of a fixed list of words, which are numbered.
bool IsNumber(Property property);

// The number, or the number of the word. Takes a few nanoseconds.
uint64_t NumberOf(const InstructionProperties& properties, Property property);

// How many words there are, 0 if it is a number; and the word, which lives as long as the process.
// Words of mnemonics are numbered as Mnemonic is, with gaps: "(bad)" where there is none.
uint32_t WordCount(Property property);
std::string_view WordAt(Property property, uint64_t word);

struct PropertyValue {
  bool is_number = false;
  uint64_t number = 0;    // also the number of a word
  std::string_view text;  // a word, empty for a number; lives as long as the process
};

PropertyValue ValueOf(const InstructionProperties& properties, Property property);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_PROPERTY_NAMES_H_
