// Finds the first memory access of an instruction, and its address from the registers before it.
//
// The first access is that of the explicit memory operand, or else of an implied one: the stack for
// push and call, rsi or rdi for string instructions; of one that reads and another that writes,
// such as those of movs, it is the one that reads. Of a gather or scatter it is the base alone.
#ifndef HBBP_LIB_PROBES_MEMORY_OPERAND_H_
#define HBBP_LIB_PROBES_MEMORY_OPERAND_H_

#include <array>
#include <cstdint>
#include <span>

namespace hbbp {

struct AddressRegisters {
  // In the order of their numbers in encodings: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
  std::array<uint64_t, 16> general{};
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
};

struct MemoryOperand {
  static constexpr uint8_t kNoRegister = 16;
  enum class Segment : uint8_t { kFlat, kFs, kGs };

  uint32_t size = 0;  // in bytes; 0: the instruction accesses no memory
  int64_t displacement =
      0;  // includes the address of the next instruction if it is relative to rip
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale = 0;
  uint8_t index_bits = 64;
  uint8_t address_bits = 64;
  Segment segment = Segment::kFlat;
  bool is_written = false;  // and not read

  uint64_t Address(const AddressRegisters& registers) const;
};

// `code` lies at `pc`. The size is 0 too if the bytes are not an instruction.
MemoryOperand FindMemoryOperand(std::span<const uint8_t> code, uint64_t pc);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_MEMORY_OPERAND_H_
