// These handlers run native stubs, and execute instructions whose results cannot be known here.
//
// Contract: handlers (micro_op.h).
#include <immintrin.h>

#include <atomic>

#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/packed_flags.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kMxcsrMasks = 0x1f80;
constexpr uint16_t kX87Masks = 0x3f;

constexpr uint64_t Problem(Access access) { return 1 + static_cast<uint64_t>(access); }

uint16_t ControlWord(const MachineState& state) {
  uint16_t word;
  __builtin_memcpy(&word, state.fxsave, sizeof(word));
  return word;
}

// Prepares the state for the stub and loads its operand. Returns 0, or what prevents it from
// running.
[[gnu::noinline]] uint64_t PrepareNative(const MicroOp* op, Interpreter* m) {
  MachineState& state = m->state;
  const unsigned properties = op->b;
  if (properties & kNativeMxcsr) ExitFloat(m);
  if ((properties & kNativeMayRaiseSse) && (state.mxcsr & kMxcsrMasks) != kMxcsrMasks) {
    return kUnknownBytes;
  }
  if ((properties & kNativeMayRaiseX87) && (ControlWord(state) & kX87Masks) != kX87Masks) {
    return kUnknownBytes;
  }
  if ((properties & (kNativeReadsMemory | kNativeWritesMemory)) == 0) return 0;
  const uint64_t address = ComputeAddress(op, m);
  if (address & op->extra) return Problem(Access::kUnreadable);
  if (properties & kNativeWritesMemory) {
    const Access access = m->memory.PrepareWrite(address, op->a);
    if (access != Access::kOk) return Problem(access);
  }
  if (properties & kNativeReadsMemory) {
    uint64_t unknown = 0;
    const Access access = m->memory.Read(address, op->a, state.operand, &unknown);
    if (access != Access::kOk) return Problem(access);
    if (unknown != 0) return kUnknownBytes;
  }
  return 0;
}

// Handlers must not call through a pointer themselves (tests/tools/check_handler_jumps).
[[gnu::noinline]] void RunStub(MachineState* state, uint64_t stub) {
  reinterpret_cast<void (*)(MachineState*)>(stub)(state);
}

// If the stub faults, OnStubFault continues where this would.
[[gnu::always_inline]] inline void Execute(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->stub_op = op;
  m->stub_flags = flags;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  RunStub(&m->state, op->immediate);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Native(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t problem = PrepareNative(op, m);
  if (problem != 0) [[unlikely]]
    return OnLoadProblem(op, m, flags, problem);
  if (op->b & kNativeFlags) m->state.flags |= UnpackFlags(flags);
  // The address may depend on what the instruction writes.
  m->stub_address = ComputeAddress(op, m);
  Execute(op, m, flags);
  op = m->stub_op;
  flags = m->stub_flags;
  m->stub_op = nullptr;
  if (op->b & kNativeFlags) {
    flags = PackFlags(m->state.flags);
    m->state.flags &= kFlagDf;
  }
  if (op->b & kNativeWritesMemory) {
    m->memory.Write(m->stub_address, op->a, m->state.operand, 0);
  }
  HBBP_NEXT(op, m, flags);
}

// Runs a stub without memory operand, flags and floating point.
void NativeSimple(const MicroOp* op, Interpreter* m, uint64_t flags) {
  Execute(op, m, flags);
  op = m->stub_op;
  flags = m->stub_flags;
  m->stub_op = nullptr;
  HBBP_NEXT(op, m, flags);
}

// Runs a stub that only loads kBytes.
template <size_t kBytes>
void NativeLoad(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t address = ComputeAddress(op, m);
  const auto* source = static_cast<const uint8_t*>(m->memory.FastSource<kBytes>(address));
  if (source == nullptr || (address & op->extra) != 0) [[unlikely]] {
    HBBP_TAIL Native(op, m, flags);
  }
  // If the load faults, the operand is loaded again.
  uint8_t* const operand = m->state.operand;
  if constexpr (kBytes == 8) {
    uint64_t word;
    if (!GuardedLoad(source, &word)) HBBP_TAIL Native(op, m, flags);
    __builtin_memcpy(operand, &word, 8);
  } else {
    for (size_t i = 0; i < kBytes; i += 16) {
      __m128i part;
      if (!GuardedLoad(source + i, &part)) HBBP_TAIL Native(op, m, flags);
      _mm_store_si128(reinterpret_cast<__m128i*>(operand + i), part);
    }
  }
  Execute(op, m, flags);
  op = m->stub_op;
  flags = m->stub_flags;
  m->stub_op = nullptr;
  HBBP_NEXT(op, m, flags);
}

void Unknown(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_TAIL OnUnknownInput(op, m, flags);
}

// XCR0 (index 0) is the same for the whole process. The components in use (index 1) are not those
// of the program.
void ReadXcr(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if (static_cast<uint32_t>(m->state.gpr[kRcx]) != 0) HBBP_TAIL OnUnknownInput(op, m, flags);
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  m->state.gpr[kRax] = low;
  m->state.gpr[kRdx] = high;
  HBBP_NEXT(op, m, flags);
}

// Without shadow stacks rdssp does nothing.
void ShadowStack(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t pointer = 0;
  asm("rdsspq %0" : "+r"(pointer));
  if (pointer != 0) HBBP_TAIL OnUnknownInput(op, m, flags);
  HBBP_NEXT(op, m, flags);
}

}  // namespace

void OnStubFault(Interpreter* m) {
  const MicroOp* op = m->stub_op;
  m->stub_op = nullptr;
  m->state.flags &= kFlagDf;
  OnUnknownInput(op, m, m->stub_flags);
}

constinit const Handler kNative = Native;
constinit const Handler kNativeSimple = NativeSimple;
constinit const Handler kNativeLoad[3] = {NativeLoad<8>, NativeLoad<16>, NativeLoad<32>};
constinit const Handler kUnknown = Unknown;
constinit const Handler kReadXcr = ReadXcr;
constinit const Handler kShadowStack = ShadowStack;

}  // namespace hbbp::trace
