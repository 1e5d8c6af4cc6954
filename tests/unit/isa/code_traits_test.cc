#include "isa/code_traits.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Code = std::vector<uint8_t>;

TEST_CASE("instructions go to memory if they load or store, not if they only name it") {
  CHECK(CountCodeTraits(Code{0x03, 0x01}).memory == 1);              // add eax, [rcx]
  CHECK(CountCodeTraits(Code{0x89, 0x01}).memory == 1);              // mov [rcx], eax
  CHECK(CountCodeTraits(Code{0xf3, 0xa4}).memory == 1);              // rep movsb
  CHECK(CountCodeTraits(Code{0xab}).memory == 1);                    // stosd
  CHECK(CountCodeTraits(Code{0x01, 0xc8}).memory == 0);              // add eax, ecx
  CHECK(CountCodeTraits(Code{0x8d, 0x01}).memory == 0);              // lea eax, [rcx]
  CHECK(CountCodeTraits(Code{0x0f, 0x1f, 0x40, 0x00}).memory == 0);  // nop dword [rax]
  CHECK(CountCodeTraits(Code{0x50}).memory == 0);                    // push rax
  CHECK(CountCodeTraits(Code{0xa8, 0x01}).memory == 0);              // test al, 1
}

TEST_CASE("divisions are of integers, of SSE and AVX, and of the x87") {
  for (const Code& code : {Code{0xf7, 0xf1},              // div ecx
                           Code{0xf7, 0xf9},              // idiv ecx
                           Code{0xf2, 0x0f, 0x5e, 0xc1},  // divsd xmm0, xmm1
                           Code{0xc5, 0xfc, 0x5e, 0xc1},  // vdivps ymm0, ymm0, ymm1
                           Code{0xde, 0xf9}}) {           // fdivp st(1), st
    const CodeTraits traits = CountCodeTraits(code);
    CHECK(traits.divisions == 1);
    CHECK(traits.long_latency == 1);
    CHECK(traits.instructions == 1);
  }
  CHECK(CountCodeTraits(Code{0xf7, 0xe1}).divisions == 0);  // mul ecx
}

TEST_CASE("square roots, locks and the like are slow, but no divisions") {
  for (const Code& code : {Code{0xf2, 0x0f, 0x51, 0xc0},  // sqrtsd xmm0, xmm0
                           Code{0xd9, 0xfe},              // fsin
                           Code{0xf0, 0x01, 0x01},        // lock add [rcx], eax
                           Code{0x87, 0x01},              // xchg [rcx], eax
                           Code{0x0f, 0xa2}}) {           // cpuid
    CHECK(CountCodeTraits(code).long_latency == 1);
    CHECK(CountCodeTraits(code).divisions == 0);
  }
  CHECK(CountCodeTraits(Code{0x87, 0xc8}).long_latency == 0);  // xchg eax, ecx
}

TEST_CASE("a block is the sum of its instructions, up to what cannot be decoded") {
  const CodeTraits traits = CountCodeTraits(Code{0x03, 0x01,    // add eax, [rcx]
                                                 0xf7, 0xf1,    // div ecx
                                                 0xff, 0x10,    // call [rax]
                                                 0x06, 0x90});  // not in 64-bit mode; nop
  CHECK(traits.instructions == 3);
  CHECK(traits.memory == 2);
  CHECK(traits.divisions == 1);
  CHECK(traits.calls == 1);
  CHECK(CountCodeTraits({}).instructions == 0);
}

}  // namespace
}  // namespace hbbp
