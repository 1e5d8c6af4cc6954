#include "trace/native/native_stub.h"

#include "trace/native/full_decode.h"
#include "trace/native/instruction_class.h"
#include "trace/native/instruction_effects.h"
#include "trace/native/operand_rewrite.h"
#include "trace/native/state_functions.h"
#include "trace/native/stub_builder.h"

namespace hbbp::trace {
namespace {

// Recognizes gathers and loads whose address has a form that NativeInstruction cannot express. They
// are described as if they accessed no memory, because their results are unknown anyway.
bool ReadsElsewhere(const FullDecode& decode) {
  bool reads = false;
  for (const ZydisDecodedOperand& operand : decode) {
    if (!IsMemory(operand)) continue;
    if (Writes(operand)) return false;
    reads = reads || IsVsib(operand) || decode.instruction.address_width != 64;
  }
  return reads;
}

// Returns the registers that the address of a gather or of a bit string depends on.
RegisterSet AddressRegisters(const FullDecode& decode) {
  RegisterSet set = 0;
  for (const ZydisDecodedOperand& operand : decode) {
    if (!IsMemory(operand)) continue;
    const ZydisRegister names[] = {operand.mem.base, operand.mem.index};
    for (const ZydisRegister name : names) {
      const ZydisRegister whole = WholeOf(name);
      const auto id = NumberOf(whole);
      if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64) set |= GprBit(id);
      if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_ZMM) set |= VectorBit(id);
    }
  }
  return set;
}

NativeRegion::Stub StubFor(const uint8_t* code, const FullDecode& decode,
                           const NativeInstruction& native, NativeRegion* region) {
  if (!region->features().CanRun(decode.instruction.meta.isa_set)) return nullptr;
  RewrittenInstruction rewritten;
  if (!PrepareStub(code, decode, native, &rewritten)) return nullptr;
  if (NativeRegion::Stub stub = region->Find(rewritten)) return stub;
  CodeEmitter emitter;
  BuildStub(decode, native, rewritten, region->features(), &emitter);
  if (emitter.overflow()) return nullptr;
  return region->Add(rewritten, emitter.code(), emitter.size());
}

}  // namespace

bool DescribeNative(const uint8_t* code, size_t size, uint64_t address, NativeRegion* region,
                    NativeInstruction* instruction) {
  FullDecode decode;
  if (!Decode(code, size, &decode)) return false;
  const InstructionClass kind = Classify(decode);
  if (kind == InstructionClass::kRefused) return false;
  NativeInstruction native;
  native.length = decode.instruction.length;
  native.execute = StateFunctionFor(kind);
  if (kind == InstructionClass::kNoEffect) {
    *instruction = native;
    return true;
  }
  DescribeRegisters(decode, &native);
  if (ReadsElsewhere(decode) || IsBitString(decode)) {
    native.reads |= AddressRegisters(decode);
    native.execute = nullptr;
  } else if (!DescribeMemory(decode, address, &native)) {
    return false;
  } else if (kind == InstructionClass::kOrdinary && region != nullptr) {
    native.execute = StubFor(code, decode, native, region);
  }
  *instruction = native;
  return true;
}

}  // namespace hbbp::trace
