// PrepareStub rewrites the instruction so that its memory operand is MachineState::operand.
// BuildStub frames it: the stub loads MXCSR and x87 state, vector registers, masks, flags and
// general registers that the instruction reads, executes it, and stores what it wrote in the
// reverse order. DescribeNative (native_stub.cc) calls both.
#include "trace/native/stub_builder.h"

namespace hbbp::trace {
namespace {

constexpr unsigned kVectorCount = 32;
constexpr unsigned kMaskCount = 8;
constexpr unsigned kGprCount = 16;
constexpr uint32_t kCalleeSaved = 1u << kRbx | 1u << kRbp | 0xf000u;

// The offsets are in the red zone below the stack pointer of the running stub.
constexpr int8_t kCallerMxcsr = -8;
constexpr int8_t kCallerX87Control = -16;

constexpr int32_t GprOffset(unsigned reg) {
  return static_cast<int32_t>(offsetof(MachineState, gpr) + 8 * reg);
}
constexpr int32_t MaskOffset(unsigned reg) {
  return static_cast<int32_t>(offsetof(MachineState, k) + 8 * reg);
}
constexpr int32_t VectorOffset(unsigned reg) {
  return static_cast<int32_t>(offsetof(MachineState, zmm) + 64 * reg);
}
constexpr int32_t kFlagsOffset = offsetof(MachineState, flags);
constexpr int32_t kMxcsrOffset = offsetof(MachineState, mxcsr);
constexpr int32_t kFxsaveOffset = offsetof(MachineState, fxsave);
constexpr int32_t kOperandOffset = offsetof(MachineState, operand);

uint32_t Gprs(RegisterSet set) { return static_cast<uint32_t>(set) & 0xffff; }
uint32_t Vectors(RegisterSet set) { return static_cast<uint32_t>(set >> 32); }
uint32_t Masks(RegisterSet set) { return static_cast<uint32_t>(set >> 24) & 0xff; }
bool Has(uint32_t set, unsigned number) { return (set >> number & 1) != 0; }

// MASKMOVDQU and MASKMOVQ store where rdi points.
bool HasImplicitAddress(const FullDecode& decode) {
  for (const ZydisDecodedOperand& operand : decode) {
    if (IsMemory(operand) && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) return true;
  }
  return false;
}

// Chooses a register that the instruction does not use for the address of the MachineState: rdi,
// which has it already, if possible, and never one that needs a SIB byte or a REX prefix, nor rax,
// which the flags need.
unsigned ChooseBase(uint32_t used_gprs) {
  constexpr unsigned kCandidates[] = {kRdi, kRsi, kRcx, kRdx, kRbx, kRbp};
  for (const unsigned candidate : kCandidates) {
    if (!Has(used_gprs, candidate)) return candidate;
  }
  return kNoGpr;
}

uint32_t UsedGprs(const FullDecode& decode, const NativeInstruction& native) {
  uint32_t used = Gprs(native.reads | native.writes);
  if (HasImplicitAddress(decode)) used |= 1u << kRdi;
  // Operands on which the results do not depend count too.
  for (const ZydisDecodedOperand& operand : decode) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const ZydisRegister whole = WholeOf(operand.reg.value);
    if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64) {
      used |= 1u << NumberOf(whole);
    }
  }
  return used;
}

class StubBuilder {
 public:
  StubBuilder(const FullDecode& decode, const NativeInstruction& native,
              const CpuFeatures& features, CodeEmitter* emitter)
      : decode_(decode),
        native_(native),
        features_(features),
        emitter_(emitter),
        used_gprs_(UsedGprs(decode, native)),
        base_(ChooseBase(used_gprs_)),
        is_legacy_(decode.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
                   decode.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW),
        width_(VectorWidth()) {}

  void Build(const RewrittenInstruction& rewritten) {
    const uint32_t saved = (used_gprs_ | 1u << base_) & kCalleeSaved;
    for (unsigned reg = 0; reg < kGprCount; ++reg) {
      if (Has(saved, reg)) emitter_->Push(reg);
    }
    if (base_ != kRdi) emitter_->Bytes(0x48, 0x89, 0xf8 | base_);  // mov base, rdi
    if (LoadsFlags()) LoadFlags();
    LoadFloatingPoint();
    LoadRegisters();

    emitter_->Copy(rewritten.bytes, rewritten.size);

    StoreGprs();
    if ((native_.writes & kFlagBits) != 0) StoreFlags();
    StoreVectors();
    StoreFloatingPoint();
    if (!is_legacy_ && width_ >= 32) emitter_->ClearUpperVectors();
    for (unsigned reg = kGprCount; reg-- > 0;) {
      if (Has(saved, reg)) emitter_->Pop(reg);
    }
    emitter_->Return();
  }

