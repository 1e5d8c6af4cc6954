// Static properties of an instruction: what its encoding alone tells, whatever the data.
//
// docs/reference/properties.md explains every property; property_names.h gives them names. Analysis
// only: unlike control_flow.h, this decodes operands and builds a table when it is first used.
#ifndef HBBP_LIB_ISA_INSTRUCTION_PROPERTIES_H_
#define HBBP_LIB_ISA_INSTRUCTION_PROPERTIES_H_

#include <array>
#include <cstdint>
#include <span>

#include "isa/element_type.h"
#include "isa/instruction_category.h"
#include "isa/isa_extension.h"
#include "isa/mnemonic.h"

namespace hbbp {

enum class Encoding : uint8_t { kLegacy, k3dNow, kXop, kVex, kEvex };

// Of instructions on vectors (also MMX and AMX) and on the x87.
enum class Packing : uint8_t { kNone, kScalar, kPacked };

enum class OperandKind : uint8_t {
  kNone,
  kGeneral,  // a register of general purpose
  kVector,   // mm, xmm, ymm, zmm
  kX87,
  kMask,
  kTile,
  kSystem,  // segment, control, debug, bound, table
  kMemory,
  kImmediate,
  kTarget,  // of a direct branch
};

enum class MemoryAccess : uint8_t { kNone, kRead, kWrite, kReadWrite };

enum class Masking : uint8_t {
  kNone,
  kMerging,
  kZeroing,
  kSelecting,  // the mask chooses between two sources, as in vblendmps
};

// Of the memory that it names, or if it names none, of the memory that it implies.
enum class AddressForm : uint8_t {
  kNone,
  kRipRelative,
  kAbsolute,  // a displacement, maybe relative to fs or gs
  kBase,
  kBaseDisplacement,
  kBaseIndex,
  kBaseIndexDisplacement,
  kIndex,  // without base: index * scale + displacement
  kVector,
  kStack,
  kString,  // rsi, rdi, or rbx of xlat
};

inline constexpr int kMaxOperands = 5;

struct InstructionProperties {
  Mnemonic mnemonic = Mnemonic::kInvalid;
  uint8_t length = 0;
  IsaExtension extension = IsaExtension::kOther;
  InstructionCategory category = InstructionCategory::kOther;
  Encoding encoding = Encoding::kLegacy;
  Packing packing = Packing::kNone;
  ElementType element_type = ElementType::kNone;
  uint16_t element_bits = 0;  // 0: none, or not divided into elements
  uint16_t vector_bits = 0;   // of the widest vector or tile register; 0 if it is not packed
  // As a disassembler prints them, without the write mask.
  uint8_t operands = 0;
  std::array<OperandKind, kMaxOperands> operand_kinds{};
  std::array<uint16_t, kMaxOperands> operand_bits{};
  MemoryAccess memory = MemoryAccess::kNone;
  // Of one execution; of a repeated string operation, of one turn. All lanes, masked or not.
  uint32_t read_bytes = 0;
  uint32_t written_bytes = 0;
  uint32_t flops = 0;
  AddressForm addressing = AddressForm::kNone;
  Masking masking = Masking::kNone;
  uint8_t immediate_bits = 0;  // as encoded
  bool is_masked = false;
  bool is_zeroing = false;
  bool is_broadcast = false;
  bool is_locked = false;  // also xchg with memory, which needs no prefix
  bool is_repeated = false;
  bool has_immediate = false;
  bool needs_avx512vl = false;
};

// Describes the instruction at the start of `code`. False if the bytes are no instruction or end
// inside one: exactly when DecodeControlFlow says so. Any thread; no allocation.
bool DescribeInstruction(std::span<const uint8_t> code, InstructionProperties* properties);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_INSTRUCTION_PROPERTIES_H_
