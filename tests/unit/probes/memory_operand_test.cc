// Tests the address and size of the first memory access of instructions.
#include "probes/memory_operand.h"

#include "support/catch.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

AddressRegisters Registers() {
  AddressRegisters registers;
  for (uint64_t i = 0; i < registers.general.size(); ++i) registers.general[i] = (i + 1) << 32 | i;
  registers.general[4] = 0x7fff0000;  // rsp
  registers.fs_base = 0x100000000000;
  registers.gs_base = 0x200000000000;
  return registers;
}

uint64_t AddressOf(const Code& code) {
  return FindMemoryOperand(code, 0x1000).Address(Registers());
}

TEST_CASE("memory operand: base, index, scale, displacement, rip") {
  CHECK(AddressOf(kLoad) == 0x200000001);                            // [rcx]
  CHECK(AddressOf({0x48, 0x8b, 0x44, 0xd8, 0xf8}) == 0x2100000010);  // [rax+rbx*8-8]
  CHECK(AddressOf({0x4b, 0x8b, 0x04, 0xfc}) == 0x8d00000084);        // [r12+r15*8]
  CHECK(AddressOf({0x8b, 0x05, 0x10, 0x00, 0x00, 0x00}) == 0x1016);  // [rip+0x10]
  CHECK(AddressOf({0x67, 0x8b, 0x01}) == 1);                         // [ecx]
  CHECK(AddressOf({0xd7}) == 0x400000003);                           // xlat: [rbx+al]
  CHECK(FindMemoryOperand(kLoad, 0).size == 4);
  CHECK_FALSE(FindMemoryOperand(kLoad, 0).is_written);
  CHECK(FindMemoryOperand(kStore, 0).is_written);
  CHECK_FALSE(FindMemoryOperand(kAddToMemory, 0).is_written);
}

TEST_CASE("memory operand: segments") {
  CHECK(AddressOf({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}) == 0x100000000028);
  CHECK(AddressOf({0x65, 0x8b, 0x01}) == 0x200200000001);
}

TEST_CASE("memory operand: the stack") {
  CHECK(AddressOf({0x50}) == 0x7fff0000 - 8);  // push rax
  CHECK(AddressOf({0x58}) == 0x7fff0000);      // pop rax
  CHECK(AddressOf(kCallForward) == 0x7fff0000 - 8);
  CHECK(AddressOf(kReturn) == 0x7fff0000);
  CHECK(AddressOf({0xc9}) == 0x600000005);        // leave: pops at rbp
  CHECK(AddressOf({0xff, 0x31}) == 0x200000001);  // push [rcx]: the explicit operand
  CHECK(AddressOf({0xff, 0x11}) == 0x200000001);  // call [rcx]
  CHECK(FindMemoryOperand({{0x50}}, 0).size == 8);
}

TEST_CASE("memory operand: string instructions") {
  CHECK(AddressOf({0xf3, 0xaa}) == 0x800000007);  // rep stosb
  CHECK(AddressOf({0xac}) == 0x700000006);        // lodsb
  CHECK(AddressOf({0xa4}) == 0x700000006);        // movsb: the load
  CHECK(AddressOf({0xa6}) == 0x700000006);        // cmpsb
  CHECK_FALSE(FindMemoryOperand({{0xa4}}, 0).is_written);
  CHECK(AddressOf({0x8f, 0x01}) == 0x7fff0000);  // pop [rcx]: the load
  CHECK_FALSE(FindMemoryOperand({{0x8f, 0x01}}, 0).is_written);
}

TEST_CASE("memory operand: what accesses no memory has none") {
  for (const Code& code : {kDiv, kNop, Code{0x48, 0x8d, 0x01}, Code{0x0f, 0x18, 0x09}, Code{0x06},
                           Code{}}) {  // lea, prefetcht0, no instruction
    CHECK(FindMemoryOperand(code, 0x1000).size == 0);
  }
}

}  // namespace
}  // namespace hbbp
