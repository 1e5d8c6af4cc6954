// These handlers execute vector arithmetic of 128 bits and scalar floating point, by the real
// instructions. Instructions that depend on MXCSR run with the program's value: EnterFloat loads it
// for the first of them, and ExitFloat restores the host's. The tables at the end are for the
// lifter.
//
// Contract: handlers (micro_op.h), in blocks that are marked as using the vector state. Memory is
// read before anything is changed. If MXCSR does not mask all exceptions, the results are unknown.
#include <immintrin.h>

#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/operands.h"
#include "trace/interpreter/packed_flags.h"
#include "trace/interpreter/vector_operations.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kMxcsrMasks = 0x1f80;

[[gnu::noinline]] bool LoadMxcsr(Interpreter* m) {
  if ((m->state.mxcsr & kMxcsrMasks) != kMxcsrMasks) return false;
  asm volatile("stmxcsr %0" : "=m"(m->host_mxcsr));
  asm volatile("ldmxcsr %0" : : "m"(m->state.mxcsr));
  m->has_program_mxcsr = true;
  return true;
}

[[gnu::always_inline]] inline bool EnterFloat(Interpreter* m) {
  return m->has_program_mxcsr || LoadMxcsr(m);
}

[[gnu::noinline]] uint64_t LoadToBuffer(Interpreter* m, uint64_t address, size_t size) {
  uint64_t unknown = 0;
  const Access access = m->memory.Read(address, size, m->state.operand, &unknown);
  if (access != Access::kOk) return 1 + static_cast<uint64_t>(access);
  return unknown != 0 ? kUnknownBytes : 0;
}

[[gnu::always_inline]] inline __m128i Vector(Interpreter* m, unsigned offset) {
  return _mm_loadu_si128(&m->At<__m128i>(offset));
}

// Loads the low kBytes from `source`.
template <size_t kBytes>
[[gnu::always_inline]] inline __m128i FromMemory(const void* source, bool* is_read) {
  const auto* bytes = static_cast<const uint8_t*>(source);
  if constexpr (kBytes == 4) {
    uint32_t value = 0;
    *is_read = GuardedLoad(bytes, &value);
    return _mm_cvtsi32_si128(static_cast<int>(value));
  } else if constexpr (kBytes == 8) {
    uint64_t value = 0;
    *is_read = GuardedLoad(bytes, &value);
    return _mm_cvtsi64_si128(static_cast<long long>(value));
  } else {
    __m128i value = _mm_setzero_si128();
    *is_read = GuardedLoad(bytes, &value);
    return value;
  }
}

template <VectorForm kForm>
[[gnu::always_inline]] inline void Write(Interpreter* m, unsigned offset, __m128i value) {
  _mm_storeu_si128(&m->At<__m128i>(offset), value);
  if constexpr (kForm == kVex) __builtin_memset(&m->At<uint8_t>(offset + 16), 0, 48);
}

template <VectorOperation kOperation>
struct Operation;

#define HBBP_VECTOR_OPERATION(name, prefix, opcode, bytes, uses_mxcsr) \
  template <>                                                          \
  struct Operation<kVector_##name> {                                   \
    static constexpr size_t kBytes = bytes;                            \
    static constexpr bool kUsesMxcsr = uses_mxcsr;                     \
    [[gnu::always_inline]] static __m128i Do(__m128i x, __m128i y) {   \
      asm volatile(#name " %[y], %[x]" : [x] "+x"(x) : [y] "x"(y));    \
      return x;                                                        \
    }                                                                  \
  };
HBBP_VECTOR_OPERATIONS(HBBP_VECTOR_OPERATION)
#undef HBBP_VECTOR_OPERATION

// Computes a = b operation the register at offset `immediate`.
template <VectorOperation kOperation, VectorForm kForm>
void WithReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if constexpr (Operation<kOperation>::kUsesMxcsr) {
    if (!EnterFloat(m)) [[unlikely]]
      HBBP_TAIL OnUnknownInput(op, m, flags);
  }
  const __m128i y = Vector(m, static_cast<unsigned>(op->immediate));
  Write<kForm>(m, op->a, Operation<kOperation>::Do(Vector(m, op->b), y));
  HBBP_NEXT(op, m, flags);
}

