// Tests the divisors of div and idiv.
#include "probes/divisor_operand.h"

#include "support/catch.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

uint64_t DivisorOf(const Code& code) {
  std::array<uint64_t, 16> registers{};
  registers[1] = 0xfedcba98'87654321;   // rcx
  registers[3] = 0x80;                  // rbx
  registers[15] = 0xffffffff'fffffffd;  // r15
  return FindDivisorOperand(code).Value(registers, 0x99aabbcc'ddeeff11);
}

TEST_CASE("divisor: as many bits of a register as the instruction has") {
  CHECK(DivisorOf({0xf6, 0xf1}) == 0x21);                      // div cl
  CHECK(DivisorOf({0xf6, 0xf5}) == 0x43);                      // div ch
  CHECK(DivisorOf({0x40, 0xf6, 0xf3}) == 0x80);                // div bl
  CHECK(DivisorOf({0x66, 0xf7, 0xf1}) == 0x4321);              // div cx
  CHECK(DivisorOf(kDiv) == 0x87654321);                        // div ecx
  CHECK(DivisorOf({0x48, 0xf7, 0xf1}) == 0xfedcba9887654321);  // div rcx
  CHECK(DivisorOf({0x49, 0xf7, 0xf7}) == 0xfffffffffffffffd);  // div r15
}

TEST_CASE("divisor: idiv has its sign in all bits") {
  CHECK(DivisorOf({0xf6, 0xfb}) == static_cast<uint64_t>(-0x80));     // idiv bl
  CHECK(DivisorOf({0xf6, 0xf9}) == 0x21);                             // idiv cl
  CHECK(DivisorOf({0xf7, 0xf9}) == 0xffffffff87654321);               // idiv ecx
  CHECK(DivisorOf({0x41, 0xf7, 0xff}) == static_cast<uint64_t>(-3));  // idiv r15d
  CHECK(DivisorOf({0x49, 0xf7, 0xff}) == static_cast<uint64_t>(-3));  // idiv r15
}

TEST_CASE("divisor: from memory") {
  CHECK(DivisorOf({0xf6, 0x31}) == 0x11);                      // div byte [rcx]
  CHECK(DivisorOf({0x66, 0xf7, 0x39}) == 0xffffffffffffff11);  // idiv word [rcx]
  CHECK(DivisorOf({0xf7, 0x31}) == 0xddeeff11);                // div dword [rcx]
  CHECK(DivisorOf({0x48, 0xf7, 0x31}) == 0x99aabbccddeeff11);  // div qword [rcx]
}

TEST_CASE("divisor: other instructions have none") {
  for (const Code& code : {kNop, kLoad, Code{0xf7, 0xe1}, Code{0xf2, 0x0f, 0x5e, 0xc1},
                           Code{}}) {  // mul ecx, divsd, no instruction
    CHECK(FindDivisorOperand(code).bits == 0);
    CHECK(DivisorOf(code) == 0);
  }
}

}  // namespace
}  // namespace hbbp
