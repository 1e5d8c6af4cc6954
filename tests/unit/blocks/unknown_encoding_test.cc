// Tests the lengths of instructions that the decoder does not know, by comparison with those that
// it does know, and that decoding goes on behind them.
#include "blocks/unknown_encoding.h"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "blocks/block_map.h"
#include "isa/control_flow.h"
#include "support/catch.h"
#include "support/fake_module_code.h"

namespace hbbp {
namespace {

TEST_CASE("an instruction of an unknown extension is skipped as a whole") {
  FakeModuleCode module;
  // The last byte of the displacement would be the opcode of mov, with what follows as operand.
  module.AddCode(0x1000, {0x90,                                      // nop
                          0x62, 0xf5, 0x7d, 0x48, 0x58, 0x84, 0x24,  // vaddbf16 of AVX10.2
                          0x00, 0x00, 0x00, 0xb8,                    // its displacement
                          0x31, 0xc0,                                // xor %eax,%eax
                          0xff, 0xc0,                                // inc %eax
                          0x90, 0xc3});                              // nop; ret
  BlockMap map(&module);
  const auto blocks = map.FunctionBlocks({0x1000});
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].end == ModuleAddress{0x1001});
  CHECK(blocks[1].start == ModuleAddress{0x100c});
  CHECK(blocks[1].instruction_count == 4);
  CHECK(map.statistics().undecodable_bytes == 11);
}

TEST_CASE("nothing that a branch leads to is skipped") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xeb, 0x02,                            // jmp 0x1004
                          0x62, 0xf5,                            // data
                          0x7d, 0x00,                            // jge 0x1006
                          0x58, 0xc1, 0xc0, 0x01, 0x90, 0xc3});  // pop; rol; nop; ret
  BlockMap map(&module);
  CHECK(map.Find({0x1004})->start == ModuleAddress{0x1004});
  // Nor is what a run has shown to be an instruction.
  FakeModuleCode shown;
  shown.AddCode(0x1000, {0x62, 0xf5, 0x7d, 0x48, 0x58, 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90});
  BlockMap evidence(&shown);
  evidence.AddLeaderEvidence({0x1004});
  REQUIRE(evidence.Find({0x1004}).has_value());
}

TEST_CASE("lengths agree with the decoder's where it knows the instruction") {
  std::mt19937 random(1);
  std::map<uint8_t, int> compared;
  for (int i = 0; i < 400000; ++i) {
    std::array<uint8_t, kMaxInstructionLength> code;
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    constexpr uint8_t kPrefixes[] = {0xc4, 0xc5, 0x62, 0x8f};
    code[0] = kPrefixes[i % 4];
    if (code[0] == 0xc4) code[1] = static_cast<uint8_t>((code[1] & 0xe0) | (1 + i / 4 % 3));
    if (code[0] == 0x8f) code[1] = static_cast<uint8_t>((code[1] & 0xe0) | (8 + i / 4 % 3));
    // Most encodings need vvvv = 1111, and EVEX has fixed bits.
    if (code[0] == 0x62) {
      code[1] = static_cast<uint8_t>((code[1] & 0xf0) | (1 + i / 4 % 6));
      code[2] |= 0x7c;
      code[3] |= 0x08;
    } else {
      code[code[0] == 0xc5 ? 1 : 2] |= 0x78;
    }
    ControlFlow flow;
    const size_t length = LengthOfUnknown(code);
    if (length == 0 || !DecodeControlFlow(code, 0, &flow)) continue;
    // vzeroupper has no ModRM, and two jumps of Xeon Phi have a distance.
    const bool is_first_map = code[0] == 0xc5 || (code[0] == 0xc4 && (code[1] & 31) == 1);
    const uint8_t opcode = code[0] == 0xc5 ? code[2] : code[3];
    if (is_first_map && (opcode == 0x77 || opcode == 0x84 || opcode == 0x85)) continue;
    ++compared[code[0]];
    if (length != flow.length) {
      CAPTURE(int{code[0]}, int{code[1]}, int{code[2]}, int{code[3]}, int{code[4]}, int{code[5]});
      CHECK(length == flow.length);
    }
  }
  for (const uint8_t prefix : {0xc4, 0xc5, 0x62, 0x8f}) CHECK(compared[prefix] > 200);
}

TEST_CASE("other bytes, and encodings without a regular form, have no length") {
  CHECK(LengthOfUnknown({}) == 0);
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0x62}) == 0);
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0x06, 0x06, 0x06, 0x06, 0x06, 0x06}) == 0);
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0xc4, 0xe2, 0x79, 0xff}) == 0);        // cut off
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0x8f, 0xc0, 0, 0, 0, 0, 0}) == 0);     // pop %rax
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0x62, 0xf4, 0x7c, 8, 1, 0xc0}) == 0);  // APX
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0x3e, 0xc4, 0xe2, 0x79, 0xff, 0xc0, 0}) == 6);
  CHECK(LengthOfUnknown(std::vector<uint8_t>{0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 1, 2, 3, 4}) == 9);
}

}  // namespace
}  // namespace hbbp
