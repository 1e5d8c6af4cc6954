#include "isa/disassembly.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

std::string Disassemble(std::vector<uint8_t> code, uint64_t address = 0x1000) {
  return InstructionText(code, address);
}

TEST_CASE("Instructions read as Intel writes them", "[disassembly]") {
  CHECK(Disassemble({0x90}) == "nop");
  CHECK(Disassemble({0x48, 0x8b, 0x45, 0xf8}) == "mov rax, qword ptr [rbp-0x8]");
  CHECK(Disassemble({0x74, 0x0e}) == "je 0x1010");
  CHECK(Disassemble({0xa4}) == "movsb");
  CHECK(Disassemble({0xcb}) == "ret far");
  CHECK(Disassemble({0xff, 0x28}) == "jmp far fword ptr [rax]");
  CHECK(Disassemble({0xe8, 0xfb, 0xff, 0xff, 0xff}) == "call 0x1000");
  CHECK(Disassemble({0x48, 0x8d, 0x05, 0x00, 0x01, 0x00, 0x00}) == "lea rax, [0x1107]");
  CHECK(Disassemble({0xc5, 0xfc, 0x58, 0xc1}) == "vaddps ymm0, ymm0, ymm1");
  CHECK(Disassemble({0xf0, 0x48, 0x0f, 0xc1, 0x07}) == "lock xadd qword ptr [rdi], rax");
}

TEST_CASE("Bytes that are not an instruction have no text", "[disassembly]") {
  CHECK(Disassemble({}).empty());
  CHECK(Disassemble({0x0f}).empty());
  CHECK(Disassemble({0x06}).empty());
}

}  // namespace
}  // namespace hbbp
