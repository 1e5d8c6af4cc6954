// DescribeInstruction decodes an instruction with its operands and fills InstructionProperties in
// the order of the functions below it calls: operands, masking, elements (vectors, x87, integers),
// memory. What depends on the mnemonic alone comes from mnemonic_traits.h, the extension from
// isa_extension.h. mix/ calls it once for every distinct instruction.
#include "isa/instruction_properties.h"

#include <algorithm>

#include "isa/control_flow.h"
#include "isa/mnemonic_table.h"
#include "isa/mnemonic_traits.h"
#include "isa/zydis_decode.h"

namespace hbbp {
namespace {

using Operands = std::span<const ZydisDecodedOperand>;

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  Operands all() const { return {operands, instruction.operand_count}; }
  Operands visible() const { return {operands, instruction.operand_count_visible}; }
};

bool IsRegister(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}

bool IsMemory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
}

bool IsWriteMask(const ZydisDecodedOperand& operand) {
  return operand.encoding == ZYDIS_OPERAND_ENCODING_MASK;
}

int VectorBits(ZydisRegister reg) {
  switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_MMX:
      return 64;
    case ZYDIS_REGCLASS_XMM:
      return 128;
    case ZYDIS_REGCLASS_YMM:
      return 256;
    case ZYDIS_REGCLASS_ZMM:
      return 512;
    case ZYDIS_REGCLASS_TMM:
      return 8192;
    default:
      return 0;
  }
}

OperandKind KindOfRegister(ZydisRegister reg) {
  switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
      return OperandKind::kGeneral;
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return OperandKind::kVector;
    case ZYDIS_REGCLASS_X87:
      return OperandKind::kX87;
    case ZYDIS_REGCLASS_MASK:
      return OperandKind::kMask;
    case ZYDIS_REGCLASS_TMM:
      return OperandKind::kTile;
    default:
      return OperandKind::kSystem;
  }
}

OperandKind KindOf(const ZydisDecodedOperand& operand) {
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      return KindOfRegister(operand.reg.value);
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return OperandKind::kMemory;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return operand.imm.is_relative ? OperandKind::kTarget : OperandKind::kImmediate;
    default:
      return OperandKind::kNone;
  }
}

void DescribeOperands(const Decoded& decoded, InstructionProperties* properties) {
  for (const ZydisDecodedOperand& operand : decoded.visible()) {
    if (IsWriteMask(operand) || properties->operands == kMaxOperands) continue;
    const size_t index = properties->operands++;
    properties->operand_kinds[index] = KindOf(operand);
    properties->operand_bits[index] = operand.size;
  }
  for (const auto& immediate : decoded.instruction.raw.imm) {
    if (immediate.is_relative) continue;
    properties->immediate_bits = static_cast<uint8_t>(properties->immediate_bits + immediate.size);
  }
  const auto end = properties->operand_kinds.begin() + properties->operands;
  properties->has_immediate =
      properties->immediate_bits > 0 &&
      std::find(properties->operand_kinds.begin(), end, OperandKind::kImmediate) != end;
  if (!properties->has_immediate) properties->immediate_bits = 0;
}

// Returns the width of the widest vector or tile register, which may be the index of a gather.
int WidestVector(const Decoded& decoded) {
  int widest = 0;
  for (const ZydisDecodedOperand& operand : decoded.visible()) {
    if (IsRegister(operand)) widest = std::max(widest, VectorBits(operand.reg.value));
    if (IsMemory(operand)) widest = std::max(widest, VectorBits(operand.mem.index));
  }
  return widest;
}

bool UsesX87Register(const Decoded& decoded) {
  return std::ranges::any_of(decoded.all(), [](const ZydisDecodedOperand& operand) {
    return IsRegister(operand) && ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_X87;
  });
}

bool UsesMaskRegister(const InstructionProperties& properties) {
  return std::ranges::find(properties.operand_kinds, OperandKind::kMask) !=
         properties.operand_kinds.end();
}

bool WorksOnIntegers(InstructionCategory category) {
  switch (category) {
    case InstructionCategory::kDataMove:
    case InstructionCategory::kConditionalMove:
    case InstructionCategory::kSetCondition:
    case InstructionCategory::kAddress:
    case InstructionCategory::kStack:
    case InstructionCategory::kString:
    case InstructionCategory::kIntegerArithmetic:
    case InstructionCategory::kIntegerMultiply:
    case InstructionCategory::kDivide:
    case InstructionCategory::kLogic:
    case InstructionCategory::kShift:
    case InstructionCategory::kBit:
    case InstructionCategory::kCompare:
    case InstructionCategory::kConvert:
    case InstructionCategory::kAtomic:
    case InstructionCategory::kCrypto:
    case InstructionCategory::kRandom:
    case InstructionCategory::kIo:
      return true;
    default:
      return false;
  }
}

