#include "isa/uop_estimate.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Code = std::vector<uint8_t>;

TEST_CASE("most instructions are one uop, with operands in memory too") {
  CHECK(EstimateUops(Code{0x01, 0xc8}) == 1);              // add eax, ecx
  CHECK(EstimateUops(Code{0x03, 0x01}) == 1);              // add eax, [rcx]
  CHECK(EstimateUops(Code{0x89, 0x01}) == 1);              // mov [rcx], eax
  CHECK(EstimateUops(Code{0x83, 0x39, 1}) == 1);           // cmp dword [rcx], 1
  CHECK(EstimateUops(Code{0xc5, 0xfc, 0x58, 0xc0}) == 1);  // vaddps ymm0, ymm0, ymm0
  CHECK(EstimateUops(Code{0x50}) == 1);                    // push rax
  CHECK(EstimateUops(Code{0x0f, 0xaf, 0xc1}) == 1);        // imul eax, ecx
}

TEST_CASE("what changes memory is two, locked four") {
  CHECK(EstimateUops(Code{0x01, 0x01}) == 2);              // add [rcx], eax
  CHECK(EstimateUops(Code{0x83, 0x01, 1}) == 2);           // add dword [rcx], 1
  CHECK(EstimateUops(Code{0xff, 0x01}) == 2);              // inc dword [rcx]
  CHECK(EstimateUops(Code{0xff, 0xc1}) == 1);              // inc ecx
  CHECK(EstimateUops(Code{0xc1, 0x21, 3}) == 2);           // shl dword [rcx], 3
  CHECK(EstimateUops(Code{0xf0, 0x01, 0x01}) == 4);        // lock add [rcx], eax
  CHECK(EstimateUops(Code{0xf0, 0x0f, 0xb1, 0x11}) == 4);  // lock cmpxchg [rcx], edx
}

TEST_CASE("calls, wide arithmetic and exchanges are more") {
  CHECK(EstimateUops(Code{0xe8, 0, 0, 0, 0}) == 2);  // call
  CHECK(EstimateUops(Code{0xf7, 0xf1}) == 2);        // div ecx
  CHECK(EstimateUops(Code{0xf7, 0xe9}) == 2);        // imul ecx
  CHECK(EstimateUops(Code{0x87, 0xc8}) == 2);        // xchg eax, ecx
  CHECK(EstimateUops(Code{0x87, 0x01}) == 4);        // xchg eax, [rcx]
  CHECK(EstimateUops(Code{0xff, 0x31}) == 2);        // push qword [rcx]
  CHECK(EstimateUops(Code{0xf3, 0xa4}) == 8);        // rep movsb
}

TEST_CASE("a comparison and the jump behind it are one") {
  CHECK(EstimateUops(Code{0x39, 0xc8, 0x75, 0xfc}) == 1);              // cmp, jne
  CHECK(EstimateUops(Code{0x85, 0xc0, 0x0f, 0x84, 0, 0, 0, 0}) == 1);  // test, je near
  CHECK(EstimateUops(Code{0xff, 0xc9, 0x75, 0xfc}) == 2);              // dec, jne
  CHECK(EstimateUops(Code{0x39, 0xc8, 0x90, 0x75, 0xfc}) == 3);        // cmp, nop, jne
}

TEST_CASE("a block has the uops of its instructions, and never none") {
  CHECK(EstimateUops(Code{0x01, 0xc8, 0x01, 0x01, 0xc3}) == 4);  // add, add [rcx], ret
  CHECK(EstimateUops(Code{}) == 1);
  CHECK(EstimateUops(Code{0x01, 0x01, 0x06}) == 2);  // push es is not an instruction of x86-64
}

}  // namespace
}  // namespace hbbp
