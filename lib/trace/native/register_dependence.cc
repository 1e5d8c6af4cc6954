// DescribeDependence finds, by mnemonic and operands, sources that do not influence the results,
// and registers that are read or written without being operands. The other functions answer
// questions by mnemonic alone. DescribeRegisters (instruction_effects.cc) calls them for every
// instruction that native stubs execute.
#include "trace/native/register_dependence.h"

namespace hbbp::trace {
namespace {

// Recognizes x - x, x ^ x and the like, whose result is the same for every x.
bool IsConstantOfEqualSources(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_ANDNPD:
    case ZYDIS_MNEMONIC_ANDNPS:
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_KANDNB:
    case ZYDIS_MNEMONIC_KANDND:
    case ZYDIS_MNEMONIC_KANDNQ:
    case ZYDIS_MNEMONIC_KANDNW:
    case ZYDIS_MNEMONIC_KXNORB:
    case ZYDIS_MNEMONIC_KXNORD:
    case ZYDIS_MNEMONIC_KXNORQ:
    case ZYDIS_MNEMONIC_KXNORW:
    case ZYDIS_MNEMONIC_KXORB:
    case ZYDIS_MNEMONIC_KXORD:
    case ZYDIS_MNEMONIC_KXORQ:
    case ZYDIS_MNEMONIC_KXORW:
    case ZYDIS_MNEMONIC_PANDN:
    case ZYDIS_MNEMONIC_PCMPEQB:
    case ZYDIS_MNEMONIC_PCMPEQD:
    case ZYDIS_MNEMONIC_PCMPEQQ:
    case ZYDIS_MNEMONIC_PCMPEQW:
    case ZYDIS_MNEMONIC_PCMPGTB:
    case ZYDIS_MNEMONIC_PCMPGTD:
    case ZYDIS_MNEMONIC_PCMPGTQ:
    case ZYDIS_MNEMONIC_PCMPGTW:
    case ZYDIS_MNEMONIC_PSUBB:
    case ZYDIS_MNEMONIC_PSUBD:
    case ZYDIS_MNEMONIC_PSUBQ:
    case ZYDIS_MNEMONIC_PSUBSB:
    case ZYDIS_MNEMONIC_PSUBSW:
    case ZYDIS_MNEMONIC_PSUBUSB:
    case ZYDIS_MNEMONIC_PSUBUSW:
    case ZYDIS_MNEMONIC_PSUBW:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_VANDNPD:
    case ZYDIS_MNEMONIC_VANDNPS:
    case ZYDIS_MNEMONIC_VPANDN:
    case ZYDIS_MNEMONIC_VPANDND:
    case ZYDIS_MNEMONIC_VPANDNQ:
    case ZYDIS_MNEMONIC_VPCMPEQB:
    case ZYDIS_MNEMONIC_VPCMPEQD:
    case ZYDIS_MNEMONIC_VPCMPEQQ:
    case ZYDIS_MNEMONIC_VPCMPEQW:
    case ZYDIS_MNEMONIC_VPCMPGTB:
    case ZYDIS_MNEMONIC_VPCMPGTD:
    case ZYDIS_MNEMONIC_VPCMPGTQ:
    case ZYDIS_MNEMONIC_VPCMPGTW:
    case ZYDIS_MNEMONIC_VPSUBB:
    case ZYDIS_MNEMONIC_VPSUBD:
    case ZYDIS_MNEMONIC_VPSUBQ:
    case ZYDIS_MNEMONIC_VPSUBSB:
    case ZYDIS_MNEMONIC_VPSUBSW:
    case ZYDIS_MNEMONIC_VPSUBUSB:
    case ZYDIS_MNEMONIC_VPSUBUSW:
    case ZYDIS_MNEMONIC_VPSUBW:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_XORPS:
      return true;
    default:
      return false;
  }
}

bool IsWhole(ZydisRegister name) {
  switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_MASK:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return true;
    default:
      return false;
  }
}

// Returns the operands that are equal whole registers and only sources: 0 and 1 of a legacy
// instruction, or the two after the destination (and the mask) of others.
uint32_t EqualSources(const FullDecode& decode) {
  const bool is_legacy = decode.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  unsigned first = is_legacy ? 0 : 1;
  if (decode.operands[first].encoding == ZYDIS_OPERAND_ENCODING_MASK) ++first;
  const unsigned second = first + 1;
  if (second >= decode.instruction.operand_count_visible) return 0;
  const ZydisDecodedOperand& a = decode.operands[first];
  const ZydisDecodedOperand& b = decode.operands[second];
  if (a.type != ZYDIS_OPERAND_TYPE_REGISTER || b.type != ZYDIS_OPERAND_TYPE_REGISTER ||
      a.reg.value != b.reg.value || !IsWhole(a.reg.value)) {
    return 0;
  }
  return 1u << first | 1u << second;
}

