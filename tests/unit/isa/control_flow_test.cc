#include "isa/control_flow.h"

#include <random>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kAddress = 0x7f0000001000;

struct Case {
  const char* text;
  Bytes code;
  BranchKind kind;
  bool has_target = false;
  uint64_t target = 0;
};

uint64_t At(int64_t offset) { return kAddress + static_cast<uint64_t>(offset); }

std::vector<Case> Cases() {
  using enum BranchKind;
  return {
      {"je rel8", {0x74, 0x10}, kConditional, true, At(0x12)},
      {"jg rel8 back", {0x7f, 0xfe}, kConditional, true, At(0)},
      {"jne rel32", {0x0f, 0x85, 0xfa, 0xff, 0xff, 0xff}, kConditional, true, At(0)},
      {"bnd je", {0xf2, 0x74, 0x10}, kConditional, true, At(0x13)},
      {"je, predicted taken", {0x3e, 0x74, 0x10}, kConditional, true, At(0x13)},
      {"jrcxz", {0xe3, 0x05}, kConditional, true, At(7)},
      {"jecxz", {0x67, 0xe3, 0x05}, kConditional, true, At(8)},
      {"loop", {0xe2, 0xfe}, kConditional, true, At(0)},
      {"loope", {0xe1, 0x00}, kConditional, true, At(2)},
      {"loopne", {0xe0, 0x7f}, kConditional, true, At(0x81)},
      {"jmp rel8", {0xeb, 0x80}, kJump, true, At(-0x7e)},
      {"jmp rel32", {0xe9, 0, 0, 0, 0x80}, kJump, true, At(5 - 0x80000000ll)},
      {"bnd jmp", {0xf2, 0xe9, 1, 0, 0, 0}, kJump, true, At(7)},
      // Intel ignores the 66; AMD would take two bytes of displacement.
      {"66 jmp", {0x66, 0xe9, 1, 0, 0, 0}, kJump, true, At(7)},
      {"66 jmp rel8", {0x66, 0xeb, 1}, kJump, true, At(4)},
      {"jmp reg", {0xff, 0xe0}, kIndirectJump},
      {"jmp r11", {0x41, 0xff, 0xe3}, kIndirectJump},
      {"notrack jmp", {0x3e, 0xff, 0xe0}, kIndirectJump},
      {"jmp mem", {0xff, 0x25, 1, 2, 3, 4}, kIndirectJump},
      {"bnd jmp mem", {0xf2, 0xff, 0x25, 1, 2, 3, 4}, kIndirectJump},
      {"jmp table", {0xff, 0x24, 0xc5, 1, 2, 3, 4}, kIndirectJump},
      {"call rel32", {0xe8, 0xff, 0xff, 0xff, 0xff}, kCall, true, At(4)},
      {"66 66 rex.W call, as for __tls_get_addr",
       {0x66, 0x66, 0x48, 0xe8, 0, 1, 0, 0},
       kCall,
       true,
       At(0x108)},
      {"addr32 call", {0x67, 0xe8, 0, 1, 0, 0}, kCall, true, At(0x106)},
      {"call reg", {0xff, 0xd0}, kIndirectCall},
      {"call mem", {0x41, 0xff, 0x54, 0x24, 0x08}, kIndirectCall},
      {"notrack call", {0x3e, 0xff, 0xd0}, kIndirectCall},
      {"ret", {0xc3}, kReturn},
      {"ret imm16", {0xc2, 0x08, 0x00}, kReturn},
      {"repz ret", {0xf3, 0xc3}, kReturn},
      {"bnd ret", {0xf2, 0xc3}, kReturn},
      {"far ret", {0xcb}, kSystem},
      {"far ret imm16", {0xca, 0x08, 0x00}, kSystem},
      {"rex.W far ret", {0x48, 0xcb}, kSystem},
      {"far call", {0xff, 0x18}, kSystem},
      {"far jmp", {0xff, 0x28}, kSystem},
      {"syscall", {0x0f, 0x05}, kSystem},
      {"sysret", {0x48, 0x0f, 0x07}, kSystem},
      {"sysenter", {0x0f, 0x34}, kSystem},
      {"sysexit", {0x48, 0x0f, 0x35}, kSystem},
      {"int 0x80", {0xcd, 0x80}, kSystem},
      {"iret", {0xcf}, kSystem},
      {"iretq", {0x48, 0xcf}, kSystem},
      {"uiret", {0xf3, 0x0f, 0x01, 0xec}, kSystem},
      {"xbegin", {0xc7, 0xf8, 0x10, 0, 0, 0}, kSystem, true, At(0x16)},
      {"xabort", {0xc6, 0xf8, 0x01}, kSystem},
      {"enclu", {0x0f, 0x01, 0xd7}, kSystem},
      {"ud0", {0x0f, 0xff, 0xc0}, kTrap},
      {"ud1", {0x67, 0x0f, 0xb9, 0x40, 0x02}, kTrap},
      {"ud2", {0x0f, 0x0b}, kTrap},
      {"int3", {0xcc}, kTrap},
      {"int1", {0xf1}, kTrap},
      {"hlt", {0xf4}, kTrap},
      {"nop", {0x90}, kNone},
      {"long nop", {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, kNone},
      {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, kNone},
      {"rep stosq", {0xf3, 0x48, 0xab}, kNone},
      {"mov r64, imm64", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, kNone},
      {"mov al, moffs", {0xa0, 1, 2, 3, 4, 5, 6, 7, 8}, kNone},
      {"push mem", {0xff, 0x70, 0x08}, kNone},
      {"mov mem, imm32, the longest common form",
       {0x48, 0xc7, 0x84, 0x24, 1, 0, 0, 0, 2, 0, 0, 0},
       kNone},
      {"lock cmpxchg", {0xf0, 0x48, 0x0f, 0xb1, 0x0a}, kNone},
      {"xend", {0x0f, 0x01, 0xd5}, kNone},
      {"15 bytes", {0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, kNone},
      {"vzeroupper", {0xc5, 0xf8, 0x77}, kNone},
      {"vpternlogd", {0x62, 0xf3, 0x65, 0x28, 0x25, 0xe2, 0xfe}, kNone},
      {"vdivps with rounding", {0x62, 0xa1, 0x74, 0x10, 0x5e, 0xc8}, kNone},
  };
}

Bytes Padded(Bytes code, uint8_t filler) {
  code.resize(32, filler);
  return code;
}

TEST_CASE("kind, length and target of every branch kind") {
  for (const Case& c : Cases()) {
    // The instruction alone and the instruction with bytes after it are decoded on different paths.
    for (const Bytes& code : {c.code, Padded(c.code, 0x00), Padded(c.code, 0xff)}) {
      INFO(c.text << ", " << code.size() << " bytes");
      ControlFlow flow;
      REQUIRE(DecodeControlFlow(code, kAddress, &flow));
      CHECK(flow.length == c.code.size());
      CHECK(flow.kind == c.kind);
      CHECK(flow.has_target == c.has_target);
      CHECK(flow.target == c.target);
    }
  }
}

TEST_CASE("an instruction that ends early is none") {
  for (const Case& c : Cases()) {
    for (size_t size = 0; size < c.code.size(); ++size) {
      // The copy has the exact size, so that a sanitizer sees an over-read.
      const Bytes code(c.code.begin(), c.code.begin() + static_cast<ptrdiff_t>(size));
      INFO(c.text << ", " << size << " of " << c.code.size() << " bytes");
      ControlFlow flow;
      CHECK_FALSE(DecodeControlFlow(code, kAddress, &flow));
    }
  }
}

TEST_CASE("what no processor takes is none") {
  // clang-format off
  const std::vector<Bytes> garbage = {
      {0x06}, {0x62, 0x00}, {0x9a, 1, 2, 3, 4, 5, 6}, {0xea, 1, 2, 3, 4, 5, 6}, {0xd6},
      {0xff, 0xff}, {0xff, 0xd8}, {0xff, 0xe8}, {0x8d, 0xc0}, {0xc7, 0xc8}, {0x8e, 0x08},
      {0xf0, 0x90}, {0xf0, 0x01, 0xc0}, {0x0f, 0xba, 0x00, 0x00}, {0x0f, 0x0a},
      {0x62, 0xf1, 0x7c, 0x48, 0xff, 0xc0}, {0xc5, 0xf8, 0xff, 0xc0},
      Bytes(15, 0x66), Bytes(32, 0x66), Bytes(32, 0x48)};
  // clang-format on
  for (const Bytes& start : garbage) {
    for (const Bytes& code : {start, Padded(start, 0xff)}) {
      INFO("starts with " << int{code[0]} << ' ' << int{code[1 % code.size()]});
      ControlFlow flow;
      CHECK_FALSE(DecodeControlFlow(code, kAddress, &flow));
    }
  }
}

TEST_CASE("random bytes give sane answers") {
  std::mt19937_64 random(1);
  int64_t decoded = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    Bytes code(1 + random() % 16);
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    ControlFlow flow;
    if (!DecodeControlFlow(code, kAddress, &flow)) continue;
    ++decoded;
    const bool sane = flow.length >= 1 && flow.length <= kMaxInstructionLength &&
                      flow.length <= code.size() &&
                      (!flow.has_target || flow.kind != BranchKind::kNone) &&
                      (flow.has_target || flow.target == 0);
    if (!sane) FAIL("insane answer for an instruction that starts with " << int{code[0]});
  }
  CHECK(decoded > 100'000);
}

TEST_CASE("targets wrap around the address space as the processor's do") {
  const Bytes code = {0xeb, 0x10};
  ControlFlow flow;
  REQUIRE(DecodeControlFlow(code, UINT64_MAX - 1, &flow));
  CHECK(flow.target == 0x10);
}

TEST_CASE("what ends a block and what goes on after it") {
  using enum BranchKind;
  CHECK_FALSE(EndsBlock(kNone));
  for (const BranchKind kind : {kNone, kConditional, kCall, kIndirectCall, kSystem}) {
    CHECK(FallsThrough(kind));
  }
  for (const BranchKind kind : {kJump, kIndirectJump, kReturn, kTrap}) {
    CHECK(EndsBlock(kind));
    CHECK_FALSE(FallsThrough(kind));
  }
}

}  // namespace
}  // namespace hbbp
