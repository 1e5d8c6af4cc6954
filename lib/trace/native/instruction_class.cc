// Classify checks the mnemonic first, then the category and the operands; an instruction that no
// rule excludes is ordinary if the processor has its set. DescribeNative (native_stub.cc) calls it
// for every instruction that the lifter does not know.
#include "trace/native/instruction_class.h"

#include "trace/native/cpu_features.h"

namespace hbbp::trace {
namespace {

bool HasNoEffect(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    // Kernels with sigtrap events do not enable MPX, so these are hints.
    case ZYDIS_CATEGORY_MPX:
      return true;
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_SERIALIZE:
    case ZYDIS_MNEMONIC_SFENCE:
      return true;
    default:
      return false;
  }
}

// Without a shadow stack, RDSSP is a hint.
bool HasShadowStack() {
  uint64_t pointer = 0;
  asm volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer));  // rdsspq rax
  return pointer != 0;
}

bool HasUnknownResults(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_RDFSBASE:
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDPKRU:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_XGETBV:
      return true;
    default:
      return false;
  }
}

bool IsOrdinaryBase(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_FLAGOP:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_SEMAPHORE:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_X87_ALU:
      break;
    default:
      return false;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_CLAC:
    case ZYDIS_MNEMONIC_STAC:
      return false;
    default:
      return true;
  }
}

bool IsBaseSet(unsigned isa_set) {
  switch (isa_set) {
    case ZYDIS_ISA_SET_I86:
    case ZYDIS_ISA_SET_I186:
    case ZYDIS_ISA_SET_I286REAL:
    case ZYDIS_ISA_SET_I386:
    case ZYDIS_ISA_SET_I486:
    case ZYDIS_ISA_SET_I486REAL:
    case ZYDIS_ISA_SET_PENTIUMREAL:
    case ZYDIS_ISA_SET_PPRO:
    case ZYDIS_ISA_SET_LONGMODE:
      return true;
    default:
      return false;
  }
}

bool IsOrdinary(const ZydisDecodedInstruction& instruction) {
  if (!IsOrdinarySet(instruction.meta.isa_set)) return false;
  if (IsBaseSet(instruction.meta.isa_set)) return IsOrdinaryBase(instruction);
  switch (instruction.mnemonic) {
    // The addresses that these store would not be those of the program.
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
      return false;
    default:
      break;
  }
  return instruction.meta.isa_set != ZYDIS_ISA_SET_RTM ||
         instruction.mnemonic == ZYDIS_MNEMONIC_XTEST;
}

// Returns whether the instruction uses registers that a MachineState does not have.
bool TouchesForeignRegister(const FullDecode& decode) {
  for (const ZydisDecodedOperand& operand : decode) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    switch (ZydisRegisterGetClass(operand.reg.value)) {
      case ZYDIS_REGCLASS_SEGMENT:
        if (Writes(operand)) return true;
        break;
      case ZYDIS_REGCLASS_CONTROL:
      case ZYDIS_REGCLASS_DEBUG:
      case ZYDIS_REGCLASS_TEST:
      case ZYDIS_REGCLASS_TABLE:
      case ZYDIS_REGCLASS_BOUND:
      case ZYDIS_REGCLASS_TMM:
        return true;
      default:
        break;
    }
  }
  return false;
}

InstructionClass ClassifyOrdinary(const FullDecode& decode) {
  switch (decode.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
      return InstructionClass::kLoadMxcsr;
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
      return InstructionClass::kStoreMxcsr;
    case ZYDIS_MNEMONIC_VZEROUPPER:
      return InstructionClass::kClearUpperVectors;
    case ZYDIS_MNEMONIC_VZEROALL:
      return InstructionClass::kClearVectors;
    case ZYDIS_MNEMONIC_STD:
      return InstructionClass::kSetDirection;
    case ZYDIS_MNEMONIC_CLD:
      return InstructionClass::kClearDirection;
    default:
      return InstructionClass::kOrdinary;
  }
}

}  // namespace

bool IsBitString(const FullDecode& decode) {
  switch (decode.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
      return IsMemory(decode.operands[0]) && decode.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default:
      return false;
  }
}

InstructionClass Classify(const FullDecode& decode) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  if (HasNoEffect(instruction)) return InstructionClass::kNoEffect;
  if ((instruction.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) != 0) {
    return InstructionClass::kRefused;
  }
  if (HasUnknownResults(instruction)) return InstructionClass::kUnknownResults;
  if (instruction.mnemonic == ZYDIS_MNEMONIC_RDSSPD ||
      instruction.mnemonic == ZYDIS_MNEMONIC_RDSSPQ) {
    return HasShadowStack() ? InstructionClass::kUnknownResults : InstructionClass::kNoEffect;
  }
  if (!IsOrdinary(instruction) || TouchesForeignRegister(decode)) {
    return InstructionClass::kRefused;
  }
  for (const ZydisDecodedOperand& operand : decode) {
    if (IsVsib(operand)) {
      return Writes(operand) ? InstructionClass::kRefused : InstructionClass::kUnknownResults;
    }
  }
  if (IsBitString(decode)) {
    return Writes(decode.operands[0]) ? InstructionClass::kRefused
                                      : InstructionClass::kUnknownResults;
  }
  return ClassifyOrdinary(decode);
}

}  // namespace hbbp::trace
