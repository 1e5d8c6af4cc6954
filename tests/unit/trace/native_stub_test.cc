// Tests DescribeNative(): which registers, flags and memory an instruction reads and writes, which
// instructions it refuses, and the stubs that it writes into a NativeRegion. Inputs are single
// encodings; Describe() returns the description of one. native_differential_test.cc tests that
// stubs compute what the processor does.
#include "trace/native/native_stub.h"

#include <Zydis/Zydis.h>

#include <cstring>
#include <memory>
#include <vector>

#include "support/catch.h"
#include "unit/trace/instruction_case.h"
#include "unit/trace/instruction_forms.h"

namespace hbbp::testing {
namespace {

using namespace trace;  // NOLINT(google-build-using-namespace): the names of machine_state.h

using Bytes = std::vector<uint8_t>;

struct RegionDeleter {
  void operator()(NativeRegion* region) const { NativeRegion::Destroy(region); }
};
using RegionPointer = std::unique_ptr<NativeRegion, RegionDeleter>;

RegionPointer NewRegion(size_t bytes = 1 << 20) {
  return RegionPointer(NativeRegion::Create(bytes));
}

bool IsDescribed(const Bytes& code) {
  NativeInstruction native;
  return DescribeNative(code.data(), code.size(), 0x400000, nullptr, &native);
}

NativeInstruction Describe(const Bytes& code, NativeRegion* region = nullptr) {
  NativeInstruction native;
  INFO(TextOf(code));
  REQUIRE(DescribeNative(code.data(), code.size(), 0x400000, region, &native));
  CHECK(native.length == code.size());
  return native;
}

constexpr RegisterSet kNoVectors = 0xffffffff;

}  // namespace

TEST_CASE("effects of instructions are described without a region") {
  const NativeInstruction adc =
      Describe({0x48, 0x13, 0x44, 0x8d, 0x10});  // adc rax, [rbp+4*rcx+16]
  CHECK(adc.has_memory);
  CHECK(adc.reads_memory);
  CHECK_FALSE(adc.writes_memory);
  CHECK(adc.memory_bytes == 8);
  CHECK(adc.alignment == 1);
  CHECK(adc.base == kRbp);
  CHECK(adc.index == kRcx);
  CHECK(adc.scale == 2);
  CHECK(adc.displacement == 16);
  CHECK(adc.segment == 0);
  CHECK(adc.reads == (GprBit(kRax) | kCfBit));
  CHECK(adc.writes == (GprBit(kRax) | kFlagBits));
  CHECK(adc.execute == nullptr);
}

TEST_CASE("addresses are described") {
  // addps xmm1, [rip + 0x100]
  const NativeInstruction relative = Describe({0x0f, 0x58, 0x0d, 0x00, 0x01, 0x00, 0x00});
  CHECK(relative.base == kNoGpr);
  CHECK(relative.index == kNoGpr);
  CHECK(relative.displacement == 0x400000 + 7 + 0x100);
  CHECK(relative.alignment == 16);
  // xadd fs:[0x10], ecx
  const NativeInstruction thread = Describe({0x64, 0x0f, 0xc1, 0x0c, 0x25, 0x10, 0x00, 0x00, 0x00});
  CHECK(thread.segment == 1);
  CHECK(thread.displacement == 0x10);
  CHECK(thread.writes_memory);
  // vpaddd zmm1, zmm2, [rax + 0x40]: a compressed displacement
  const NativeInstruction compressed = Describe({0x62, 0xf1, 0x6d, 0x48, 0xfe, 0x48, 0x01});
  CHECK(compressed.displacement == 64);
  CHECK(compressed.memory_bytes == 64);
  // vpaddd zmm1, zmm2, [rax]{1to16}
  CHECK(Describe({0x62, 0xf1, 0x6d, 0x58, 0xfe, 0x08}).memory_bytes == 4);
  // maskmovdqu xmm1, xmm2
  const NativeInstruction implicit = Describe({0x66, 0x0f, 0xf7, 0xca});
  CHECK(implicit.base == kRdi);
  CHECK(implicit.reads_memory);
  CHECK(implicit.writes_memory);
  CHECK(implicit.reads == (VectorBit(1) | VectorBit(2)));
  // fld tbyte [rax]
  CHECK(Describe({0xdb, 0x28}).memory_bytes == 10);
}

TEST_CASE("stores under a mask keep the rest") {
  // vmovdqu8 [rax]{k1}, zmm2
  const NativeInstruction evex = Describe({0x62, 0xf1, 0x7f, 0x49, 0x7f, 0x10});
  CHECK(evex.reads_memory);
  CHECK(evex.writes_memory);
  CHECK(evex.reads == (VectorBit(2) | MaskBit(1)));
  // vmaskmovps [rax], ymm1, ymm2
  CHECK(Describe({0xc4, 0xe2, 0x75, 0x2e, 0x10}).reads_memory);
  // vmovdqu8 [rax], zmm2
  CHECK_FALSE(Describe({0x62, 0xf1, 0x7f, 0x48, 0x7f, 0x10}).reads_memory);
}

TEST_CASE("what results do not depend on is not read") {
  CHECK(Describe({0x31, 0xc0}).reads == 0);                                // xor eax, eax
  CHECK(Describe({0x30, 0xc0}).reads == GprBit(kRax));                     // xor al, al
  CHECK(Describe({0x19, 0xc0}).reads == kCfBit);                           // sbb eax, eax
  CHECK(Describe({0x66, 0x0f, 0xef, 0xc9}).reads == 0);                    // pxor xmm1, xmm1
  CHECK(Describe({0x66, 0x0f, 0x76, 0xc9}).reads == 0);                    // pcmpeqd xmm1, xmm1
  CHECK(Describe({0xc5, 0xe9, 0xef, 0xca}).reads == 0);                    // vpxor xmm1, xmm2, xmm2
  CHECK(Describe({0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xff}).reads == 0);  // vpternlogd ..., 0xff
  // vpternlogd zmm1{k1}, zmm2, zmm3, 0xff
  CHECK(Describe({0x62, 0xf3, 0x6d, 0x49, 0x25, 0xcb, 0xff}).reads == (VectorBit(1) | MaskBit(1)));
  // vpternlogd zmm1, zmm2, zmm3, 0x55: not zmm3
  CHECK(Describe({0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0x55}).reads == VectorBit(3));
  CHECK(Describe({0x66, 0x0f, 0xef, 0xca}).reads == (VectorBit(1) | VectorBit(2)));
  CHECK(Describe({0x0f, 0x57, 0xca}).reads == (VectorBit(1) | VectorBit(2)));
}

TEST_CASE("partial writes read the register") {
  CHECK((Describe({0x66, 0x0f, 0x70, 0xca, 0x4e}).reads & VectorBit(1)) != 0);  // pshufd xmm1, xmm2
  CHECK((Describe({0xc5, 0xf9, 0x70, 0xca, 0x4e}).reads & VectorBit(1)) == 0);  // vpshufd
  CHECK((Describe({0x0f, 0x94, 0xc0}).reads & GprBit(kRax)) != 0);              // sete al
  CHECK((Describe({0x0f, 0xb6, 0xc1}).reads & GprBit(kRax)) == 0);              // movzx eax, cl
  CHECK((Describe({0x0f, 0x44, 0xc1}).reads & GprBit(kRax)) != 0);              // cmove eax, ecx
  CHECK((Describe({0x0f, 0xbc, 0xc1}).reads & GprBit(kRax)) != 0);              // bsf eax, ecx
  // Shifts by zero keep the flags.
  CHECK((Describe({0xd3, 0xe0}).reads & kFlagBits) == kFlagBits);  // shl eax, cl
  CHECK((Describe({0xc1, 0xe0, 3}).reads & kFlagBits) == 0);
  CHECK((Describe({0xc1, 0xe0, 32}).reads & kFlagBits) != 0);
}

TEST_CASE("floating-point state is described") {
  const NativeInstruction addsd = Describe({0xf2, 0x0f, 0x58, 0xca});
  CHECK(addsd.may_raise_sse);
  CHECK_FALSE(addsd.may_raise_x87);
  CHECK((addsd.reads & addsd.writes & kMxcsrBit) != 0);
  CHECK_FALSE(Describe({0x66, 0x0f, 0xfe, 0xca}).may_raise_sse);       // paddd
  CHECK_FALSE(Describe({0xf2, 0x0f, 0x2a, 0xc8}).writes & kMxcsrBit);  // cvtsi2sd xmm1, eax: exact
  const NativeInstruction fadd = Describe({0xd8, 0xc1});
  CHECK(fadd.may_raise_x87);
  CHECK(fadd.reads == kX87Bit);
  CHECK(fadd.writes == kX87Bit);
  const NativeInstruction fcomi = Describe({0xdb, 0xf1});
  CHECK((fcomi.writes & kNoVectors) ==
        (kX87Bit | kZfBit | kPfBit | kCfBit | kOfBit | kSfBit | kAfBit));
  CHECK(Describe({0x0f, 0xae, 0x18}).reads == kMxcsrBit);   // stmxcsr [rax]
  CHECK(Describe({0x0f, 0xae, 0x10}).writes == kMxcsrBit);  // ldmxcsr [rax]
}

TEST_CASE("instructions whose effects are not known are refused") {
  CHECK_FALSE(IsDescribed({0x0f, 0x05}));                    // syscall
  CHECK_FALSE(IsDescribed({0xf4}));                          // hlt
  CHECK_FALSE(IsDescribed({0xcc}));                          // int3
  CHECK_FALSE(IsDescribed({0xec}));                          // in al, dx
  CHECK_FALSE(IsDescribed({0x0f, 0x30}));                    // wrmsr
  CHECK_FALSE(IsDescribed({0x9d}));                          // popfq
  CHECK_FALSE(IsDescribed({0x8e, 0xd8}));                    // mov ds, eax
  CHECK_FALSE(IsDescribed({0x0f, 0xae, 0x20}));              // xsave [rax]
  CHECK_FALSE(IsDescribed({0x0f, 0xc7, 0x20}));              // xsavec [rax]
  CHECK_FALSE(IsDescribed({0x0f, 0xae, 0x00}));              // fxsave [rax]
  CHECK_FALSE(IsDescribed({0xd9, 0x30}));                    // fnstenv [rax]
  CHECK_FALSE(IsDescribed({0xdd, 0x30}));                    // fnsave [rax]
  CHECK_FALSE(IsDescribed({0xf3, 0x0f, 0xae, 0xd0}));        // wrfsbase eax
  CHECK_FALSE(IsDescribed({0xc7, 0xf8, 0, 0, 0, 0}));        // xbegin
  CHECK_FALSE(IsDescribed({0x0f, 0xab, 0x08}));              // bts [rax], ecx
  CHECK_FALSE(IsDescribed({0x67, 0x01, 0x08}));              // add [eax], ecx
  CHECK_FALSE(IsDescribed({0x0f, 0x01, 0xef}));              // wrpkru
  CHECK_FALSE(IsDescribed({0xc4, 0xe2, 0x7b, 0x49, 0xc0}));  // tilezero tmm0
  // vpscatterdd [rax + zmm2]{k1}, zmm1
  CHECK_FALSE(IsDescribed({0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x0c, 0x10}));
  CHECK_FALSE(IsDescribed({0x66, 0x63, 0x08}));  // movsxd cx, [rax]
  CHECK_FALSE(IsDescribed({0x06}));              // no instruction
  CHECK_FALSE(IsDescribed({0x48, 0x0f}));        // not all of one
}

TEST_CASE("results that cannot be computed are described as written") {
  const RegionPointer region = NewRegion();
  const auto unknown = [&](const Bytes& code) {
    const NativeInstruction native = Describe(code, region.get());
    CHECK(native.execute == nullptr);
    CHECK_FALSE(native.writes_memory);
    return native.writes;
  };
  constexpr RegisterSet kRaxRdx = GprBit(kRax) | GprBit(kRdx);
  CHECK(unknown({0x0f, 0x31}) == kRaxRdx);                                  // rdtsc
  CHECK(unknown({0x0f, 0x01, 0xf9}) == (kRaxRdx | GprBit(kRcx)));           // rdtscp
  CHECK(unknown({0x0f, 0xa2}) == (kRaxRdx | GprBit(kRcx) | GprBit(kRbx)));  // cpuid
  CHECK(unknown({0x0f, 0x01, 0xd0}) == kRaxRdx);                            // xgetbv
  CHECK(unknown({0x48, 0x0f, 0xc7, 0xf1}) == (GprBit(kRcx) | kFlagBits));   // rdrand rcx
  CHECK(unknown({0xf3, 0x48, 0x0f, 0xc7, 0xf9}) == GprBit(kRcx));           // rdpid rcx
  CHECK(unknown({0x48, 0x0f, 0xaf, 0xe1}) == (GprBit(kRsp) | kFlagBits));   // imul rsp, rcx
  CHECK((unknown({0x0f, 0xa3, 0x08}) & kCfBit) != 0);                       // bt [rax], ecx
  // vpgatherdd ymm1, [rax + ymm2], ymm3
  const Bytes gather = {0xc4, 0xe2, 0x65, 0x90, 0x0c, 0x10};
  CHECK(unknown(gather) == (VectorBit(1) | VectorBit(3)));
  CHECK_FALSE(Describe(gather).has_memory);
  CHECK(Describe(gather).reads == (VectorBit(1) | VectorBit(2) | VectorBit(3) | GprBit(kRax)));
  // vpgatherdd zmm1{k1}, [rax + zmm2]
  CHECK(unknown({0x62, 0xf2, 0x7d, 0x49, 0x90, 0x0c, 0x10}) == (VectorBit(1) | MaskBit(1)));
}

TEST_CASE("hints do nothing") {
  const std::vector<Bytes> hints = {{0x90},
                                    {0xf3, 0x90},                          // pause
                                    {0xf3, 0x0f, 0x1e, 0xfa},              // endbr64
                                    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},  // nop word [rax + rax]
                                    {0x0f, 0x18, 0x08},                    // prefetcht0 [rax]
                                    {0x0f, 0xae, 0xf0},                    // mfence
                                    {0x0f, 0xae, 0x38}};                   // clflush [rax]
  for (const Bytes& code : hints) {
    const NativeInstruction native = Describe(code);
    CHECK_FALSE(native.has_memory);
    CHECK(native.reads == 0);
    CHECK(native.writes == 0);
  }
}

