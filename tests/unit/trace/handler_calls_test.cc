// Tests bursts where a compiler made calls of the jumps between handlers; the handlers here are
// compiled so. With musttail, only jumps that are rarely taken are calls.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "support/catch.h"
#include "trace/interpreter/interpreter.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::musttail) || __has_cpp_attribute(gnu::musttail)
#define HBBP_JUMPS_ARE_CERTAIN
#endif
#endif
#ifdef HBBP_JUMPS_ARE_CERTAIN
constexpr bool kAllAreCalls = false;
#else
constexpr bool kAllAreCalls = true;
#endif

constexpr size_t kCodeBytes = 65536;
constexpr uint64_t kLimit = 100000;

struct Code {
  const char* name;
  std::vector<uint8_t> bytes;  // ends by an instruction that is not decoded, or never
  bool depends_on_rcx = false;
};

std::vector<uint8_t> Repeated(const std::vector<uint8_t>& instruction, size_t times) {
  std::vector<uint8_t> code;
  for (size_t i = 0; i < times; ++i)
    code.insert(code.end(), instruction.begin(), instruction.end());
  return code;
}

TEST_CASE("Handlers that call each other end tracing before the stack of the interpreter does") {
  const std::vector<Code> codes = {
      {"a loop: inc ecx; jmp", {0xff, 0xc1, 0xeb, 0xfc}},
      {"a conditional one: inc ecx; jnz", {0xff, 0xc1, 0x75, 0xfc}, true},
      {"indirect: jmp *rsi", {0xff, 0xe6}},
      {"call and ret", {0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xf9, 0xc3}},
      {"loads of 32 bytes: vmovdqu (rdi)", Repeated({0xc5, 0xfe, 0x6f, 0x07}, 10000)},
      {"vaddps ymm0, ymm0, (rdi)", Repeated({0xc5, 0xfc, 0x58, 0x07}, 10000)},
      {"updates: add [rdi], eax", Repeated({0x01, 0x07}, 20000)},
  };
  auto* memory = static_cast<uint8_t*>(
      mmap(nullptr, 2 * kCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  uint8_t* data = memory + kCodeBytes;
  for (const Code& code : codes) {
    for (const RegisterSet poison : {RegisterSet{0}, GprBit(kRcx) | GprBit(kRax) | VectorBit(0)}) {
      // A jump that depends on an unknown value ends the burst.
      if (poison != 0 && code.depends_on_rcx) continue;
      INFO(code.name << (poison != 0 ? ", unknown" : ""));
      REQUIRE(code.bytes.size() < kCodeBytes);
      std::memcpy(memory, code.bytes.data(), code.bytes.size());
      LookAheadFixture fixture;
      auto state = std::make_unique<MachineState>();
      state->rip = state->gpr[kRsi] = reinterpret_cast<uint64_t>(memory);
      state->gpr[kRdi] = reinterpret_cast<uint64_t>(data);
      state->gpr[kRsp] = reinterpret_cast<uint64_t>(data + kCodeBytes / 2);
      state->has_vector_state = 1;
      state->mxcsr = 0x1f80;
      __builtin_ia32_fxsave64(state->fxsave);
      state->poison = poison;
      std::vector<TakenBranch> branches(kLimit);
      LookAhead* look_ahead = fixture.look_ahead();
      const auto run = [&] {
        look_ahead->Begin(*state, false);
        return look_ahead->Run(branches.data(), static_cast<uint32_t>(branches.size()), kLimit);
      };
      for (int i = 0; i < 2; ++i) {
        const RunResult result = run();
        const bool has_overflowed = result.reason == StopReason::kStackOverflow;
        CHECK((has_overflowed || !kAllAreCalls));
        CHECK((result.instructions == 0) == has_overflowed);
      }
      CHECK(look_ahead->MaxStackBytesUsed() < LookAhead::StackBytes() * 3 / 4);
    }
  }
  munmap(memory, 2 * kCodeBytes);
}

}  // namespace
}  // namespace hbbp::trace
