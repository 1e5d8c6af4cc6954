#include "probes/memory_operand.h"

#include <Zydis/Zydis.h>

#include <algorithm>

#include "isa/instruction_properties.h"
#include "isa/zydis_decode.h"

namespace hbbp {
namespace {

uint8_t NumberOfRegister(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return MemoryOperand::kNoRegister;
  return static_cast<uint8_t>(ZydisRegisterGetId(whole));
}

bool IsAccess(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.actions != 0 &&
         (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

bool IsRead(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

bool IsReadAccess(const ZydisDecodedOperand& operand) {
  return IsAccess(operand) && IsRead(operand);
}

}  // namespace

uint64_t MemoryOperand::Address(const AddressRegisters& registers) const {
  auto address = static_cast<uint64_t>(displacement);
  if (base != kNoRegister) address += registers.general[base];
  if (index != kNoRegister) {
    const uint64_t value = registers.general[index];
    address += (index_bits == 64 ? value : value & ((uint64_t{1} << index_bits) - 1)) * scale;
  }
  if (address_bits == 32) address = static_cast<uint32_t>(address);
  if (segment == Segment::kFs) address += registers.fs_base;
  if (segment == Segment::kGs) address += registers.gs_base;
  return address;
}

MemoryOperand FindMemoryOperand(std::span<const uint8_t> code, uint64_t pc) {
  MemoryOperand result;
  InstructionProperties properties;
  if (!DescribeInstruction(code, &properties) || properties.memory == MemoryAccess::kNone) {
    return result;
  }
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!DecodeOperandsWithZydis(code, &instruction, operands)) {
    return result;
  }
  // Explicit operands come first. An instruction reads before it writes: movs and pop [memory] do
  // both, by two operands.
  const auto all = std::span(operands).first(instruction.operand_count);
  auto operand = std::ranges::find_if(all, IsAccess);
  if (operand != all.end() && !IsRead(*operand)) {
    const auto reader = std::ranges::find_if(all, IsReadAccess);
    if (reader != all.end()) operand = reader;
  }
  if (operand == all.end()) return result;
  const ZydisDecodedOperandMem& memory = operand->mem;
  result.size = operand->size / 8;
  result.is_written = !IsRead(*operand);
  result.displacement = memory.disp.has_displacement ? memory.disp.value : 0;
  result.address_bits = instruction.address_width;
  if (memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP) {
    result.displacement += static_cast<int64_t>(pc + instruction.length);
  } else {
    result.base = NumberOfRegister(memory.base);
  }
  result.index = NumberOfRegister(memory.index);
  result.scale = memory.scale;
  if (memory.index == ZYDIS_REGISTER_AL) {  // xlat
    result.index_bits = 8;
    result.scale = 1;
  }
  if (memory.segment == ZYDIS_REGISTER_FS) result.segment = MemoryOperand::Segment::kFs;
  if (memory.segment == ZYDIS_REGISTER_GS) result.segment = MemoryOperand::Segment::kGs;
  // A push writes below the stack pointer that it finds.
  const bool is_implied = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
  if (is_implied && memory.base == ZYDIS_REGISTER_RSP && result.is_written) {
    result.displacement -= result.size;
  }
  return result;
}

}  // namespace hbbp