TEST_CASE("equal instructions share a stub") {
  const RegionPointer region = NewRegion();
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  const NativeInstruction one = Describe({0x48, 0x13, 0x03}, region.get());  // adc rax, [rbx]
  const size_t used = region->used_bytes();
  CHECK(used > 0);
  REQUIRE(one.execute != nullptr);
  CHECK(region->Contains(reinterpret_cast<uint64_t>(one.execute)));
  const std::vector<Bytes> same = {
      {0x48, 0x13, 0x04, 0x8d, 0x10, 0, 0, 0},  // adc rax, [4 * rcx + 16]
      {0x48, 0x13, 0x05, 0, 0, 0, 0},           // adc rax, [rip]
      {0x49, 0x13, 0x43, 0x10},                 // adc rax, [r11 + 16]
      {0x64, 0x48, 0x13, 0x45, 0x00}};          // adc rax, fs:[rbp]
  for (const Bytes& code : same) {
    CHECK(Describe(code, region.get()).execute == one.execute);
  }
  CHECK(region->used_bytes() == used);
  CHECK(Describe({0x48, 0x13, 0x0b}, region.get()).execute != one.execute);  // adc rcx, [rbx]
  CHECK(region->used_bytes() > used);
  CHECK_FALSE(region->Contains(reinterpret_cast<uint64_t>(&NewRegion)));
}

