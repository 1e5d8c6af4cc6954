// These handlers execute xsave and xrstor, as the dynamic linker uses them around lazy binding: the
// saved memory is unknown to loads, and a separate copy serves the xrstor that follows.
//
// Contract: handlers (micro_op.h), in blocks that are marked as using the vector state.
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kX87 = 1u << 0;
constexpr uint64_t kSse = 1u << 1;
constexpr uint64_t kAvx = 1u << 2;
constexpr uint64_t kOpmask = 1u << 5;
constexpr uint64_t kZmmHi256 = 1u << 6;
constexpr uint64_t kHi16Zmm = 1u << 7;
constexpr uint64_t kLowVectors = kSse | kAvx | kZmmHi256;
constexpr RegisterSet kLowVectorBits = RegisterSet{0xffff} << 32;
constexpr RegisterSet kHighVectorBits = RegisterSet{0xffff} << 48;
constexpr RegisterSet kMaskBits = RegisterSet{0xff} << 24;
constexpr uint64_t kXsaveAlignment = 64;

uint64_t Requested(const Interpreter* m) {
  const uint64_t mask = (m->state.gpr[kRdx] << 32) | (m->state.gpr[kRax] & 0xffffffff);
  return mask & m->code_cache->xsave_layout().enabled;
}

[[gnu::noinline]] Access Save(Interpreter* m, uint64_t address, bool is_compacted) {
  ExitFloat(m);
  if (address % kXsaveAlignment != 0) return Access::kUnreadable;
  SavedVectorState& saved = m->saved;
  const uint64_t components = Requested(m);
  const size_t bytes = m->code_cache->xsave_layout().AreaBytes(components, is_compacted);
  saved.is_valid = false;
  const Access access = m->memory.WriteUnknown(address, bytes);
  if (access != Access::kOk) return access;
  saved.is_valid = true;
  saved.address = address;
  saved.components = components;
  saved.bytes = bytes;
  saved.poison = m->state.poison;
  saved.mxcsr = m->state.mxcsr;
  __builtin_memcpy(saved.k, m->state.k, sizeof(saved.k));
  __builtin_memcpy(saved.zmm, m->state.zmm, sizeof(saved.zmm));
  __builtin_memcpy(saved.fxsave, m->state.fxsave, sizeof(saved.fxsave));
  return Access::kOk;
}

// Returns false if the memory does not hold what was saved last.
[[gnu::noinline]] bool Restore(Interpreter* m, uint64_t address) {
  ExitFloat(m);
  const SavedVectorState& saved = m->saved;
  const uint64_t components = Requested(m);
  if (!saved.is_valid || saved.address != address || saved.components != components ||
      !m->memory.IsUnknown(address, saved.bytes)) {
    return false;
  }
  MachineState& state = m->state;
  RegisterSet restored = 0;
  for (unsigned i = 0; i < 16; ++i) {
    if (components & kSse) __builtin_memcpy(state.zmm[i], saved.zmm[i], 16);
    if (components & kAvx) __builtin_memcpy(state.zmm[i] + 16, saved.zmm[i] + 16, 16);
    if (components & kZmmHi256) __builtin_memcpy(state.zmm[i] + 32, saved.zmm[i] + 32, 32);
    if (components & kHi16Zmm) __builtin_memcpy(state.zmm[16 + i], saved.zmm[16 + i], 64);
  }
  const uint64_t low_vectors = kLowVectors & m->code_cache->xsave_layout().enabled;
  if ((components & low_vectors) == low_vectors) {
    restored |= kLowVectorBits;
  } else if (components & low_vectors) {
    state.poison |= saved.poison & kLowVectorBits;
  }
  if (components & kHi16Zmm) restored |= kHighVectorBits;
  if (components & (kSse | kAvx)) {
    state.mxcsr = saved.mxcsr;
    restored |= kMxcsrBit;
  }
  if (components & kOpmask) {
    __builtin_memcpy(state.k, saved.k, sizeof(saved.k));
    restored |= kMaskBits;
  }
  if (components & kX87) {
    __builtin_memcpy(state.fxsave, saved.fxsave, sizeof(saved.fxsave));
    restored |= kX87Bit;
  }
  state.poison = (state.poison & ~restored) | (saved.poison & restored);
  return true;
}

void SaveVectorState(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const Access access = Save(m, ComputeAddress(op, m), op->a != 0);
  if (access != Access::kOk) return OnAccess(op, m, flags, access);
  HBBP_NEXT(op, m, flags);
}

void RestoreVectorState(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if (!Restore(m, ComputeAddress(op, m))) HBBP_TAIL OnUnknownInput(op, m, flags);
  if (m->state.poison != 0) m->enter_burst = kNoBurst;  // the block ends here
  HBBP_NEXT(op, m, flags);
}

}  // namespace

constinit const Handler kSaveVectorState = SaveVectorState;
constinit const Handler kRestoreVectorState = RestoreVectorState;

}  // namespace hbbp::trace
