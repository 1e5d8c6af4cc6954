#include "isa/code_traits.h"

#include "isa/instruction_form.h"

namespace hbbp {
namespace {

bool IsDivision(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_DIVPD:
    case ZYDIS_MNEMONIC_DIVPS:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_FDIV:
    case ZYDIS_MNEMONIC_FDIVP:
    case ZYDIS_MNEMONIC_FDIVR:
    case ZYDIS_MNEMONIC_FDIVRP:
    case ZYDIS_MNEMONIC_FIDIV:
    case ZYDIS_MNEMONIC_FIDIVR:
    case ZYDIS_MNEMONIC_FPREM:
    case ZYDIS_MNEMONIC_FPREM1:
    case ZYDIS_MNEMONIC_VDIVPD:
    case ZYDIS_MNEMONIC_VDIVPS:
    case ZYDIS_MNEMONIC_VDIVSD:
    case ZYDIS_MNEMONIC_VDIVSS:
      return true;
    default:
      return false;
  }
}

bool IsSlowNonDivision(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_F2XM1:
    case ZYDIS_MNEMONIC_FCOS:
    case ZYDIS_MNEMONIC_FPATAN:
    case ZYDIS_MNEMONIC_FPTAN:
    case ZYDIS_MNEMONIC_FSIN:
    case ZYDIS_MNEMONIC_FSINCOS:
    case ZYDIS_MNEMONIC_FSQRT:
    case ZYDIS_MNEMONIC_FYL2X:
    case ZYDIS_MNEMONIC_FYL2XP1:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_SQRTPD:
    case ZYDIS_MNEMONIC_SQRTPS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_VSQRTPD:
    case ZYDIS_MNEMONIC_VSQRTPS:
    case ZYDIS_MNEMONIC_VSQRTSD:
    case ZYDIS_MNEMONIC_VSQRTSS:
    case ZYDIS_MNEMONIC_XGETBV:
      return true;
    default:
      return false;
  }
}

// Returns whether the instruction computes an address without accessing memory.
bool OnlyAddressesMemory(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_LEA || mnemonic == ZYDIS_MNEMONIC_NOP;
}

bool LocksMemory(const ZydisDecodedInstruction& instruction) {
  return IsLocked(instruction) ||
         (instruction.mnemonic == ZYDIS_MNEMONIC_XCHG && HasMemory(instruction));
}

}  // namespace

CodeTraits CountCodeTraits(std::span<const uint8_t> code) {
  CodeTraits traits;
  ZydisDecodedInstruction instruction;
  while (!code.empty() && DecodeWithZydis(code, &instruction)) {
    const bool is_division = IsDivision(instruction.mnemonic);
    const bool accesses_memory =
        (HasMemory(instruction) && !OnlyAddressesMemory(instruction.mnemonic)) ||
        IsStringOperation(instruction);
    ++traits.instructions;
    traits.memory += accesses_memory;
    traits.calls += instruction.mnemonic == ZYDIS_MNEMONIC_CALL;
    traits.divisions += is_division;
    traits.long_latency +=
        is_division || IsSlowNonDivision(instruction.mnemonic) || LocksMemory(instruction);
    code = code.subspan(instruction.length);
  }
  return traits;
}

}  // namespace hbbp
