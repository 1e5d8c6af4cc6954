// Tests DescribeInstruction(): extension, category, packing, widths, memory, operands, FLOPs,
// masking, locks and repetition. Inputs are single encodings; Text() returns one property as text,
// Summary() and Memory() several, and Evex() makes encodings of AVX-512.
#include "isa/instruction_properties.h"

#include <string>
#include <vector>

#include "isa/mnemonic_traits.h"
#include "isa/operand_kinds.h"
#include "isa/property_names.h"
#include "support/catch.h"

namespace hbbp {
namespace {

using Code = std::vector<uint8_t>;

InstructionProperties Describe(const Code& code) {
  InstructionProperties properties;
  REQUIRE(DescribeInstruction(code, &properties));
  CHECK(properties.length == code.size());
  return properties;
}

std::string Text(const Code& code, Property property) {
  const PropertyValue value = FindValue(Describe(code), property);
  return value.is_number ? std::to_string(value.number) : std::string(value.text);
}

// Returns "extension category packing element element-bits vector-bits".
std::string Summary(const Code& code) {
  std::string summary;
  for (const Property property :
       {Property::kExtension, Property::kCategory, Property::kPacking, Property::kElement,
        Property::kElementBits, Property::kVectorBits}) {
    if (!summary.empty()) summary += ' ';
    summary += Text(code, property);
  }
  return summary;
}

// Returns "memory read-bytes written-bytes addressing".
std::string Memory(const Code& code) {
  std::string summary;
  for (const Property property :
       {Property::kMemory, Property::kReadBytes, Property::kWrittenBytes, Property::kAddressing}) {
    if (!summary.empty()) summary += ' ';
    summary += Text(code, property);
  }
  return summary;
}

// `opcode` follows 62 f1: p1, p2, opcode, ModRM.
Code Evex(uint8_t map, uint8_t p1, uint8_t p2, uint8_t opcode, uint8_t modrm) {
  return {0x62, map, p1, p2, opcode, modrm};
}

const Code kAddEaxEcx = {0x01, 0xc8};
const Code kLockAddMemory = {0xf0, 0x01, 0x01};                   // lock add [rcx], eax
const Code kAddsd = {0xf2, 0x0f, 0x58, 0xc1};                     // addsd xmm0, xmm1
const Code kAddpsMemory = {0x0f, 0x58, 0x01};                     // addps xmm0, [rcx]
const Code kVaddpsYmm = {0xc5, 0xf4, 0x58, 0xc2};                 // vaddps ymm0, ymm1, ymm2
const Code kFmaYmm = {0xc4, 0xe2, 0x75, 0xb8, 0xc2};              // vfmadd231ps ymm0, ymm1, ymm2
const Code kFmaSd = {0xc4, 0xe2, 0xf1, 0xb9, 0xc2};               // vfmadd231sd xmm0, xmm1, xmm2
const Code kAddpdZmm = Evex(0xf1, 0xf5, 0x48, 0x58, 0xc2);        // vaddpd zmm0, zmm1, zmm2
const Code kAddpdZeroing = Evex(0xf1, 0xf5, 0xc9, 0x58, 0xc2);    // ... zmm0 {k1}{z}
const Code kAddpdBroadcast = Evex(0xf1, 0xf5, 0x59, 0x58, 0x01);  // ... {k1}, [rcx]{1to8}
const Code kAddpdXmmMasked = Evex(0xf1, 0xf5, 0x09, 0x58, 0xc2);  // vaddpd xmm0 {k1}, xmm1, xmm2

// Their names end like those of scalar doubles.
TEST_CASE("products of tiles are packed") {
  const uint8_t prefixes[] = {0x60, 0x61, 0x62, 0x63};  // tdpbuud, tdpbusd, tdpbsud, tdpbssd
  for (const uint8_t prefix : prefixes) {
    const Code code = {0xc4, 0xe2, prefix, 0x5e, 0xca};
    CHECK(Text(code, Property::kPacking) == "packed");
    CHECK(Text(code, Property::kVectorBits) == "8192");
  }
}

TEST_CASE("extension, category, packing, element and vector width") {
  CHECK(Summary(kAddEaxEcx) == "base integer-arithmetic none integer 32 0");
  CHECK(Summary({0x48, 0x0f, 0xaf, 0xc1}) == "base integer-multiply none integer 64 0");
  CHECK(Summary(kAddsd) == "sse2 float-arithmetic scalar double 64 0");
  CHECK(Summary(kAddpsMemory) == "sse float-arithmetic packed single 32 128");
  CHECK(Summary(kVaddpsYmm) == "avx float-arithmetic packed single 32 256");
  CHECK(Summary(kFmaYmm) == "fma fma packed single 32 256");
  CHECK(Summary(kAddpdZmm) == "avx512f float-arithmetic packed double 64 512");
  CHECK(Summary({0x66, 0x0f, 0xfc, 0xc1}) == "sse2 integer-arithmetic packed integer 8 128");
  CHECK(Summary({0x0f, 0xfc, 0xc1}) == "mmx integer-arithmetic packed integer 8 64");
  CHECK(Summary({0x66, 0x0f, 0x38, 0x1e, 0xc1}) ==
        "ssse3 integer-arithmetic packed integer 32 128");                            // pabsd
  CHECK(Summary({0x66, 0x0f, 0xef, 0xc0}) == "sse2 logic packed bit 1 128");          // pxor
  CHECK(Summary({0x66, 0x0f, 0x6f, 0xc1}) == "sse2 data-move packed integer 0 128");  // movdqa
  CHECK(Summary({0xf3, 0x0f, 0x10, 0x01}) == "sse data-move scalar single 32 0");     // movss
  CHECK(Summary({0xf2, 0x0f, 0x2c, 0x01}) == "sse2 convert scalar integer 32 0");     // cvttsd2si
  CHECK(Summary({0xf2, 0x48, 0x0f, 0x2a, 0xc0}) == "sse2 convert scalar double 64 0");
  CHECK(Summary({0x0f, 0x5a, 0xc1}) == "sse2 convert packed double 64 128");  // cvtps2pd
  CHECK(Summary({0x66, 0x0f, 0x3a, 0x62, 0xc1, 0x01}) ==
        "sse4.2 compare packed integer 16 128");  // pcmpistrm of words
  CHECK(Summary({0xc4, 0xe2, 0x7d, 0x18, 0x01}) == "avx shuffle packed single 32 256");
  CHECK(Summary({0xd8, 0x01}) == "x87 float-arithmetic scalar extended 80 0");  // fadd dword
  CHECK(Summary({0xdd, 0x11}) == "x87 data-move scalar double 64 0");           // fst qword
  CHECK(Summary({0xdf, 0x01}) == "x87 convert scalar extended 80 0");           // fild word
  CHECK(Summary({0xc5, 0xec, 0x41, 0xcb}) == "avx512f mask none bit 1 0");      // kandw
  CHECK(Summary({0xc5, 0xf8, 0x77}) == "avx machine-state none none 0 0");      // vzeroupper
  CHECK(Summary({0xc4, 0xe2, 0x52, 0x5c, 0xdc}) == "amx-bf16 matrix packed single 32 8192");
}

// These are register forms of MMX instructions, and movntq, which has none.
TEST_CASE("what SSE added to MMX registers is SSE") {
  for (const uint8_t opcode : {0xd7, 0xda, 0xde, 0xe0, 0xe3, 0xe4, 0xea, 0xee, 0xf6, 0xf7}) {
    CAPTURE(opcode);
    CHECK(Text({0x0f, opcode, 0xc1}, Property::kExtension) == "sse");
    CHECK(Text({0x66, 0x0f, opcode, 0xc1}, Property::kExtension) == "sse2");
  }
  for (const uint8_t opcode : {0x70, 0xc4, 0xc5}) {
    CAPTURE(opcode);
    CHECK(Text({0x0f, opcode, 0xc1, 0x01}, Property::kExtension) == "sse");
    CHECK(Text({0x66, 0x0f, opcode, 0xc1, 0x01}, Property::kExtension) == "sse2");
  }
  CHECK(Text({0x0f, 0xe7, 0x01}, Property::kExtension) == "sse");
  CHECK(Text({0x0f, 0xe5, 0xc1}, Property::kExtension) == "mmx");  // pmulhw
}

TEST_CASE("movsd and cmpsd are a string and an SSE2 instruction each") {
  CHECK(Summary({0xa5}) == "base string none integer 32 0");
  CHECK(Text({0xa5}, Property::kMnemonic) == "movs");
  CHECK(Summary({0xf2, 0x0f, 0x10, 0xc1}) == "sse2 data-move scalar double 64 0");
  CHECK(Summary({0xa7}) == "base string none integer 32 0");
  CHECK(Summary({0xf2, 0x0f, 0xc2, 0xc1, 0x01}) == "sse2 compare scalar double 64 0");
}

TEST_CASE("categories distinguish direct from indirect branches") {
  CHECK(Text({0x74, 0x00}, Property::kCategory) == "conditional-branch");
  CHECK(Text({0xeb, 0x00}, Property::kCategory) == "jump");
  CHECK(Text({0xff, 0xe0}, Property::kCategory) == "indirect-jump");
  CHECK(Text({0xe8, 0, 0, 0, 0}, Property::kCategory) == "call");
  CHECK(Text({0xff, 0x10}, Property::kCategory) == "indirect-call");
  CHECK(Text({0xc3}, Property::kCategory) == "return");
  CHECK(Text({0x0f, 0x05}, Property::kCategory) == "system-call");
  CHECK(Text({0xcc}, Property::kCategory) == "trap");
}

TEST_CASE("memory is what is loaded and stored, the stack included") {
  CHECK(Memory(kAddEaxEcx) == "none 0 0 none");
  CHECK(Memory({0x03, 0x01}) == "read 4 0 base");
  CHECK(Memory({0x48, 0x01, 0x41, 0x08}) == "read-write 8 8 base-disp");
  CHECK(Memory({0x89, 0x04, 0x8f}) == "write 0 4 base-index");
  CHECK(Memory({0x89, 0x44, 0x8f, 0x10}) == "write 0 4 base-index-disp");
  CHECK(Memory({0x8b, 0x04, 0x8d, 0, 0, 0, 1}) == "read 4 0 index");
  CHECK(Memory({0x8b, 0x05, 0, 0, 0, 0}) == "read 4 0 rip-relative");
  CHECK(Memory({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}) == "read 8 0 absolute");
  CHECK(Memory({0x8d, 0x41, 0x04}) == "none 0 0 base-disp");  // lea
  CHECK(Memory({0x0f, 0x1f, 0x00}) == "none 0 0 base");       // nop
  CHECK(Memory({0x0f, 0x01, 0x38}) == "none 0 0 base");       // invlpg
  CHECK(Memory({0x0f, 0x18, 0x08}) == "none 0 0 base");       // prefetcht0
  CHECK(Memory({0x0f, 0xae, 0x38}) == "none 0 0 base");       // clflush
  CHECK(Memory({0x50}) == "write 0 8 stack");                 // push rax
  CHECK(Memory({0xff, 0x30}) == "read-write 8 8 base");       // push [rax]
  CHECK(Memory({0xc3}) == "read 8 0 stack");                  // ret
  CHECK(Memory({0xe8, 0, 0, 0, 0}) == "write 0 8 stack");     // call
  CHECK(Memory({0x48, 0xa5}) == "read-write 8 8 string");     // movsq
  CHECK(Memory({0xf3, 0xaa}) == "write 0 1 string");          // rep stosb
  CHECK(Memory(kAddpsMemory) == "read 16 0 base");
  CHECK(Memory({0x0f, 0xb1, 0x0a}) == "read-write 4 4 base");  // cmpxchg
  CHECK(Memory(kAddpdBroadcast) == "read 8 0 base");
}

TEST_CASE("what is stored where a register points to counts as well") {
  CHECK(Memory({0x0f, 0x01, 0xfc}) == "write 0 64 base");                            // clzero rax
  CHECK(Memory({0x66, 0x0f, 0x38, 0xf8, 0x01}) == "read-write 64 64 base");          // movdir64b
  CHECK(Memory({0xf2, 0x0f, 0x38, 0xf8, 0x41, 8}) == "read-write 64 64 base-disp");  // enqcmd
  CHECK(Memory({0xf3, 0x0f, 0x38, 0xf8, 0x01}) == "read-write 64 64 base");          // enqcmds
  CHECK(Memory({0x0f, 0x38, 0xf9, 0x01}) == "write 0 4 base");                       // movdiri
}

// A register is written in its full width; an access to memory always has 16 bits.
TEST_CASE("selectors and the machine status word are wider in registers than in memory") {
  struct Case {
    const char* name;
    uint8_t opcode;
    uint8_t digit;  // of ModRM
    bool is_read;
  };
  const Case kCases[] = {{"sldt", 0, 0, false}, {"str", 0, 1, false}, {"lldt", 0, 2, true},
                         {"ltr", 0, 3, true},   {"verr", 0, 4, true}, {"verw", 0, 5, true},
                         {"smsw", 1, 4, false}, {"lmsw", 1, 6, true}};
  for (const Case& a : kCases) {
    CAPTURE(a.name);
    const auto digit = static_cast<uint8_t>(a.digit << 3);
    const Code memory = {0x0f, a.opcode, digit};
    const Code wide_memory = {0x48, 0x0f, a.opcode, digit};
    const auto of_register = static_cast<uint8_t>(0xc0 | digit);
    CHECK(Text(memory, Property::kMnemonic) == a.name);
    CHECK(Text(memory, Property::kCategory) == "system");
    CHECK(Memory(memory) == (a.is_read ? "read 2 0 base" : "write 0 2 base"));
    CHECK(Memory(wide_memory) == Memory(memory));
    CHECK(Text(memory, Property::kOperandKinds) == "mem");
    CHECK(Describe(wide_memory).operand_bits[0] == 16);
    CHECK(Memory({0x0f, a.opcode, of_register}) == "none 0 0 none");
    CHECK(Text({0x0f, a.opcode, of_register}, Property::kOperandKinds) == "reg");
    const auto bits = [&](Code code) { return Describe(code).operand_bits[0]; };
    CHECK(bits({0x66, 0x0f, a.opcode, of_register}) == 16);
    CHECK(bits({0x0f, a.opcode, of_register}) == (a.is_read ? 16 : 32));
    CHECK(bits({0x48, 0x0f, a.opcode, of_register}) == (a.is_read ? 16 : 64));
  }
  CHECK(Memory({0x0f, 0x01, 0x00}) == "write 0 10 base");  // sgdt
  CHECK(Memory({0x0f, 0x01, 0x18}) == "read 10 0 base");   // lidt
  CHECK(Memory({0x0f, 0x02, 0x01}) == "read 2 0 base");    // lar eax, word ptr [rcx]
  CHECK(Memory({0x48, 0x8c, 0x18}) == "write 0 2 base");   // mov [rax], ds
}

TEST_CASE("a gather reads its element once a lane") {
  CHECK(Memory({0xc4, 0xe2, 0x75, 0x92, 0x04, 0x90}) == "read 32 0 vector");  // vgatherdps ymm
  CHECK(Memory({0xc4, 0xe2, 0x75, 0x93, 0x04, 0x90}) == "read 16 0 vector");  // vgatherqps ymm
  CHECK(Memory({0xc4, 0xe2, 0xf5, 0x92, 0x04, 0x90}) == "read 32 0 vector");  // vgatherdpd ymm
  // vscatterqps [rax+zmm2*4] {k1}, ymm0
  CHECK(Memory({0x62, 0xf2, 0x7d, 0x49, 0xa3, 0x04, 0x90}) == "write 0 32 vector");
}

TEST_CASE("operands are those that a disassembler prints, the write mask left out") {
  CHECK(Text(kAddEaxEcx, Property::kOperandKinds) == "reg-reg");
  CHECK(Text(kAddpsMemory, Property::kOperandKinds) == "vec-mem");
  CHECK(Text(kAddpdZeroing, Property::kOperandKinds) == "vec-vec-vec");
  CHECK(Text({0x83, 0x01, 0x05}, Property::kOperandKinds) == "mem-imm");
  CHECK(Text({0x74, 0x00}, Property::kOperandKinds) == "rel");
  CHECK(Text({0xc3}, Property::kOperandKinds) == "none");
  CHECK(Text({0xdc, 0xc1}, Property::kOperandKinds) == "st-st");
  const InstructionProperties move = Describe({0x0f, 0xb6, 0x01});  // movzx eax, byte [rcx]
  CHECK(move.operands == 2);
  CHECK(move.operand_bits[0] == 32);
  CHECK(move.operand_bits[1] == 8);
}

TEST_CASE("immediates are those of the encoding") {
  CHECK(Describe({0x83, 0xc0, 0x05}).immediate_bits == 8);
  CHECK(Describe({0x05, 1, 0, 0, 0}).immediate_bits == 32);
  CHECK(Describe({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}).immediate_bits == 64);
  CHECK(Describe({0x83, 0xc0, 0x05}).has_immediate);
  CHECK_FALSE(Describe({0xd1, 0xe0}).has_immediate);      // shl eax, 1
  CHECK_FALSE(Describe({0x74, 0x00}).has_immediate);      // je
  CHECK(Describe({0xc8, 8, 0, 1}).immediate_bits == 24);  // enter
  // vblendvps xmm0, xmm1, xmm2, xmm3: the byte names a register.
  CHECK_FALSE(Describe({0xc4, 0xe3, 0x71, 0x4a, 0xc2, 0x30}).has_immediate);
}

TEST_CASE("FLOPs count lanes, a fused multiplication and addition as two") {
  CHECK(Describe(kAddEaxEcx).flops == 0);
  CHECK(Describe(kAddsd).flops == 1);
  CHECK(Describe(kAddpsMemory).flops == 4);
  CHECK(Describe(kVaddpsYmm).flops == 8);
  CHECK(Describe(kFmaYmm).flops == 16);
  CHECK(Describe(kFmaSd).flops == 2);
  CHECK(Describe(kAddpdZmm).flops == 8);
  CHECK(Describe(kAddpdBroadcast).flops == 8);
  CHECK(Describe({0xf2, 0x0f, 0x51, 0xc1}).flops == 1);              // sqrtsd
  CHECK(Describe({0x66, 0x0f, 0x3a, 0x40, 0xc1, 0xff}).flops == 8);  // dpps
  CHECK(Describe({0xf2, 0x0f, 0x10, 0xc1}).flops == 0);              // movsd
  CHECK(Describe({0x66, 0x0f, 0x2f, 0xc1}).flops == 0);              // comisd
  CHECK(Describe({0x66, 0x0f, 0x58, 0xc1}).flops == 2);              // addpd
  CHECK(Describe({0xd8, 0x01}).flops == 1);                          // fadd
  CHECK(Describe({0x66, 0x0f, 0xfe, 0xc1}).flops == 0);              // paddd
}

TEST_CASE("masking, zeroing, broadcast and AVX512VL") {
  CHECK(Text(kAddpdZmm, Property::kMasking) == "none");
  CHECK(Text(kAddpdZeroing, Property::kMasking) == "zeroing");
  CHECK(Describe(kAddpdZeroing).is_zeroing);
  CHECK(Text(kAddpdXmmMasked, Property::kMasking) == "merging");
  CHECK(Describe(kAddpdXmmMasked).is_masked);
  CHECK_FALSE(Describe(kAddpdXmmMasked).is_zeroing);
  CHECK(Describe(kAddpdXmmMasked).needs_avx512vl);
  CHECK_FALSE(Describe(kAddpdZmm).needs_avx512vl);
  CHECK(Describe(kAddpdBroadcast).is_broadcast);
  CHECK_FALSE(Describe(kAddpdZmm).is_broadcast);
  CHECK_FALSE(Describe({0xc4, 0xe2, 0x7d, 0x18, 0x01}).is_broadcast);  // vbroadcastss: always
  // vblendmpd zmm0 {k1}, zmm1, zmm2
  CHECK(Text(Evex(0xf2, 0xf5, 0x49, 0x65, 0xc2), Property::kMasking) == "selecting");
}

TEST_CASE("what is locked is atomic, and xchg with memory is locked") {
  CHECK(Describe(kLockAddMemory).is_locked);
  CHECK(Text(kLockAddMemory, Property::kCategory) == "atomic");
  CHECK(Text(kLockAddMemory, Property::kElementBits) == "32");
  CHECK(Describe({0x87, 0x01}).is_locked);
  CHECK_FALSE(Describe({0x87, 0xc8}).is_locked);
  CHECK(Text({0x87, 0xc8}, Property::kCategory) == "data-move");
  CHECK_FALSE(Describe({0x0f, 0xc1, 0x01}).is_locked);  // xadd
  CHECK(Text({0x0f, 0xc1, 0x01}, Property::kCategory) == "atomic");
}

TEST_CASE("rep counts where it repeats") {
  CHECK(Describe({0xf3, 0xa4}).is_repeated);
  CHECK(Describe({0xf2, 0xae}).is_repeated);
  CHECK_FALSE(Describe({0xa4}).is_repeated);
  CHECK_FALSE(Describe({0xf3, 0xc3}).is_repeated);              // rep ret
  CHECK_FALSE(Describe({0xf3, 0x0f, 0x58, 0xc1}).is_repeated);  // addss
}

TEST_CASE("bytes that are not an instruction have no properties") {
  InstructionProperties properties;
  CHECK_FALSE(DescribeInstruction({}, &properties));
  CHECK_FALSE(DescribeInstruction(Code{0x06}, &properties));
  CHECK_FALSE(DescribeInstruction(Code{0x0f}, &properties));
  CHECK_FALSE(DescribeInstruction(Code{0xe8, 0, 0}, &properties));
}

TEST_CASE("every mnemonic has a category, and gathers know their indices") {
  for (int i = ZYDIS_MNEMONIC_INVALID + 1; i <= ZYDIS_MNEMONIC_MAX_VALUE; ++i) {
    const auto mnemonic = static_cast<ZydisMnemonic>(i);
    const std::string name = ZydisMnemonicGetString(mnemonic);
    const MnemonicTraits& traits = TraitsOf(mnemonic);
    INFO(name);
    const bool is_bounds_or_profiling =
        name.starts_with("bnd") || name.starts_with("lwp") || name.ends_with("lwpcb");
    const bool is_of_32_bits = name.size() == 3 && name.starts_with("aa");
    const bool is_decimal = is_of_32_bits || name == "daa" || name == "das";
    CHECK((traits.category == InstructionCategory::kOther) ==
          (is_bounds_or_profiling || is_decimal));
    const bool has_indices = traits.category == InstructionCategory::kGather ||
                             traits.category == InstructionCategory::kScatter;
    CHECK((traits.index_bits != 0) == has_indices);
  }
}

}  // namespace
}  // namespace hbbp