 private:
  // Returns the width of the widest vector operand, or 0 if there is none.
  unsigned VectorWidth() const {
    unsigned width = 0;
    for (const ZydisDecodedOperand& operand : decode_) {
      if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
      unsigned bytes = 0;
      switch (ZydisRegisterGetClass(operand.reg.value)) {
        case ZYDIS_REGCLASS_XMM:
          bytes = 16;
          break;
        case ZYDIS_REGCLASS_YMM:
          bytes = 32;
          break;
        case ZYDIS_REGCLASS_ZMM:
          bytes = 64;
          break;
        default:
          break;
      }
      if (bytes > width) width = bytes;
    }
    const bool is_evex = decode_.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    return is_evex && width != 0 && !features_.avx512vl ? 64 : width;
  }

  bool UsesX87() const { return (native_.writes & kX87Bit) != 0; }
  bool UsesMxcsr() const { return ((native_.reads | native_.writes) & kMxcsrBit) != 0; }

  // Flags need not be loaded if the instruction defines all of them independently of their old
  // values.
  bool LoadsFlags() const {
    if ((native_.reads & kFlagBits) != 0) return true;
    if ((native_.writes & kFlagBits) == 0) return false;
    const ZydisAccessedFlags* flags = decode_.instruction.cpu_flags;
    const uint64_t defined =
        (flags->modified | flags->set_0 | flags->set_1) & ~flags->undefined & kArithmeticFlags;
    return defined != kArithmeticFlags;
  }

  // SAHF loads all flags but the overflow flag, which an addition sets before: 0x78 + 8 overflows.
  void LoadFlags() {
    emitter_->Load32(kRax, base_, kFlagsOffset);
    emitter_->Bytes(0x66, 0xc1, 0xc0, 8);  // rol ax, 8
    emitter_->Bytes(0x24, 0x08);           // and al, 8
    emitter_->Bytes(0x04, 0x78);           // add al, 0x78
    emitter_->Byte(0x9e);                  // sahf
  }

  void StoreFlags() {
    const unsigned other = base_ == kRcx ? kRdx : kRcx;
    emitter_->Byte(0x9f);                  // lahf
    emitter_->Bytes(0x0f, 0x90, 0xc0);     // seto al
    emitter_->Bytes(0xc0, 0xe0, 3);        // shl al, 3
    emitter_->Bytes(0x66, 0xc1, 0xc0, 8);  // rol ax, 8
    emitter_->Byte(0x25);                  // and eax, imm32
    emitter_->Int32(kArithmeticFlags);
    emitter_->Load32(other, base_, kFlagsOffset);
    emitter_->Bytes(0x81, 0xe0 | other);  // and other, imm32
    emitter_->Int32(kFlagDf);
    emitter_->Bytes(0x09, 0xc0 | other << 3);  // or eax, other
    emitter_->StoreGpr(kRax, base_, kFlagsOffset);
  }

  void LoadFloatingPoint() {
    if (UsesX87()) {
      emitter_->StoreX87ControlToStack(kCallerX87Control);
      emitter_->StoreMxcsrToStack(kCallerMxcsr);
      emitter_->LoadX87(base_, kFxsaveOffset);  // and a stale MXCSR
    } else if (UsesMxcsr()) {
      emitter_->StoreMxcsrToStack(kCallerMxcsr);
    }
    if (UsesMxcsr()) emitter_->LoadMxcsr(base_, kMxcsrOffset);
  }

  void StoreFloatingPoint() {
    if (UsesMxcsr()) emitter_->StoreMxcsr(base_, kMxcsrOffset);
    if (UsesX87()) {
      emitter_->StoreX87(base_, kFxsaveOffset);
      ResetX87();
    }
    if (UsesX87() || UsesMxcsr()) emitter_->LoadMxcsrFromStack(kCallerMxcsr);
  }