// Returns the width of the destination of an instruction without vector registers, or else of the
// memory that it implies.
int IntegerBits(const Decoded& decoded) {
  const auto is_data = [](const ZydisDecodedOperand& operand) {
    if (IsMemory(operand)) return operand.mem.type == ZYDIS_MEMOP_TYPE_MEM;
    return IsRegister(operand) && KindOf(operand) == OperandKind::kGeneral;
  };
  const Operands visible = decoded.visible();
  if (const auto data = std::ranges::find_if(visible, is_data); data != visible.end()) {
    return data->size;
  }
  const Operands all = decoded.all();
  const auto implied = std::ranges::find_if(all, [](const ZydisDecodedOperand& operand) {
    return IsMemory(operand) && operand.actions != 0;
  });
  return implied != all.end() ? implied->size : decoded.instruction.operand_width;
}

void SetElement(ElementType type, int bits, InstructionProperties* properties) {
  properties->element_type = type;
  properties->element_bits = static_cast<uint16_t>(bits);
}

// The elements have 80 bits, as the registers have, unless the result is stored to memory.
void DescribeX87(const Decoded& decoded, InstructionProperties* properties) {
  if (properties->category == InstructionCategory::kMachineState) return;
  properties->packing = Packing::kScalar;
  SetElement(ElementType::kExtended, 80, properties);
  for (const ZydisDecodedOperand& operand : decoded.visible()) {
    if (!IsMemory(operand) || !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) continue;
    switch (operand.element_type) {
      case ZYDIS_ELEMENT_TYPE_FLOAT32:
        return SetElement(ElementType::kSingle, 32, properties);
      case ZYDIS_ELEMENT_TYPE_FLOAT64:
        return SetElement(ElementType::kDouble, 64, properties);
      case ZYDIS_ELEMENT_TYPE_FLOAT80:
        return;
      default:
        return SetElement(ElementType::kInteger, operand.size, properties);
    }
  }
}

bool ComparesStrings(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PCMPESTRI:
    case ZYDIS_MNEMONIC_PCMPESTRM:
    case ZYDIS_MNEMONIC_PCMPISTRI:
    case ZYDIS_MNEMONIC_PCMPISTRM:
    case ZYDIS_MNEMONIC_VPCMPESTRI:
    case ZYDIS_MNEMONIC_VPCMPESTRM:
    case ZYDIS_MNEMONIC_VPCMPISTRI:
    case ZYDIS_MNEMONIC_VPCMPISTRM:
      return true;
    default:
      return false;
  }
}

void DescribeVector(const Decoded& decoded, const MnemonicTraits& traits, int vector_bits,
                    InstructionProperties* properties) {
  const bool is_scalar = traits.is_scalar;
  properties->packing = is_scalar ? Packing::kScalar : Packing::kPacked;
  properties->vector_bits = is_scalar ? uint16_t{0} : static_cast<uint16_t>(vector_bits);
  SetElement(traits.element_type, traits.element_bits, properties);
  const bool is_convert = properties->category == InstructionCategory::kConvert;
  if (is_scalar && is_convert && traits.element_type == ElementType::kInteger) {
    properties->element_bits = properties->operand_bits[0];  // cvttsd2si
  }
  if (ComparesStrings(decoded.instruction.mnemonic)) {
    properties->element_bits = decoded.instruction.raw.imm[0].value.u & 1 ? 16 : 8;
  }
}

// Counts the lanes that an instruction computes. A complex number has two.
int CountLanes(const Decoded& decoded, const InstructionProperties& properties) {
  if (properties.packing != Packing::kPacked || properties.element_bits == 0) {
    switch (decoded.instruction.mnemonic) {
      case ZYDIS_MNEMONIC_VFMULCSH:
      case ZYDIS_MNEMONIC_VFCMULCSH:
      case ZYDIS_MNEMONIC_VFMADDCSH:
      case ZYDIS_MNEMONIC_VFCMADDCSH:
        return 2;
      default:
        return 1;
    }
  }
  return properties.vector_bits / properties.element_bits;
}

