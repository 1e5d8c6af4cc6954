#include "unit/trace/state_difference.h"

#include <cstdio>
#include <cstring>

namespace hbbp::testing {
namespace {

std::string Hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = size; i-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

void AddBytes(const char* name, unsigned number, const void* expected, const void* actual,
              size_t size, std::string* text) {
  if (std::memcmp(expected, actual, size) == 0) return;
  *text += std::string("  ") + name + std::to_string(number) + ": " +
           Hex(static_cast<const uint8_t*>(expected), size) +
           " != " + Hex(static_cast<const uint8_t*>(actual), size) + "\n";
}

}  // namespace

std::string FindDifference(const trace::MachineState& expected, const trace::MachineState& actual,
                           uint64_t flags) {
  std::string text;
  for (unsigned i = 0; i < 16; ++i) {
    AddBytes("gpr", i, &expected.gpr[i], &actual.gpr[i], 8, &text);
  }
  const uint64_t expected_flags = expected.flags & flags;
  const uint64_t actual_flags = actual.flags & flags;
  AddBytes("flags", 0, &expected_flags, &actual_flags, 8, &text);
  AddBytes("mxcsr", 0, &expected.mxcsr, &actual.mxcsr, 4, &text);
  for (unsigned i = 0; i < 8; ++i) AddBytes("k", i, &expected.k[i], &actual.k[i], 8, &text);
  for (unsigned i = 0; i < 32; ++i) AddBytes("zmm", i, expected.zmm[i], actual.zmm[i], 64, &text);
  constexpr size_t kControlStatusTag = 5;
  constexpr size_t kFirstRegister = 32;
  AddBytes("x87 control, status, tag ", 0, expected.fxsave, actual.fxsave, kControlStatusTag,
           &text);
  for (unsigned i = 0; i < 8; ++i) {
    const size_t offset = kFirstRegister + 16 * i;
    AddBytes("st", i, expected.fxsave + offset, actual.fxsave + offset, 10, &text);
  }
  return text;
}

}  // namespace hbbp::testing
