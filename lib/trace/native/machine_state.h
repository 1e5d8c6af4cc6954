// MachineState holds the registers of a thread as the interpreter sees them, and which are unknown.
//
// It is plain data. Native stubs (native_stub.h) address its members by offset.
#ifndef HBBP_LIB_TRACE_NATIVE_MACHINE_STATE_H_
#define HBBP_LIB_TRACE_NATIVE_MACHINE_STATE_H_

#include <cstdint>

namespace hbbp::trace {

// The numbers are those of encodings.
enum Gpr : uint8_t {
  kRax = 0,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kNoGpr = 16  // reads as zero and represents an absent base or index
};

inline constexpr uint64_t kFlagCf = 1u << 0;
inline constexpr uint64_t kFlagPf = 1u << 2;
inline constexpr uint64_t kFlagAf = 1u << 4;
inline constexpr uint64_t kFlagZf = 1u << 6;
inline constexpr uint64_t kFlagSf = 1u << 7;
inline constexpr uint64_t kFlagDf = 1u << 10;
inline constexpr uint64_t kFlagOf = 1u << 11;
inline constexpr uint64_t kArithmeticFlags =
    kFlagCf | kFlagPf | kFlagAf | kFlagZf | kFlagSf | kFlagOf;

// A set of registers has one bit for each: what an instruction reads or writes, or what is unknown
// ("poison").
using RegisterSet = uint64_t;

constexpr RegisterSet GprBit(unsigned number) { return RegisterSet{1} << number; }  // 0..15
inline constexpr RegisterSet kCfBit = RegisterSet{1} << 16;
inline constexpr RegisterSet kPfBit = RegisterSet{1} << 17;
inline constexpr RegisterSet kAfBit = RegisterSet{1} << 18;
inline constexpr RegisterSet kZfBit = RegisterSet{1} << 19;
inline constexpr RegisterSet kSfBit = RegisterSet{1} << 20;
inline constexpr RegisterSet kOfBit = RegisterSet{1} << 21;
inline constexpr RegisterSet kFlagBits = RegisterSet{0x3f} << 16;
inline constexpr RegisterSet kX87Bit = RegisterSet{1} << 22;  // the whole x87 and MMX state
inline constexpr RegisterSet kMxcsrBit = RegisterSet{1} << 23;
constexpr RegisterSet MaskBit(unsigned number) {
  return RegisterSet{1} << (24 + number);
}  // k0..k7
constexpr RegisterSet VectorBit(unsigned number) {
  return RegisterSet{1} << (32 + number);
}  // zmm0..31
inline constexpr RegisterSet kVectorStateBits = ~RegisterSet{0} << 22;

struct alignas(64) MachineState {
  uint64_t gpr[17];  // [kNoGpr] is 0
  uint64_t rip;
  uint64_t flags;  // kArithmeticFlags and DF, at their bits of RFLAGS; all other bits are 0
  uint64_t fs_base;
  uint64_t gs_base;
  RegisterSet poison;
  uint32_t mxcsr;
  uint32_t has_vector_state;  // 1 if mxcsr and all members below were loaded
  uint64_t k[8];
  // The memory operand of a native stub is loaded here before it runs and stored afterwards.
  alignas(64) uint8_t operand[64];
  alignas(64) uint8_t zmm[32][64];
  alignas(64) uint8_t fxsave[512];  // the x87 state, as fxsave64 writes it; its SSE part is stale
};

// Returns whether the general registers and the arithmetic flags that `predicted` knows are those
// of `found`.
inline bool RegistersMatch(const MachineState& predicted, const MachineState& found) {
  for (unsigned i = 0; i < 16; ++i) {
    if ((predicted.poison & GprBit(i)) == 0 && predicted.gpr[i] != found.gpr[i]) return false;
  }
  constexpr uint64_t kFlags[] = {kFlagCf, kFlagPf, kFlagAf, kFlagZf, kFlagSf, kFlagOf};
  uint64_t differing = predicted.flags ^ found.flags;
  for (unsigned i = 0; i < 6; ++i) {
    if (predicted.poison & (kCfBit << i)) differing &= ~kFlags[i];
  }
  return (differing & kArithmeticFlags) == 0;
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_MACHINE_STATE_H_
