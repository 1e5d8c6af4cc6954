// Proves by exhaustion that the table of common forms agrees with a full decoder.
#include "isa/common_forms.h"

#include <Zydis/Zydis.h>

#include <array>
#include <cstdint>

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::array<uint8_t, 16>;

struct Oracle {
  Oracle() { ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }

  bool Decode(const Bytes& code, ZydisDecodedInstruction* instruction) const {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), instruction));
  }

  ZydisDecoder decoder;
};

BranchKind ExpectedKind(const ZydisDecodedInstruction& instruction) {
  const bool relative = instruction.raw.imm[0].is_relative;
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return BranchKind::kConditional;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return relative ? BranchKind::kJump : BranchKind::kIndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return relative ? BranchKind::kCall : BranchKind::kIndirectCall;
    case ZYDIS_CATEGORY_RET:
      return BranchKind::kReturn;
    case ZYDIS_CATEGORY_INTERRUPT:
      return BranchKind::kTrap;
    default:
      return BranchKind::kNone;
  }
}

constexpr uint64_t kAddress = 0x400000;

struct Tally {
  int64_t known = 0;
  int64_t wrong = 0;
};

void Check(const Oracle& oracle, const Bytes& code, Tally* tally) {
  ControlFlow flow;
  if (!DecodeCommonForm(code.data(), kAddress, &flow)) return;
  ++tally->known;
  ZydisDecodedInstruction expected;
  bool right = oracle.Decode(code, &expected);
  if (right) {
    const bool relative = expected.raw.imm[0].is_relative;
    right = flow.length == expected.length && flow.kind == ExpectedKind(expected) &&
            expected.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR && flow.has_target == relative &&
            (!relative || flow.target == kAddress + expected.length +
                                             static_cast<uint64_t>(expected.raw.imm[0].value.s));
  }
  if (right) return;
  if (tally->wrong++ == 0) {
    UNSCOPED_INFO("first wrong: " << std::hex << int{code[0]} << ' ' << int{code[1]} << ' '
                                  << int{code[2]} << ' ' << int{code[3]});
  }
}

// Visits every REX (0 is none), map, opcode, ModRM and kind of SIB base; `filler` is the value of
// the remaining bytes and may make displacements negative.
void CheckAllEncodings(uint8_t filler) {
  const Oracle oracle;
  Tally tally;
  for (int rex = 0x3f; rex < 0x50; ++rex) {
    for (int two_byte = 0; two_byte < 2; ++two_byte) {
      for (int opcode = 0; opcode < 256; ++opcode) {
        for (int modrm = 0; modrm < 256; ++modrm) {
          for (const uint8_t sib : {0x24, 0x25}) {
            Bytes code;
            code.fill(filler);
            size_t size = 0;
            if (rex >= 0x40) code[size++] = static_cast<uint8_t>(rex);
            if (two_byte) code[size++] = 0x0f;
            code[size++] = static_cast<uint8_t>(opcode);
            code[size++] = static_cast<uint8_t>(modrm);
            code[size] = sib;
            Check(oracle, code, &tally);
          }
        }
      }
    }
  }
  CHECK(tally.known > 1'000'000);
  CHECK(tally.wrong == 0);
}

TEST_CASE("common forms agree with the full decoder on every encoding") {
  CheckAllEncodings(0x11);
  CheckAllEncodings(0xfe);
}

TEST_CASE("common forms read no byte past their limit") {
  // The longest form is mov with REX, SIB, disp32 and imm32.
  const Bytes code = {0x48, 0xc7, 0x84, 0x24, 1, 0, 0, 0, 2, 0, 0, 0};
  ControlFlow flow;
  REQUIRE(DecodeCommonForm(code.data(), kAddress, &flow));
  CHECK(flow.length == 12);
  CHECK(flow.length <= kMaxCommonFormLength);
}

}  // namespace
}  // namespace hbbp
