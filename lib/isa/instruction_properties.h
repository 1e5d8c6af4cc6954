// DescribeInstruction finds the static properties of an instruction, which depend on its encoding
// alone.
//
// docs/reference/properties.md explains every property; property_names.h names them. Only analysis
// uses it: unlike control_flow.h, it decodes operands and builds a table when it is first called.
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

// Applies to instructions on vectors (MMX and AMX too) and on the x87.
enum class Packing : uint8_t { kNone, kScalar, kPacked };

enum class OperandKind : uint8_t {
  kNone,
  kGeneral,  // a general-purpose register
  kVector,   // mm, xmm, ymm, zmm
  kX87,
  kMask,
  kTile,
  kSystem,  // segment, control, debug, bound, table
  kMemory,
  kImmediate,
  kTarget,  // the target of a direct branch
};

enum class MemoryAccess : uint8_t { kNone, kRead, kWrite, kReadWrite };

enum class Masking : uint8_t {
  kNone,
  kMerging,
  kZeroing,
  kSelecting,  // the mask chooses between two sources, as in vblendmps
};

// The form of the explicit memory operand, or else of an implied one.
enum class AddressForm : uint8_t {
  kNone,
  kRipRelative,
  kAbsolute,  // a displacement, possibly relative to fs or gs
  kBase,
  kBaseDisplacement,
  kBaseIndex,
  kBaseIndexDisplacement,
  kIndex,  // without base: index * scale + displacement
  kVector,
  kStack,
  kString,  // rsi or rdi, or rbx in xlat
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
  uint16_t element_bits = 0;  // 0 if the operands are not divided into elements
  uint16_t vector_bits = 0;   // width of the widest vector or tile register; 0 if it is not packed
  // Operands are those that a disassembler prints, without the write mask.
  uint8_t operands = 0;
  std::array<OperandKind, kMaxOperands> operand_kinds{};
  std::array<uint16_t, kMaxOperands> operand_bits{};
  MemoryAccess memory = MemoryAccess::kNone;
  // These count one execution, or one iteration of a repeated string operation, with all lanes,
  // masked or not.
  uint32_t read_bytes = 0;
  uint32_t written_bytes = 0;
  uint32_t flops = 0;
  AddressForm addressing = AddressForm::kNone;
  Masking masking = Masking::kNone;
  uint8_t immediate_bits = 0;  // the size as encoded
  bool is_masked = false;
  bool is_zeroing = false;
  bool is_broadcast = false;
  bool is_locked = false;  // includes xchg with memory, which needs no prefix
  bool is_repeated = false;
  bool has_immediate = false;
  bool needs_avx512vl = false;
};

// Describes the instruction at the start of `code`. Returns false if the bytes are not an
// instruction or end inside one, exactly when DecodeControlFlow returns false. Any thread may call
// it; it does not allocate.
bool DescribeInstruction(std::span<const uint8_t> code, InstructionProperties* properties);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_INSTRUCTION_PROPERTIES_H_
