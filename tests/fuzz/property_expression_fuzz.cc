// Parses any text as a filter expression and tests it on some instructions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "isa/property_expression.h"

namespace {

hbbp::InstructionProperties Describe(std::span<const uint8_t> code) {
  hbbp::InstructionProperties properties;
  if (!hbbp::DescribeInstruction(code, &properties)) std::abort();
  return properties;
}

constexpr uint8_t kDiv[] = {0xf7, 0xf1};
constexpr uint8_t kLockXadd[] = {0xf0, 0x0f, 0xc1, 0x01};
constexpr uint8_t kVaddps[] = {0xc5, 0xf4, 0x58, 0x01};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<hbbp::InstructionProperties, 3> instructions = {
      Describe(kDiv), Describe(kLockXadd), Describe(kVaddps)};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t error_offset = 0;
  const auto expression = hbbp::Expression::Parse(text, hbbp::PropertyKeys(), &error_offset);
  if (!expression.ok()) {
    if (error_offset > size || expression.status().message().empty()) std::abort();
    return 0;
  }
  if (expression->KeyIds().empty()) std::abort();
  // One more level may be too deep.
  const auto opposite =
      hbbp::Expression::Parse("not (" + std::string(text) + ")", hbbp::PropertyKeys());
  if (!opposite.ok()) return 0;
  for (const hbbp::InstructionProperties& properties : instructions) {
    const hbbp::PropertyValues values(properties);
    if (expression->Matches(values) == opposite->Matches(values)) std::abort();
  }
  return 0;
}