TEST_CASE("a full region leaves results unknown") {
  const RegionPointer region = NewRegion(4096);
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  size_t made = 0;
  for (unsigned i = 1; i < 256; ++i) {
    const NativeInstruction native =
        Describe({0x48, 0x69, 0xc1, static_cast<uint8_t>(i), 0, 0, 0}, region.get());
    CHECK(native.writes == (GprBit(kRax) | kFlagBits));
    if (native.execute != nullptr) ++made;
  }
  CHECK(made > 10);
  CHECK(made < 100);
  CHECK(region->used_bytes() <= 4096);
  CHECK(Describe({0x48, 0x69, 0xc1, 1, 0, 0, 0}, region.get()).execute != nullptr);
}

TEST_CASE("stubs use no wider instructions than the one that they are for") {
  const RegionPointer region = NewRegion(size_t{4} << 20);
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  size_t checked = 0;
  for (const InstructionBytes& code : AssembledInstructions()) {
    NativeInstruction native;
    REQUIRE(DescribeNative(code.data(), code.size(), 0, region.get(), &native));
    // Other code is the compiler's, which may use all features of this machine.
    if (!region->Contains(reinterpret_cast<uint64_t>(native.execute))) continue;
    INFO(TextOf(code));
    ZydisDecodedInstruction own;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    REQUIRE(
        ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &own, operands)));
    const auto* at = reinterpret_cast<const uint8_t*>(native.execute);
    bool has_ymm = false;
    bool clears_upper = false;
    for (;;) {
      ZydisDecodedInstruction part;
      REQUIRE(ZYAN_SUCCESS(
          ZydisDecoderDecodeFull(&decoder, at, ZYDIS_MAX_INSTRUCTION_LENGTH, &part, operands)));
      at += part.length;
      if (part.mnemonic == ZYDIS_MNEMONIC_RET) break;
      if (part.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) CHECK(own.encoding == part.encoding);
      if (part.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
        CHECK(own.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY);
      }
      if (own.avx.vector_length != 512) CHECK(part.avx.vector_length != 512);
      clears_upper = clears_upper || part.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER;
      // A store does not make the upper halves dirty.
      has_ymm = has_ymm || (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                            ZydisRegisterGetClass(operands[0].reg.value) == ZYDIS_REGCLASS_YMM);
    }
    if (has_ymm) CHECK(clears_upper);
    ++checked;
  }
  CHECK(checked > 1000);
}

}  // namespace hbbp::testing
