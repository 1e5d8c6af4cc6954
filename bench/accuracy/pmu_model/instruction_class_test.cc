#include "pmu_model/instruction_class.h"

#include <vector>

#include "support/catch.h"

namespace hbbp::simulation {
namespace {

TEST_CASE("classes of instructions") {
  struct Case {
    const char* text;
    std::vector<uint8_t> code;
    InstructionClass kind;
  };
  const Case cases[] = {
      {"divsd xmm0, xmm1", {0xf2, 0x0f, 0x5e, 0xc1}, InstructionClass::kDivide},
      {"vdivps ymm0, ymm1, ymm2", {0xc5, 0xf4, 0x5e, 0xc2}, InstructionClass::kDivide},
      {"idiv rcx", {0x48, 0xf7, 0xf9}, InstructionClass::kDivide},
      {"fdivp", {0xde, 0xf9}, InstructionClass::kDivide},
      {"sqrtsd xmm0, xmm1", {0xf2, 0x0f, 0x51, 0xc1}, InstructionClass::kSquareRoot},
      {"mulsd xmm0, xmm1", {0xf2, 0x0f, 0x59, 0xc1}, InstructionClass::kMultiply},
      {"addps xmm0, xmm1", {0x0f, 0x58, 0xc1}, InstructionClass::kMultiply},
      {"imul rax, rcx", {0x48, 0x0f, 0xaf, 0xc1}, InstructionClass::kMultiply},
      {"add rax, rcx", {0x48, 0x01, 0xc8}, InstructionClass::kSimple},
      {"add rax, [rdi]", {0x48, 0x03, 0x07}, InstructionClass::kLoad},
      {"mov rax, [rdi]", {0x48, 0x8b, 0x07}, InstructionClass::kLoad},
      {"mov [rdi], rax", {0x48, 0x89, 0x07}, InstructionClass::kSimple},
      {"movss [rdi], xmm0", {0xf3, 0x0f, 0x11, 0x07}, InstructionClass::kSimple},
      {"lea rax, [rdi]", {0x48, 0x8d, 0x07}, InstructionClass::kSimple},
      {"pop rax", {0x58}, InstructionClass::kLoad},
      {"ret", {0xc3}, InstructionClass::kLoad},
      {"jmp +0", {0xeb, 0x00}, InstructionClass::kSimple},
      {"syscall", {0x0f, 0x05}, InstructionClass::kSerialise},
      {"no instruction", {0x06}, InstructionClass::kSimple},
      {"nothing", {}, InstructionClass::kSimple},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CHECK(ClassOf(one.code) == one.kind);
  }
}

}  // namespace
}  // namespace hbbp::simulation