void DescribeElements(const Decoded& decoded, const MnemonicTraits& traits,
                      InstructionProperties* properties) {
  const int vector_bits = WidestVector(decoded);
  // cvttsd2si with a memory operand has no vector register.
  const bool converts_scalar =
      traits.is_scalar && properties->category == InstructionCategory::kConvert;
  if (vector_bits > 0 || converts_scalar) {
    DescribeVector(decoded, traits, vector_bits, properties);
  } else if (UsesX87Register(decoded) || properties->extension == IsaExtension::kX87) {
    DescribeX87(decoded, properties);
  } else if (UsesMaskRegister(*properties)) {
    SetElement(ElementType::kBit, 1, properties);
  } else if (WorksOnIntegers(properties->category)) {
    SetElement(ElementType::kInteger, IntegerBits(decoded), properties);
  }
  if (properties->packing != Packing::kNone) {
    properties->flops =
        static_cast<uint32_t>(traits.flops_per_lane * CountLanes(decoded, *properties));
  }
  // Tiles of full size have 16 rows of 16 results, each the sum of 32 products.
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_TDPBF16PS)
    properties->flops = 16 * 16 * 32 * 2;
}

// Returns whether the instruction addresses memory without reading or writing it.
bool OnlyAddressesMemory(ZydisMnemonic mnemonic, InstructionCategory category) {
  if (mnemonic == ZYDIS_MNEMONIC_INVLPG) return true;
  switch (category) {
    case InstructionCategory::kAddress:
    case InstructionCategory::kCacheControl:
    case InstructionCategory::kNop:
    case InstructionCategory::kPrefetch:
    case InstructionCategory::kWait:
      return true;
    default:
      return false;
  }
}

// Returns the bytes that are written through a register for which Zydis has no operand.
uint32_t BytesWrittenThroughRegister(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CLZERO:
    case ZYDIS_MNEMONIC_ENQCMD:
    case ZYDIS_MNEMONIC_ENQCMDS:
      return 64;
    default:
      return 0;
  }
}

int CountBytes(const Decoded& decoded, const ZydisDecodedOperand& operand,
               const MnemonicTraits& traits) {
  // The size of an AMX tile depends on its configuration; this is the maximum.
  const bool is_tile = decoded.instruction.meta.isa_set == ZYDIS_ISA_SET_AMX_TILE;
  if (is_tile && operand.size == 0) return WidestVector(decoded) / 8;
  const int bytes = operand.size / 8;
  if (operand.mem.type != ZYDIS_MEMOP_TYPE_VSIB || traits.index_bits == 0) return bytes;
  return bytes * WidestVector(decoded) / std::max<int>(traits.index_bits, traits.element_bits);
}

AddressForm FormOf(const ZydisDecodedOperandMem& memory) {
  if (memory.type == ZYDIS_MEMOP_TYPE_VSIB) return AddressForm::kVector;
  const bool has_index = memory.index != ZYDIS_REGISTER_NONE;
  const bool has_displacement = memory.disp.has_displacement && memory.disp.value != 0;
  switch (memory.base) {
    case ZYDIS_REGISTER_NONE:
      return has_index ? AddressForm::kIndex : AddressForm::kAbsolute;
    case ZYDIS_REGISTER_RIP:
    case ZYDIS_REGISTER_EIP:
      return AddressForm::kRipRelative;
    default:
      break;
  }
  if (has_index) {
    return has_displacement ? AddressForm::kBaseIndexDisplacement : AddressForm::kBaseIndex;
  }
  return has_displacement ? AddressForm::kBaseDisplacement : AddressForm::kBase;
}

AddressForm ImpliedFormOf(const ZydisDecodedOperandMem& memory) {
  const ZydisRegister base =
      ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, memory.base);
  return base == ZYDIS_REGISTER_RSP || base == ZYDIS_REGISTER_RBP ? AddressForm::kStack
                                                                  : AddressForm::kString;
}

