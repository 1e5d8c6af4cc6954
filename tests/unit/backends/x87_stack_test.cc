// Tests what instructions of x87 do to its stack: for all opcodes against the processor's own top
// of stack, and for some of each kind which registers they read and write.
#include "backends/x87_stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

X87Effect EffectOf(std::vector<uint8_t> code) {
  ZydisDecodedInstruction decoded;
  REQUIRE(DecodeWithZydis(code, &decoded));
  return EffectOnX87(decoded);
}

// Executes instructions of x87 between those that fill four registers and read the top.
class Executed {
 public:
  Executed()
      : page_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(page_ != MAP_FAILED);
  }
  ~Executed() { ::munmap(page_, 4096); }
  Executed(const Executed&) = delete;
  Executed& operator=(const Executed&) = delete;

  // Returns how far the instruction moves the top of the processor's stack; a push is negative.
  int Move(uint8_t opcode, uint8_t modrm) {
    constexpr unsigned kFilled = 4;
    std::vector<uint8_t> code = {0xdb, 0xe3};                                      // fninit
    for (unsigned i = 0; i < kFilled; ++i) code.insert(code.end(), {0xd9, 0xe8});  // fld1
    code.insert(code.end(), {opcode, modrm, 0xdf, 0xe0, 0xdb, 0xe3, 0xc3});  // fnstsw, fninit, ret
    ::mprotect(page_, 4096, PROT_READ | PROT_WRITE);
    std::copy(code.begin(), code.end(), static_cast<uint8_t*>(page_));
    ::mprotect(page_, 4096, PROT_READ | PROT_EXEC);
    uint16_t status = 0;
    asm volatile("call *%1"
                 : "=a"(status)
                 : "r"(page_)
                 : "cc", "memory", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)",
                   "st(7)");
    const int top = (status >> 11) & 7;
    const int move = (top - (8 - static_cast<int>(kFilled))) & 7;
    return move < 4 ? move : move - 8;
  }

 private:
  void* page_;
};

int PredictedMove(const X87Effect& effect) { return effect.pops - (effect.pushes ? 1 : 0); }

TEST_CASE("all instructions with registers move the top as the processor does") {
  Executed executed;
  int compared = 0;
  for (unsigned opcode = 0xd8; opcode <= 0xdf; ++opcode) {
    for (unsigned modrm = 0xc0; modrm <= 0xff; ++modrm) {
      const std::vector<uint8_t> code = {static_cast<uint8_t>(opcode), static_cast<uint8_t>(modrm)};
      ZydisDecodedInstruction decoded;
      const bool is_known = DecodeWithZydis(code, &decoded);
      const bool resets = is_known && decoded.mnemonic == ZYDIS_MNEMONIC_FNINIT;
      if (!is_known || resets) continue;
      CAPTURE(opcode, modrm);
      CHECK(PredictedMove(EffectOnX87(decoded)) == executed.Move(code[0], code[1]));
      ++compared;
    }
  }
  CHECK(compared > 200);
}

TEST_CASE("loads push, and stores with p pop") {
  CHECK(PredictedMove(EffectOf({0xd9, 0x00})) == -1);  // fld dword
  CHECK(PredictedMove(EffectOf({0xdd, 0x00})) == -1);  // fld qword
  CHECK(PredictedMove(EffectOf({0xdb, 0x28})) == -1);  // fld tbyte
  CHECK(PredictedMove(EffectOf({0xdf, 0x28})) == -1);  // fild qword
  CHECK(PredictedMove(EffectOf({0xd9, 0x10})) == 0);   // fst dword
  CHECK(PredictedMove(EffectOf({0xd9, 0x18})) == 1);   // fstp dword
  CHECK(PredictedMove(EffectOf({0xdb, 0x38})) == 1);   // fstp tbyte
  CHECK(PredictedMove(EffectOf({0xdd, 0x08})) == 1);   // fisttp qword
  CHECK(PredictedMove(EffectOf({0xd9, 0xe8})) == -1);  // fld1
  CHECK(PredictedMove(EffectOf({0xd9, 0xc3})) == -1);  // fld st(3)
  CHECK(PredictedMove(EffectOf({0xdd, 0xd9})) == 1);   // fstp st(1)
}

TEST_CASE("arithmetic reads both operands and writes the destination") {
  const X87Effect to_top = EffectOf({0xd8, 0xc2});  // fadd st(0), st(2)
  CHECK(to_top.reads_top);
  CHECK(to_top.reads == 2);
  CHECK(to_top.writes == 0);
  const X87Effect to_other = EffectOf({0xdc, 0xca});  // fmul st(2), st(0)
  CHECK(to_other.reads_top);
  CHECK(to_other.reads == 2);
  CHECK(to_other.writes == 2);
  const X87Effect with_pop = EffectOf({0xde, 0xe9});  // fsubp st(1), st(0)
  CHECK(with_pop.writes == 1);
  CHECK(with_pop.pops == 1);
  const X87Effect of_memory = EffectOf({0xdc, 0x00});  // fadd qword
  CHECK(of_memory.reads_top);
  CHECK(of_memory.reads == X87Effect::kNone);
  CHECK(of_memory.writes == 0);
}

TEST_CASE("comparisons write no register") {
  for (const std::vector<uint8_t>& code : {std::vector<uint8_t>{0xd8, 0xd1},
                                           {0xd8, 0xd9},
                                           {0xde, 0xd9},
                                           {0xda, 0xe9},
                                           {0xdb, 0xf1},
                                           {0xdf, 0xf1},
                                           {0xdd, 0xe1},
                                           {0xdd, 0xe9},
                                           {0xd9, 0xe4}}) {
    CAPTURE(unsigned{code[0]}, unsigned{code[1]});
    CHECK(EffectOf(code).writes == X87Effect::kNone);
    CHECK(EffectOf(code).reads_top);
  }
  CHECK(EffectOf({0xde, 0xd9}).pops == 2);  // fcompp
  CHECK(EffectOf({0xda, 0xe9}).pops == 2);  // fucompp
  CHECK(EffectOf({0xdf, 0xf1}).pops == 1);  // fcomip
  CHECK(EffectOf({0xdb, 0xf1}).pops == 0);  // fcomi
}

TEST_CASE("other instructions leave the stack alone") {
  CHECK_FALSE(EffectOf({0x48, 0x01, 0xd8}).is_any);  // add
  CHECK_FALSE(EffectOf({0x0f, 0xd8, 0xc0}).is_any);  // psubusb, whose opcode is 0f d8
  CHECK_FALSE(EffectOf({0xd9, 0x28}).is_any);        // fldcw
  CHECK_FALSE(EffectOf({0xdf, 0xe0}).is_any);        // fnstsw
}

TEST_CASE("a register is found again after others were pushed and popped") {
  X87Stack stack;
  const X87Effect load = EffectOf({0xd9, 0xe8});      // fld1
  const X87Effect add = EffectOf({0xd8, 0xc1});       // fadd st(0), st(1)
  const X87Effect exchange = EffectOf({0xd9, 0xc9});  // fxch st(1)
  const X87Effect store = EffectOf({0xdd, 0xd8});     // fstp st(0)
  stack.Apply(load, 10);
  stack.Apply(load, 20);
  CHECK(stack.ReadyAt(add) == 20);
  CHECK(stack.ReadyAt(store) == 20);
  stack.Apply(exchange, 99);
  CHECK(stack.ReadyAt(store) == 10);
  stack.Apply(store, 0);
  CHECK(stack.ReadyAt(store) == 20);
}

}  // namespace
}  // namespace hbbp
