// CodeEmitter emits the few machine instructions that frame a stub.
//
// Contract: async-signal-safe. Code that does not fit is dropped, and `overflow` is set.
#ifndef HBBP_LIB_TRACE_NATIVE_CODE_EMITTER_H_
#define HBBP_LIB_TRACE_NATIVE_CODE_EMITTER_H_

#include <cstddef>
#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

class CodeEmitter {
 public:
  const uint8_t* code() const { return code_; }
  size_t size() const { return size_; }
  bool overflow() const { return overflow_; }

  void Byte(unsigned value) {
    if (size_ < sizeof(code_)) {
      code_[size_++] = static_cast<uint8_t>(value);
    } else {
      overflow_ = true;
    }
  }

  template <typename... Values>
  void Bytes(Values... values) {
    (Byte(static_cast<unsigned>(values)), ...);
  }

  void Copy(const uint8_t* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) Byte(bytes[i]);
  }

  void Int32(int32_t value) {
    for (int shift = 0; shift < 32; shift += 8) Byte(static_cast<uint32_t>(value) >> shift & 0xff);
  }

  // Encodes [base + offset]; base is neither rsp nor r12.
  void ModRmMemory(unsigned reg, unsigned base, int32_t offset) {
    const bool is_short = offset >= -128 && offset <= 127;
    Byte((is_short ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
    if (is_short) {
      Byte(static_cast<uint32_t>(offset) & 0xff);
    } else {
      Int32(offset);
    }
  }

  // In the functions below, base is less than 8.
  void LoadGpr(unsigned reg, unsigned base, int32_t offset) {
    Bytes(0x48 | reg >> 3 << 2, 0x8b);
    ModRmMemory(reg, base, offset);
  }
  void StoreGpr(unsigned reg, unsigned base, int32_t offset) {
    Bytes(0x48 | reg >> 3 << 2, 0x89);
    ModRmMemory(reg, base, offset);
  }
  void Load32(unsigned reg, unsigned base, int32_t offset) {
    Byte(0x8b);
    ModRmMemory(reg, base, offset);
  }
  void Push(unsigned reg) {
    if (reg >= 8) Byte(0x41);
    Byte(0x50 | (reg & 7));
  }
  void Pop(unsigned reg) {
    if (reg >= 8) Byte(0x41);
    Byte(0x58 | (reg & 7));
  }
  void Return() { Byte(0xc3); }

  // Emits movaps.
  void LoadSse(unsigned reg, unsigned base, int32_t offset) { MoveSse(0x28, reg, base, offset); }
  void StoreSse(unsigned reg, unsigned base, int32_t offset) { MoveSse(0x29, reg, base, offset); }

  // Emits vmovaps of 16, 32 or 64 bytes, with AVX-512 only where the register or the width needs
  // it.
  void LoadVector(unsigned width, unsigned reg, unsigned base, int32_t offset) {
    MoveVector(0x28, width, reg, base, offset);
  }
  void StoreVector(unsigned width, unsigned reg, unsigned base, int32_t offset) {
    MoveVector(0x29, width, reg, base, offset);
  }
  // Emits vxorps xmm, xmm, xmm; reg < 16.
  void ClearVector(unsigned reg) {
    const unsigned high = reg >> 3;
    Bytes(0xc4, (high != 0 ? 0x00 : 0x80) | 0x40 | (high != 0 ? 0x00 : 0x20) | 0x01,
          (~reg & 15) << 3, 0x57, 0xc0 | (reg & 7) << 3 | (reg & 7));
  }
  void ClearUpperVectors() { Bytes(0xc5, 0xf8, 0x77); }

  // Emits kmovq, or kmovw without AVX512BW.
  void LoadMask(bool whole, unsigned reg, unsigned base, int32_t offset) {
    MoveMask(0x90, whole, reg, base, offset);
  }
  void StoreMask(bool whole, unsigned reg, unsigned base, int32_t offset) {
    MoveMask(0x91, whole, reg, base, offset);
  }

  void LoadMxcsr(unsigned base, int32_t offset) {
    Bytes(0x0f, 0xae);
    ModRmMemory(2, base, offset);
  }
  void StoreMxcsr(unsigned base, int32_t offset) {
    Bytes(0x0f, 0xae);
    ModRmMemory(3, base, offset);
  }
  // The offset is in the red zone.
  void LoadMxcsrFromStack(int8_t offset) { Bytes(0x0f, 0xae, 0x54, 0x24, uint8_t(offset)); }
  void StoreMxcsrToStack(int8_t offset) { Bytes(0x0f, 0xae, 0x5c, 0x24, uint8_t(offset)); }
  void LoadX87ControlFromStack(int8_t offset) { Bytes(0xd9, 0x6c, 0x24, uint8_t(offset)); }
  void StoreX87ControlToStack(int8_t offset) { Bytes(0xd9, 0x7c, 0x24, uint8_t(offset)); }
  void LoadX87(unsigned base, int32_t offset) {  // fxrstor64
    Bytes(0x48, 0x0f, 0xae);
    ModRmMemory(1, base, offset);
  }
  void StoreX87(unsigned base, int32_t offset) {  // fxsave64
    Bytes(0x48, 0x0f, 0xae);
    ModRmMemory(0, base, offset);
  }

 private:
  void MoveSse(unsigned opcode, unsigned reg, unsigned base, int32_t offset) {
    if (reg >= 8) Byte(0x44);
    Bytes(0x0f, opcode);
    ModRmMemory(reg, base, offset);
  }

  void MoveVector(unsigned opcode, unsigned width, unsigned reg, unsigned base, int32_t offset) {
    if (width < 64 && reg < 16) {
      Bytes(0xc5, (reg < 8 ? 0x80 : 0x00) | 0x78 | (width == 32 ? 0x04 : 0x00), opcode);
      ModRmMemory(reg, base, offset);
      return;
    }
    const unsigned length = width == 64 ? 2 : width == 32 ? 1 : 0;
    Bytes(0x62, ((reg & 8) != 0 ? 0x00 : 0x80) | 0x60 | ((reg & 16) != 0 ? 0x00 : 0x10) | 0x01,
          0x7c, length << 5 | 0x08, opcode, 0x80 | (reg & 7) << 3 | base);
    Int32(offset);
  }

  void MoveMask(unsigned opcode, bool whole, unsigned reg, unsigned base, int32_t offset) {
    if (whole) {
      Bytes(0xc4, 0xe1, 0xf8, opcode);
    } else {
      Bytes(0xc5, 0xf8, opcode);
    }
    ModRmMemory(reg, base, offset);
  }

  uint8_t code_[448];
  size_t size_ = 0;
  bool overflow_ = false;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_CODE_EMITTER_H_
