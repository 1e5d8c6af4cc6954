#include "isa/disassembly.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

std::string TextOf(std::vector<uint8_t> code, uint64_t address = 0x1000) {
  return InstructionText(code, address);
}

TEST_CASE("Instructions read as Intel writes them", "[disassembly]") {
  CHECK(TextOf({0x90}) == "nop");
  CHECK(TextOf({0x48, 0x8b, 0x45, 0xf8}) == "mov rax, qword ptr [rbp-0x8]");
  CHECK(TextOf({0x74, 0x0e}) == "je 0x1010");
  CHECK(TextOf({0xa4}) == "movsb");
  CHECK(TextOf({0xcb}) == "ret far");
  CHECK(TextOf({0xff, 0x28}) == "jmp far fword ptr [rax]");
  CHECK(TextOf({0xe8, 0xfb, 0xff, 0xff, 0xff}) == "call 0x1000");
  CHECK(TextOf({0x48, 0x8d, 0x05, 0x00, 0x01, 0x00, 0x00}) == "lea rax, [0x1107]");
  CHECK(TextOf({0xc5, 0xfc, 0x58, 0xc1}) == "vaddps ymm0, ymm0, ymm1");
  CHECK(TextOf({0xf0, 0x48, 0x0f, 0xc1, 0x07}) == "lock xadd qword ptr [rdi], rax");
}

TEST_CASE("What is no instruction has no text", "[disassembly]") {
  CHECK(TextOf({}).empty());
  CHECK(TextOf({0x0f}).empty());
  CHECK(TextOf({0x06}).empty());
}

}  // namespace
}  // namespace hbbp
