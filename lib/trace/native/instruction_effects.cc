#include "trace/native/instruction_effects.h"

#include "trace/native/register_dependence.h"

namespace hbbp::trace {
namespace {

RegisterSet FlagBits(ZydisAccessedFlagsMask mask) {
  RegisterSet bits = 0;
  if ((mask & kFlagCf) != 0) bits |= kCfBit;
  if ((mask & kFlagPf) != 0) bits |= kPfBit;
  if ((mask & kFlagAf) != 0) bits |= kAfBit;
  if ((mask & kFlagZf) != 0) bits |= kZfBit;
  if ((mask & kFlagSf) != 0) bits |= kSfBit;
  if ((mask & kFlagOf) != 0) bits |= kOfBit;
  return bits;
}

struct RegisterUse {
  RegisterSet bit = 0;
  bool is_part = false;  // a write keeps the rest of the register
};

RegisterUse DescribeUse(ZydisRegister name, bool is_legacy) {
  const auto id = NumberOf(name);
  switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16: {
      const ZydisRegister whole = WholeOf(name);
      return {GprBit(NumberOf(whole)), true};
    }
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
      return {GprBit(id), false};
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
      return {kX87Bit, true};
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return {VectorBit(id), is_legacy};
    case ZYDIS_REGCLASS_MASK:
      return {MaskBit(id), false};
    default:
      break;
  }
  switch (name) {
    case ZYDIS_REGISTER_X87CONTROL:
    case ZYDIS_REGISTER_X87STATUS:
    case ZYDIS_REGISTER_X87TAG:
      return {kX87Bit, true};
    case ZYDIS_REGISTER_MXCSR:
      return {kMxcsrBit, false};
    default:
      return {};
  }
}

// k0 as a write mask means that there is none.
bool IsNoMask(const ZydisDecodedOperand& operand) {
  return operand.encoding == ZYDIS_OPERAND_ENCODING_MASK && operand.reg.value == ZYDIS_REGISTER_K0;
}

void AddOperands(const FullDecode& decode, NativeInstruction* native) {
  const bool is_legacy = decode.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  const Dependence dependence = DependenceOf(decode);
  for (unsigned i = 0; i < decode.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decode.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      // LEA computes with the address registers.
      if (!IsMemory(operand)) {
        native->reads |=
            DescribeUse(operand.mem.base, false).bit | DescribeUse(operand.mem.index, false).bit;
      }
      continue;
    }
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || IsNoMask(operand)) continue;
    const RegisterUse use = DescribeUse(operand.reg.value, is_legacy);
    const bool is_ignored = (dependence.ignored_operands >> i & 1) != 0;
    if (Writes(operand)) native->writes |= use.bit;
    if (is_ignored) continue;
    if (Reads(operand) || WritesPerhaps(operand) || (Writes(operand) && use.is_part)) {
      native->reads |= use.bit;
    }
  }
  native->reads |= dependence.also_reads;
  native->writes |= dependence.also_writes;
}

// Zydis 4.0 knows this for PTEST only.
bool ClearsOtherFlags(const ZydisDecodedInstruction& instruction) {
  return instruction.mnemonic == ZYDIS_MNEMONIC_VPTEST ||
         instruction.mnemonic == ZYDIS_MNEMONIC_VTESTPD ||
         instruction.mnemonic == ZYDIS_MNEMONIC_VTESTPS;
}

void AddFlags(const FullDecode& decode, NativeInstruction* native) {
  const ZydisAccessedFlags* flags = decode.instruction.cpu_flags;
  if (flags == nullptr) return;
  RegisterSet written = FlagBits(flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
  if (ClearsOtherFlags(decode.instruction)) written = kFlagBits;
  native->reads |= FlagBits(flags->tested);
  native->writes |= written;
  if (MayKeepFlags(decode)) native->reads |= written;
}

void AddFloatingPoint(const FullDecode& decode, NativeInstruction* native) {
  native->may_raise_sse = MayRaiseSse(decode);
  if (native->may_raise_sse) {
    native->reads |= kMxcsrBit;
    native->writes |= kMxcsrBit;
  } else if (DependsOnMxcsr(decode.instruction)) {
    native->reads |= kMxcsrBit;
  }
  const unsigned set = decode.instruction.meta.isa_set;
  if (set == ZYDIS_ISA_SET_X87 || set == ZYDIS_ISA_SET_SSE3X87 || set == ZYDIS_ISA_SET_FCMOV ||
      set == ZYDIS_ISA_SET_PENTIUMMMX) {
    native->reads |= kX87Bit;
    native->writes |= kX87Bit;
  }
  if (((native->reads | native->writes) & kX87Bit) != 0) {
    native->reads |= kX87Bit;
    native->writes |= kX87Bit;
    native->may_raise_x87 = true;
  }
}

bool DescribeAddress(const FullDecode& decode, const ZydisDecodedOperand& operand, uint64_t address,
                     NativeInstruction* native) {
  if (decode.instruction.address_width != 64) return false;
  if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) return false;
  native->displacement = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
  if (operand.mem.base == ZYDIS_REGISTER_RIP) {
    native->displacement += static_cast<int64_t>(address + decode.instruction.length);
  } else if (operand.mem.base != ZYDIS_REGISTER_NONE) {
    native->base = static_cast<uint8_t>(NumberOf(operand.mem.base));
  }
  if (operand.mem.index != ZYDIS_REGISTER_NONE) {
    if (ZydisRegisterGetClass(operand.mem.index) != ZYDIS_REGCLASS_GPR64) return false;
    native->index = static_cast<uint8_t>(NumberOf(operand.mem.index));
    while ((1u << native->scale) < operand.mem.scale) ++native->scale;
  }
  if (operand.mem.segment == ZYDIS_REGISTER_FS) native->segment = 1;
  if (operand.mem.segment == ZYDIS_REGISTER_GS) native->segment = 2;
  return true;
}

// Recognizes stores that keep bytes of their operand, though Zydis calls them plain writes.
bool StoresUnderMask(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
      return true;
    default:
      return instruction.avx.mask.mode == ZYDIS_MASK_MODE_MERGING &&
             instruction.avx.mask.reg != ZYDIS_REGISTER_K0;
  }
}

// If the destination has 16 bits, some processors read 16 bits and others 32.
bool HasProcessorDependentRead(const ZydisDecodedInstruction& instruction) {
  return instruction.mnemonic == ZYDIS_MNEMONIC_MOVSXD && instruction.operand_width == 16;
}

}  // namespace

void DescribeRegisters(const FullDecode& decode, NativeInstruction* native) {
  AddOperands(decode, native);
  AddFlags(decode, native);
  AddFloatingPoint(decode, native);
}

bool DescribeMemory(const FullDecode& decode, uint64_t address, NativeInstruction* native) {
  for (const ZydisDecodedOperand& operand : decode) {
    if (!IsMemory(operand) || IsVsib(operand)) continue;
    if (native->has_memory || HasProcessorDependentRead(decode.instruction)) return false;
    const unsigned bytes = operand.size / 8;
    if (bytes == 0 || bytes > sizeof(MachineState::operand)) return false;
    if (!DescribeAddress(decode, operand, address, native)) return false;
    native->has_memory = true;
    native->memory_bytes = static_cast<uint8_t>(bytes);
    native->writes_memory = Writes(operand);
    native->reads_memory = Reads(operand) || WritesPerhaps(operand) ||
                           (Writes(operand) && StoresUnderMask(decode.instruction));
    if (NeedsAlignment(decode.instruction, bytes)) native->alignment = native->memory_bytes;
  }
  return true;
}

}  // namespace hbbp::trace