// The immediate is the truth table of three sources, the destination being the first.
uint32_t IgnoredByTernaryLogic(const FullDecode& decode) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  const auto table = static_cast<unsigned>(instruction.raw.imm[0].value.u);
  uint32_t ignored = 0;
  const bool is_merging = instruction.avx.mask.mode == ZYDIS_MASK_MODE_MERGING;
  if ((table >> 4 & 0x0f) == (table & 0x0f) && !is_merging) ignored |= 1u << 0;
  const unsigned second = decode.operands[1].encoding == ZYDIS_OPERAND_ENCODING_MASK ? 2 : 1;
  if ((table >> 2 & 0x33) == (table & 0x33)) ignored |= 1u << second;
  if ((table >> 1 & 0x55) == (table & 0x55)) ignored |= 1u << (second + 1);
  return ignored;
}

// A conversion is exact because a double holds every integer of 32 bits.
bool IsExactConversion(const FullDecode& decode) {
  switch (decode.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CVTSI2SD:
    case ZYDIS_MNEMONIC_VCVTSI2SD:
    case ZYDIS_MNEMONIC_VCVTUSI2SD:
      return decode.operands[decode.instruction.operand_count_visible - 1].size == 32;
    default:
      return false;
  }
}

}  // namespace

Dependence DependenceOf(const FullDecode& decode) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  Dependence dependence;
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_VPTERNLOGD:
    case ZYDIS_MNEMONIC_VPTERNLOGQ:
      dependence.ignored_operands = IgnoredByTernaryLogic(decode);
      break;
    case ZYDIS_MNEMONIC_SBB:  // the carry, spread over the register
      dependence.ignored_operands = EqualSources(decode);
      break;
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:  // nothing is written if the source is 0
      if (decode.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        dependence.also_reads = GprBit(NumberOf(WholeOf(decode.operands[0].reg.value)));
      }
      break;
    case ZYDIS_MNEMONIC_VP2INTERSECTD:
    case ZYDIS_MNEMONIC_VP2INTERSECTQ:  // a pair of masks
      dependence.also_writes = MaskBit(NumberOf(decode.operands[0].reg.value) ^ 1u);
      break;
    case ZYDIS_MNEMONIC_VZEROUPPER:
      for (unsigned i = 0; i < 16; ++i) dependence.also_reads |= VectorBit(i);
      [[fallthrough]];
    case ZYDIS_MNEMONIC_VZEROALL:
      for (unsigned i = 0; i < 16; ++i) dependence.also_writes |= VectorBit(i);
      break;
    default:
      if (IsConstantOfEqualSources(instruction.mnemonic)) {
        dependence.ignored_operands = EqualSources(decode);
      }
      break;
  }
  return dependence;
}

bool MayKeepFlags(const FullDecode& decode) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  for (const ZydisDecodedOperand& operand : decode) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_FLAGS &&
        WritesPerhaps(operand)) {
      return true;
    }
  }
  const unsigned count_mask = instruction.operand_width == 64 ? 63 : 31;
  return (instruction.meta.category == ZYDIS_CATEGORY_SHIFT ||
          instruction.meta.category == ZYDIS_CATEGORY_ROTATE) &&
         instruction.raw.imm[0].size != 0 && (instruction.raw.imm[0].value.u & count_mask) == 0;
}

bool MayRaiseSse(const FullDecode& decode) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  if (IsExactConversion(decode)) return false;
  switch (instruction.meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE3:
    case ZYDIS_EXCEPTION_CLASS_AVX2:
    case ZYDIS_EXCEPTION_CLASS_AVX3:
    case ZYDIS_EXCEPTION_CLASS_AVX11:
    case ZYDIS_EXCEPTION_CLASS_E2:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E11:
      return true;
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CVTPD2PI:
    case ZYDIS_MNEMONIC_CVTPI2PS:
    case ZYDIS_MNEMONIC_CVTPS2PI:
    case ZYDIS_MNEMONIC_CVTTPD2PI:
    case ZYDIS_MNEMONIC_CVTTPS2PI:
      return true;
    default:
      return false;
  }
}

bool DependsOnMxcsr(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_VFPCLASSPD:
    case ZYDIS_MNEMONIC_VFPCLASSPH:
    case ZYDIS_MNEMONIC_VFPCLASSPS:
    case ZYDIS_MNEMONIC_VFPCLASSSD:
    case ZYDIS_MNEMONIC_VFPCLASSSH:
    case ZYDIS_MNEMONIC_VFPCLASSSS:
    case ZYDIS_MNEMONIC_VRCP14PD:
    case ZYDIS_MNEMONIC_VRCP14PS:
    case ZYDIS_MNEMONIC_VRCP14SD:
    case ZYDIS_MNEMONIC_VRCP14SS:
    case ZYDIS_MNEMONIC_VRSQRT14PD:
    case ZYDIS_MNEMONIC_VRSQRT14PS:
    case ZYDIS_MNEMONIC_VRSQRT14SD:
    case ZYDIS_MNEMONIC_VRSQRT14SS:
      return true;
    default:
      return false;
  }
}

bool NeedsAlignment(const ZydisDecodedInstruction& instruction, unsigned bytes) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CMPXCHG16B:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTDQA:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTPS:
      return true;
    case ZYDIS_MNEMONIC_LDDQU:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_PCMPESTRI:
    case ZYDIS_MNEMONIC_PCMPESTRM:
    case ZYDIS_MNEMONIC_PCMPISTRI:
    case ZYDIS_MNEMONIC_PCMPISTRM:
      return false;
    default:
      return instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && bytes == 16;
  }
}

}  // namespace hbbp::trace