  // Empties the x87 stack, as functions do. EMMS takes a fraction of FNINIT's time; it keeps the
  // status flags, which matter only if not all exceptions are masked.
  void ResetX87() {
    constexpr uint8_t kAllMasked = 0x3f;
    emitter_->Load32(kRax, base_, kFxsaveOffset);                   // the control word comes first
    emitter_->Bytes(0x23, 0x44, 0x24, uint8_t(kCallerX87Control));  // and eax, [rsp + ...]
    emitter_->Bytes(0xf7, 0xd0);                                    // not eax
    emitter_->Bytes(0xa8, kAllMasked);                              // test al, imm8
    emitter_->Bytes(0x74, 0x02);                                    // jz over fnclex
    emitter_->Bytes(0xdb, 0xe2);                                    // fnclex
    emitter_->Bytes(0x0f, 0x77);                                    // emms
    emitter_->LoadX87ControlFromStack(kCallerX87Control);
  }

  void LoadRegisters() {
    for (unsigned reg = 0; reg < kVectorCount; ++reg) {
      if (!Has(Vectors(native_.reads), reg)) continue;
      if (is_legacy_) {
        emitter_->LoadSse(reg, base_, VectorOffset(reg));
      } else {
        emitter_->LoadVector(width_, reg, base_, VectorOffset(reg));
      }
    }
    for (unsigned reg = 0; reg < kMaskCount; ++reg) {
      if (Has(Masks(native_.reads), reg)) {
        emitter_->LoadMask(features_.avx512bw, reg, base_, MaskOffset(reg));
      }
    }
    for (unsigned reg = 0; reg < kGprCount; ++reg) {
      if (Has(Gprs(native_.reads), reg)) emitter_->LoadGpr(reg, base_, GprOffset(reg));
    }
    if (HasImplicitAddress(decode_)) {
      emitter_->Bytes(0x48, 0x8d);  // lea rdi
      emitter_->ModRmMemory(kRdi, base_, kOperandOffset);
    }
  }

  void StoreGprs() {
    for (unsigned reg = 0; reg < kGprCount; ++reg) {
      if (Has(Gprs(native_.writes), reg)) emitter_->StoreGpr(reg, base_, GprOffset(reg));
    }
  }

  // All instructions but those of legacy SSE clear the register above their result.
  void StoreVectors() {
    const uint32_t written = Vectors(native_.writes);
    for (unsigned reg = 0; reg < kVectorCount; ++reg) {
      if (!Has(written, reg)) continue;
      if (is_legacy_) {
        emitter_->StoreSse(reg, base_, VectorOffset(reg));
      } else {
        emitter_->StoreVector(width_ == 64 ? 64 : 32, reg, base_, VectorOffset(reg));
      }
    }
    for (unsigned reg = 0; reg < kMaskCount; ++reg) {
      if (Has(Masks(native_.writes), reg)) {
        emitter_->StoreMask(features_.avx512bw, reg, base_, MaskOffset(reg));
      }
    }
    if (is_legacy_ || written == 0 || width_ == 64) return;
    constexpr unsigned kZero = 0;  // register 0 has been stored, if it was written
    emitter_->ClearVector(kZero);
    for (unsigned reg = 0; reg < kVectorCount; ++reg) {
      if (Has(written, reg)) {
        emitter_->StoreVector(32, kZero, base_, VectorOffset(reg) + 32);
      }
    }
  }

  const FullDecode& decode_;
  const NativeInstruction& native_;
  const CpuFeatures& features_;
  CodeEmitter* emitter_;
  const uint32_t used_gprs_;
  const unsigned base_;
  const bool is_legacy_;
  const unsigned width_;
};

}  // namespace

bool PrepareStub(const uint8_t* code, const FullDecode& decode, const NativeInstruction& native,
                 RewrittenInstruction* rewritten) {
  const uint32_t used = UsedGprs(decode, native);
  if (Has(used, kRsp)) return false;
  const unsigned base = ChooseBase(used);
  return base != kNoGpr && RewriteOperand(code, decode, base, rewritten);
}

void BuildStub(const FullDecode& decode, const NativeInstruction& native,
               const RewrittenInstruction& rewritten, const CpuFeatures& features,
               CodeEmitter* emitter) {
  StubBuilder(decode, native, features, emitter).Build(rewritten);
}

}  // namespace hbbp::trace