// Computes a = b operation memory.
template <VectorOperation kOperation, VectorForm kForm>
[[gnu::noinline, gnu::cold]] void WithMemSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  constexpr size_t kBytes = Operation<kOperation>::kBytes;
  const uint64_t address = ComputeAddress(op, m);
  if (address & op->extra) return StopAt(op, m, flags, StopReason::kUnreadableMemory);
  const uint64_t problem = LoadToBuffer(m, address, kBytes);
  if (problem != 0) return OnLoadProblem(op, m, flags, problem);
  const __m128i y = Vector(m, WordOffset(kValueTemp));
  Write<kForm>(m, op->a, Operation<kOperation>::Do(Vector(m, op->b), y));
  HBBP_NEXT(op, m, flags);
}

template <VectorOperation kOperation, VectorForm kForm>
void WithMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  constexpr size_t kBytes = Operation<kOperation>::kBytes;
  if constexpr (Operation<kOperation>::kUsesMxcsr) {
    if (!EnterFloat(m)) [[unlikely]]
      HBBP_TAIL OnUnknownInput(op, m, flags);
  }
  const uint64_t address = ComputeAddress(op, m);
  const void* source = m->memory.FastSource<kBytes>(address);
  if (source == nullptr || (address & op->extra) != 0) [[unlikely]] {
    HBBP_TAIL(WithMemSlow<kOperation, kForm>(op, m, flags));
  }
  bool is_read;
  const __m128i y = FromMemory<kBytes>(source, &is_read);
  if (!is_read) [[unlikely]]
    HBBP_TAIL(WithMemSlow<kOperation, kForm>(op, m, flags));
  Write<kForm>(m, op->a, Operation<kOperation>::Do(Vector(m, op->b), y));
  HBBP_NEXT(op, m, flags);
}

// ucomis and comis compare a with b, or with a temporary; they differ in the exceptions that they
// flag.
template <bool kDouble, bool kOrdered>
void CompareScalars(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if (!EnterFloat(m)) [[unlikely]]
    HBBP_TAIL OnUnknownInput(op, m, flags);
  const __m128i x = Vector(m, op->a);
  const __m128i y = Vector(m, op->b);
  uint64_t packed;
  if constexpr (kDouble && kOrdered) {
    asm volatile("comisd %[y], %[x]\n\tlahf\n\tseto %%al"
                 : "=&a"(packed)
                 : [x] "x"(x), [y] "x"(y)
                 : "cc");
  } else if constexpr (kDouble) {
    asm volatile("ucomisd %[y], %[x]\n\tlahf\n\tseto %%al"
                 : "=&a"(packed)
                 : [x] "x"(x), [y] "x"(y)
                 : "cc");
  } else if constexpr (kOrdered) {
    asm volatile("comiss %[y], %[x]\n\tlahf\n\tseto %%al"
                 : "=&a"(packed)
                 : [x] "x"(x), [y] "x"(y)
                 : "cc");
  } else {
    asm volatile("ucomiss %[y], %[x]\n\tlahf\n\tseto %%al"
                 : "=&a"(packed)
                 : [x] "x"(x), [y] "x"(y)
                 : "cc");
  }
  HBBP_NEXT(op, m, packed);
}

// cvtsi2ss and cvtsi2sd: a = b with its low part from the integer at offset `immediate`.
template <bool kDouble, typename T, VectorForm kForm>
void FromInteger(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if (!EnterFloat(m)) [[unlikely]]
    HBBP_TAIL OnUnknownInput(op, m, flags);
  __m128i x = Vector(m, op->b);
  const T value = m->At<T>(static_cast<unsigned>(op->immediate));
  if constexpr (kDouble && sizeof(T) == 8) {
    asm volatile("cvtsi2sdq %[value], %[x]" : [x] "+x"(x) : [value] "r"(value));
  } else if constexpr (kDouble) {
    asm volatile("cvtsi2sdl %[value], %[x]" : [x] "+x"(x) : [value] "r"(value));
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("cvtsi2ssq %[value], %[x]" : [x] "+x"(x) : [value] "r"(value));
  } else {
    asm volatile("cvtsi2ssl %[value], %[x]" : [x] "+x"(x) : [value] "r"(value));
  }
  Write<kForm>(m, op->a, x);
  HBBP_NEXT(op, m, flags);
}

