#include "blocks/stream_walk.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/fake_module_code.h"

namespace hbbp {
namespace {

constexpr uint64_t kStart = 0x1000;

//   0 xor eax, eax    2 jz 6    4 nop    5 nop    6 syscall    8 dec eax   10 jnz 4   12 ret
//  13 call 13+5      18 nop    19 ret
const std::vector<uint8_t> kCode = {0x31, 0xc0, 0x74, 0x02, 0x90, 0x90, 0x0f, 0x05, 0xff, 0xc8,
                                    0x75, 0xf8, 0xc3, 0xe8, 0,    0,    0,    0,    0x90, 0xc3};

struct Walked {
  StreamFault fault;
  std::string blocks;  // their starts
};

Walked Walk(const ModuleCode& code, uint64_t start, uint64_t end) {
  BlockMap map(&code);
  AddStreamEvidence(code, {start}, {end}, &map);
  std::vector<Block> blocks;
  Walked walked;
  walked.fault = WalkStream(code, {start}, {end}, &map, &blocks);
  for (const Block& block : blocks) {
    walked.blocks += std::to_string(block.start.value - kStart) + " ";
  }
  return walked;
}

FakeModuleCode Module() {
  FakeModuleCode module;
  module.AddCode(kStart, kCode);
  module.AddFunction(kStart, kStart + kCode.size(), "f");
  return module;
}

TEST_CASE("a stream crosses the blocks between a target and the next taken branch") {
  const FakeModuleCode module = Module();
  const auto blocks = [&](uint64_t start, uint64_t end) {
    const Walked walked = Walk(module, kStart + start, kStart + end);
    CHECK(walked.fault == StreamFault::kNone);
    return walked.blocks;
  };
  CHECK(blocks(0, 2) == "0 ");
  CHECK(blocks(0, 10) == "0 4 6 8 ");
  CHECK(blocks(4, 10) == "4 6 8 ");
  CHECK(blocks(8, 12) == "8 12 ");
  CHECK(blocks(12, 12) == "12 ");
  CHECK(blocks(10, 10) == "10 ");
  CHECK(blocks(5, 10) == "5 6 8 ");
  CHECK(blocks(18, 19) == "18 ");
}

TEST_CASE("a stream runs an instruction with the prefix that others jump over, or without, once") {
  //   0 je 3    2 lock 3 cmpxchg %ecx,(%rdi)    6 inc %eax    8 ret
  FakeModuleCode module;
  module.AddCode(kStart, {0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x0f, 0xff, 0xc0, 0xc3});
  module.AddFunction(kStart, kStart + 9, "f");
  const Walked locked = Walk(module, kStart, kStart + 8);
  CHECK(locked.fault == StreamFault::kNone);
  CHECK(locked.blocks == "0 2 6 ");
  const Walked plain = Walk(module, kStart + 3, kStart + 8);
  CHECK(plain.fault == StreamFault::kNone);
  CHECK(plain.blocks == "3 6 ");
}

TEST_CASE("streams that no static path explains say why") {
  const FakeModuleCode module = Module();
  const auto fault = [&](uint64_t start, uint64_t end) {
    return Walk(module, kStart + start, kStart + end).fault;
  };
  CHECK(fault(10, 8) == StreamFault::kBackwards);
  CHECK(fault(8, 19) == StreamFault::kPassesBranch);
  CHECK(fault(13, 19) == StreamFault::kPassesBranch);
  CHECK(fault(4, 8) == StreamFault::kNotABranch);
  CHECK(fault(100, 110) == StreamFault::kNoCode);
  CHECK(fault(18, 100) == StreamFault::kPassesBranch);
  CHECK(fault(UINT64_MAX - 2 * kStart, UINT64_MAX - kStart) == StreamFault::kNoCode);
}

TEST_CASE("code that runs out or does not decode ends a stream") {
  FakeModuleCode module;
  module.AddCode(kStart, {0x90, 0x90, 0x06, 0x90, 0xc3});  // 0x06 is not an instruction
  module.AddFunction(kStart, kStart + 5, "f");
  CHECK(Walk(module, kStart, kStart + 4).fault == StreamFault::kUndecodable);
  CHECK(Walk(module, kStart + 2, kStart + 4).fault == StreamFault::kUndecodable);
  CHECK(Walk(module, kStart + 3, kStart + 4).fault == StreamFault::kNone);
  FakeModuleCode cut;
  cut.AddCode(kStart, {0x90, 0x90, 0x0f});
  cut.AddFunction(kStart, kStart + 3, "f");
  CHECK(Walk(cut, kStart, kStart + 2).fault == StreamFault::kUndecodable);
  CHECK(Walk(cut, kStart, kStart + 9).fault == StreamFault::kUndecodable);
}

TEST_CASE("a stream over thousands of branches is not believed") {
  std::vector<uint8_t> code;
  for (int i = 0; i < 5000; ++i) code.insert(code.end(), {0x74, 0x00});
  code.push_back(0xc3);
  FakeModuleCode module;
  module.AddCode(kStart, code);
  module.AddFunction(kStart, kStart + code.size(), "f");
  CHECK(Walk(module, kStart, kStart + 10'000).fault == StreamFault::kTooLong);
  CHECK(Walk(module, kStart + 2000, kStart + 10'000).fault == StreamFault::kNone);
}

}  // namespace
}  // namespace hbbp