void DescribeMemory(const Decoded& decoded, const MnemonicTraits& traits,
                    InstructionProperties* properties) {
  bool is_read = false;
  bool is_written = false;
  for (const ZydisDecodedOperand& operand : decoded.all()) {
    if (!IsMemory(operand)) continue;
    const bool is_hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (!is_hidden) {
      properties->addressing = FormOf(operand.mem);
    } else if (properties->addressing == AddressForm::kNone) {
      properties->addressing = ImpliedFormOf(operand.mem);
    }
    if (OnlyAddressesMemory(decoded.instruction.mnemonic, properties->category) ||
        operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
      continue;
    }
    const auto bytes = static_cast<uint32_t>(CountBytes(decoded, operand, traits));
    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
      is_read = true;
      properties->read_bytes += bytes;
    }
    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
      is_written = true;
      properties->written_bytes += bytes;
    }
  }
  if (const uint32_t bytes = BytesWrittenThroughRegister(decoded.instruction.mnemonic)) {
    is_written = true;
    properties->written_bytes += bytes;
    if (properties->addressing == AddressForm::kNone) properties->addressing = AddressForm::kBase;
  }
  properties->memory = is_read && is_written ? MemoryAccess::kReadWrite
                       : is_read             ? MemoryAccess::kRead
                       : is_written          ? MemoryAccess::kWrite
                                             : MemoryAccess::kNone;
}

void DescribeMasking(const ZydisDecodedInstruction& instruction,
                     InstructionProperties* properties) {
  switch (instruction.avx.mask.mode) {
    case ZYDIS_MASK_MODE_MERGING:
      properties->masking = Masking::kMerging;
      break;
    case ZYDIS_MASK_MODE_ZEROING:
      properties->masking = Masking::kZeroing;
      break;
    case ZYDIS_MASK_MODE_CONTROL:
    case ZYDIS_MASK_MODE_CONTROL_ZEROING:
      properties->masking = Masking::kSelecting;
      break;
    default:
      break;
  }
  // A result in a mask register is zeroed, but Zydis reports merging for half precision.
  if (properties->masking == Masking::kMerging &&
      properties->operand_kinds[0] == OperandKind::kMask) {
    properties->masking = Masking::kZeroing;
  }
  properties->is_masked = properties->masking != Masking::kNone;
  properties->is_zeroing = properties->masking == Masking::kZeroing ||
                           instruction.avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING;
}

// Zydis has one mnemonic each for the string and the SSE2 instructions movsd and cmpsd.
bool IsStringMove(const ZydisDecodedInstruction& instruction) {
  return instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
         (instruction.mnemonic == ZYDIS_MNEMONIC_MOVSD ||
          instruction.mnemonic == ZYDIS_MNEMONIC_CMPSD);
}

InstructionCategory FindCategory(const Decoded& decoded, BranchKind branch,
                                 const MnemonicTraits& traits) {
  if (branch == BranchKind::kIndirectJump) return InstructionCategory::kIndirectJump;
  if (branch == BranchKind::kIndirectCall) return InstructionCategory::kIndirectCall;
  if (IsStringMove(decoded.instruction)) return InstructionCategory::kString;
  return traits.category;
}

bool IsLocked(const Decoded& decoded) {
  if (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) return true;
  return decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG &&
         std::ranges::any_of(decoded.visible(), IsMemory);
}

Encoding EncodingOf(const ZydisDecodedInstruction& instruction) {
  switch (instruction.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_3DNOW:
      return Encoding::k3dNow;
    case ZYDIS_INSTRUCTION_ENCODING_XOP:
      return Encoding::kXop;
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
      return Encoding::kVex;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
      return Encoding::kEvex;
    default:
      return Encoding::kLegacy;
  }
}

}  // namespace

bool DescribeInstruction(std::span<const uint8_t> code, InstructionProperties* properties) {
  ControlFlow flow;
  Decoded decoded;
  if (!DecodeControlFlow(code, 0, &flow) ||
      !DecodeOperandsWithZydis(code, &decoded.instruction, decoded.operands))
    return false;
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  const MnemonicTraits& traits = TraitsOf(instruction.mnemonic);
  constexpr ZydisInstructionAttributes kRepeats =
      ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

  *properties = {};
  properties->mnemonic = MnemonicOf(instruction);
  properties->length = instruction.length;
  properties->extension = ExtensionOf(instruction);
  properties->encoding = EncodingOf(instruction);
  properties->category = FindCategory(decoded, flow.kind, traits);
  properties->is_repeated = (instruction.attributes & kRepeats) != 0;
  properties->is_broadcast = instruction.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
                             !instruction.avx.broadcast.is_static;
  properties->needs_avx512vl = NeedsAvx512vl(instruction);
  properties->is_locked = IsLocked(decoded);
  DescribeOperands(decoded, properties);
  DescribeMasking(instruction, properties);
  DescribeElements(decoded, traits, properties);
  DescribeMemory(decoded, traits, properties);
  if (properties->is_locked) properties->category = InstructionCategory::kAtomic;
  return true;
}

}  // namespace hbbp
