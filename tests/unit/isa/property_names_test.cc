#include "isa/property_names.h"

#include <set>
#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("properties are found by their names") {
  for (int i = 0; i < static_cast<int>(Property::kCount); ++i) {
    const auto property = static_cast<Property>(i);
    CHECK(FindProperty(NameOf(property)) == property);
  }
  CHECK_FALSE(FindProperty("nothing").has_value());
  CHECK_FALSE(FindProperty("").has_value());
}

TEST_CASE("the words of a property differ") {
  for (int i = 0; i < static_cast<int>(Property::kCount); ++i) {
    const auto property = static_cast<Property>(i);
    INFO(NameOf(property));
    CHECK(IsNumber(property) == (WordCount(property) == 0));
    std::set<std::string_view> words;
    for (uint32_t word = 0; word < WordCount(property); ++word) {
      const std::string_view text = WordAt(property, word);
      CHECK_FALSE(text.empty());
      CHECK(words.insert(text).second);
    }
    CHECK(WordAt(property, WordCount(property)).empty());
  }
}

TEST_CASE("values are words or numbers") {
  const uint8_t code[] = {0xf0, 0x48, 0x83, 0x41, 0x08, 0x05};  // lock add qword [rcx+8], 5
  InstructionProperties properties;
  REQUIRE(DescribeInstruction(code, &properties));
  const auto text = [&](Property property) {
    const PropertyValue value = FindValue(properties, property);
    CHECK_FALSE(value.is_number);
    CHECK(value.text == WordAt(property, value.number));
    return value.text;
  };
  const auto number = [&](Property property) {
    const PropertyValue value = FindValue(properties, property);
    CHECK(value.is_number);
    CHECK(value.text.empty());
    return value.number;
  };
  CHECK(text(Property::kMnemonic) == "add");
  CHECK(text(Property::kExtension) == "base");
  CHECK(text(Property::kCategory) == "atomic");
  CHECK(text(Property::kEncoding) == "legacy");
  CHECK(text(Property::kPacking) == "none");
  CHECK(text(Property::kElement) == "integer");
  CHECK(number(Property::kElementBits) == 64);
  CHECK(number(Property::kVectorBits) == 0);
  CHECK(number(Property::kOperands) == 2);
  CHECK(text(Property::kOperandKinds) == "mem-imm");
  CHECK(text(Property::kMemory) == "read-write");
  CHECK(number(Property::kReadBytes) == 8);
  CHECK(number(Property::kWrittenBytes) == 8);
  CHECK(number(Property::kFlops) == 0);
  CHECK(text(Property::kMasking) == "none");
  CHECK(text(Property::kBroadcast) == "no");
  CHECK(text(Property::kLock) == "yes");
  CHECK(text(Property::kRepeat) == "no");
  CHECK(text(Property::kImmediate) == "yes");
  CHECK(number(Property::kImmediateBits) == 8);
  CHECK(text(Property::kAddressing) == "base-disp");
  CHECK(text(Property::kAvx512vl) == "no");
  CHECK(number(Property::kLength) == 6);
}

}  // namespace
}  // namespace hbbp