// cvtss2si, cvttss2si, cvtsd2si and cvttsd2si: a = b.
template <bool kDouble, bool kTruncates, typename T>
void ToInteger(const MicroOp* op, Interpreter* m, uint64_t flags) {
  if (!EnterFloat(m)) [[unlikely]]
    HBBP_TAIL OnUnknownInput(op, m, flags);
  const __m128i x = Vector(m, op->b);
  T value;
  if constexpr (kDouble && kTruncates) {
    asm volatile("cvttsd2si %[x], %[value]" : [value] "=r"(value) : [x] "x"(x));
  } else if constexpr (kDouble) {
    asm volatile("cvtsd2si %[x], %[value]" : [value] "=r"(value) : [x] "x"(x));
  } else if constexpr (kTruncates) {
    asm volatile("cvttss2si %[x], %[value]" : [value] "=r"(value) : [x] "x"(x));
  } else {
    asm volatile("cvtss2si %[x], %[value]" : [value] "=r"(value) : [x] "x"(x));
  }
  SetRegister<T>(m, op->a, value);
  HBBP_NEXT(op, m, flags);
}

void ByteSigns(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->At<uint64_t>(op->a) = static_cast<uint32_t>(_mm_movemask_epi8(Vector(m, op->b)));
  HBBP_NEXT(op, m, flags);
}

}  // namespace

void ExitFloat(Interpreter* m) {
  if (!m->has_program_mxcsr) return;
  asm volatile("stmxcsr %0" : "=m"(m->state.mxcsr));
  asm volatile("ldmxcsr %0" : : "m"(m->host_mxcsr));
  m->has_program_mxcsr = false;
}

constinit const VectorOperationHandlers kVectorOperation[kVectorOperations] = {
#define HBBP_VECTOR_HANDLERS(name, prefix, opcode, bytes, uses_mxcsr) \
  {{WithReg<kVector_##name, kLegacy>, WithReg<kVector_##name, kVex>}, \
   {WithMem<kVector_##name, kLegacy>, WithMem<kVector_##name, kVex>}},
    HBBP_VECTOR_OPERATIONS(HBBP_VECTOR_HANDLERS)
#undef HBBP_VECTOR_HANDLERS
};
constinit const Handler kCompareScalars[2][2] = {
    {CompareScalars<false, false>, CompareScalars<false, true>},
    {CompareScalars<true, false>, CompareScalars<true, true>}};
constinit const Handler kFromInteger[2][2][kVectorForms] = {
    {{FromInteger<false, uint32_t, kLegacy>, FromInteger<false, uint32_t, kVex>},
     {FromInteger<false, uint64_t, kLegacy>, FromInteger<false, uint64_t, kVex>}},
    {{FromInteger<true, uint32_t, kLegacy>, FromInteger<true, uint32_t, kVex>},
     {FromInteger<true, uint64_t, kLegacy>, FromInteger<true, uint64_t, kVex>}}};
constinit const Handler kToInteger[2][2][2] = {
    {{ToInteger<false, false, uint32_t>, ToInteger<false, false, uint64_t>},
     {ToInteger<false, true, uint32_t>, ToInteger<false, true, uint64_t>}},
    {{ToInteger<true, false, uint32_t>, ToInteger<true, false, uint64_t>},
     {ToInteger<true, true, uint32_t>, ToInteger<true, true, uint64_t>}}};
constinit const Handler kByteSigns = ByteSigns;

}  // namespace hbbp::trace
