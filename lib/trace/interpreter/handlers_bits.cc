// These handlers execute shifts, rotations, bit operations, multiplication and division, on
// registers and temporaries. They execute the real instructions with the previous flags, so that
// flags that the architecture leaves undefined have the values of this processor. The tables at the
// end, which the lifter uses, have a handler for each operation and size.
//
// Contract: handlers (micro_op.h). They do not access memory, but for kRotateMemory and
// kCompareExchangeWide.
#include "trace/interpreter/branch_end.h"
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/operands.h"
#include "trace/interpreter/shift_table.h"

namespace hbbp::trace {
namespace {

// Wraps an instruction that keeps some flags or leaves them undefined; ax holds the packed flags.
#define HBBP_WITH_FLAGS(instruction) \
  "addb $0x7f, %%al\n\tsahf\n\t" instruction "\n\tlahf\n\tseto %%al"

template <ShiftOperation kOperation, typename T>
[[gnu::always_inline]] inline T ShiftWithFlags(T x, uint8_t count, uint64_t* flags) {
  uint64_t packed = *flags & 0xffff;
#define HBBP_SHIFT(name) \
  asm(HBBP_WITH_FLAGS(name " %%cl, %[x]") : [x] "+&q"(x), "+&a"(packed) : "c"(count) : "cc")
  if constexpr (kOperation == kRol) HBBP_SHIFT("rol");
  if constexpr (kOperation == kRor) HBBP_SHIFT("ror");
  if constexpr (kOperation == kRcl) HBBP_SHIFT("rcl");
  if constexpr (kOperation == kRcr) HBBP_SHIFT("rcr");
  if constexpr (kOperation == kShl || kOperation == kSal) HBBP_SHIFT("shl");
  if constexpr (kOperation == kShr) HBBP_SHIFT("shr");
  if constexpr (kOperation == kSar) HBBP_SHIFT("sar");
#undef HBBP_SHIFT
  *flags = packed;
  return x;
}

// Rotates a temporary by a constant.
template <ShiftOperation kOperation, typename T>
void RotateMemory(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t packed = flags & 0xffff;
  constexpr unsigned kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  asm volatile(HBBP_WITH_FLAGS("call hbbp_trace_run_shift")
               : "+a"(packed)
               : "c"(&m->At<T>(op->a)),
                 "S"(hbbp_trace_memory_rotations[kOperation][kSize][op->immediate % 64])
               : "cc", "memory");
  HBBP_NEXT(op, m, packed);
}

#define HBBP_ROTATE_MEMORY(operation)                                        \
  {                                                                          \
    RotateMemory<operation, uint8_t>, RotateMemory<operation, uint16_t>,     \
        RotateMemory<operation, uint32_t>, RotateMemory<operation, uint64_t> \
  }

// Shifts by a constant, with the code `shift` of shift_table.h.
template <typename T>
[[gnu::always_inline]] inline T ShiftByTable(T x, T y, const uint8_t* shift, uint64_t* flags) {
  uint64_t packed = *flags & 0xffff;
  asm(HBBP_WITH_FLAGS("call hbbp_trace_run_shift")
      : "+c"(x), "+a"(packed)
      : "d"(y), "S"(shift)
      : "cc");
  *flags = packed;
  return x;
}

template <typename T>
constexpr unsigned kSizeOf = sizeof(T) == 1   ? 0
                             : sizeof(T) == 2 ? 1
                             : sizeof(T) == 4 ? 2
                                              : 3;

template <ShiftOperation kOperation, typename T>
[[gnu::always_inline]] inline T ShiftFlagless(T x, uint8_t count) {
  constexpr unsigned kBits = sizeof(T) * 8;
  count %= kBits;  // the size is 32 or 64 bits
  using Signed = std::make_signed_t<T>;
  if constexpr (kOperation == kShr) return static_cast<T>(x >> count);
  if constexpr (kOperation == kSar) return static_cast<T>(static_cast<Signed>(x) >> count);
  if constexpr (kOperation == kRol) {
    return static_cast<T>((x << count) | (x >> ((kBits - count) % kBits)));
  }
  if constexpr (kOperation == kRor) {
    return static_cast<T>((x >> count) | (x << ((kBits - count) % kBits)));
  }
  return static_cast<T>(x << count);
}

template <ShiftOperation kOperation, typename T, bool kByCl, bool kNeedsFlags>
void Shift(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const auto count = static_cast<uint8_t>(kByCl ? m->state.gpr[kRcx] : op->immediate);
  T x = m->At<T>(op->a);
  if constexpr (kNeedsFlags && kByCl) {
    x = ShiftWithFlags<kOperation>(x, count, &flags);
  } else if constexpr (kNeedsFlags) {
    x = ShiftByTable<T>(x, T{}, hbbp_trace_shifts[kOperation][kSizeOf<T>][count % 64], &flags);
  } else {
    x = ShiftFlagless<kOperation>(x, count);
  }
  SetRegister<T>(m, op->a, x);
  HBBP_NEXT(op, m, flags);
}

template <ShiftOperation kOperation, typename T>
constexpr ShiftHandlers ShiftForms() {
  if constexpr (sizeof(T) >= 4 && kOperation != kRcl && kOperation != kRcr) {
    return {{Shift<kOperation, T, false, false>, Shift<kOperation, T, false, true>},
            {Shift<kOperation, T, true, false>, Shift<kOperation, T, true, true>}};
  } else {
    return {{Shift<kOperation, T, false, true>, Shift<kOperation, T, false, true>},
            {Shift<kOperation, T, true, true>, Shift<kOperation, T, true, true>}};
  }
}

#define HBBP_SHIFT_SIZES(operation)                                          \
  {                                                                          \
    ShiftForms<operation, uint8_t>(), ShiftForms<operation, uint16_t>(),     \
        ShiftForms<operation, uint32_t>(), ShiftForms<operation, uint64_t>() \
  }

template <bool kRight, typename T, bool kByCl>
void DoubleShift(const MicroOp* op, Interpreter* m, uint64_t flags) {
  T x = m->At<T>(op->a);
  const T y = m->At<T>(op->b);
  if constexpr (kByCl) {
    const auto count = static_cast<uint8_t>(m->state.gpr[kRcx]);
    uint64_t packed = flags & 0xffff;
    if constexpr (kRight) {
      asm(HBBP_WITH_FLAGS("shrd %%cl, %[y], %[x]")
          : [x] "+&r"(x), "+&a"(packed)
          : [y] "r"(y), "c"(count)
          : "cc");
    } else {
      asm(HBBP_WITH_FLAGS("shld %%cl, %[y], %[x]")
          : [x] "+&r"(x), "+&a"(packed)
          : [y] "r"(y), "c"(count)
          : "cc");
    }
    flags = packed;
  } else {
    const auto& table = hbbp_trace_double_shifts[kRight][kSizeOf<T> - 1];
    x = ShiftByTable<T>(x, y, table[op->immediate % 64], &flags);
  }
  SetRegister<T>(m, op->a, x);
  HBBP_NEXT(op, m, flags);
}

#define HBBP_DOUBLE_SHIFTS(by_cl)                                                       \
  {                                                                                     \
    {nullptr, DoubleShift<false, uint16_t, by_cl>, DoubleShift<false, uint32_t, by_cl>, \
     DoubleShift<false, uint64_t, by_cl>},                                              \
    {                                                                                   \
      nullptr, DoubleShift<true, uint16_t, by_cl>, DoubleShift<true, uint32_t, by_cl>,  \
          DoubleShift<true, uint64_t, by_cl>                                            \
    }                                                                                   \
  }

enum BitTestOperation { kBt, kBts, kBtr, kBtc };

template <BitTestOperation kOperation, typename T, bool kByReg>
void BitTest(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T bit = kByReg ? m->At<T>(op->b) : static_cast<T>(op->immediate);
  uint64_t packed = flags & 0xffff;
  T x = m->At<T>(op->a);
#define HBBP_BIT_TEST(name) \
  asm(HBBP_WITH_FLAGS(name " %[bit], %[x]") : [x] "+&r"(x), "+&a"(packed) : [bit] "r"(bit) : "cc")
  if constexpr (kOperation == kBt) HBBP_BIT_TEST("bt");
  if constexpr (kOperation == kBts) HBBP_BIT_TEST("bts");
  if constexpr (kOperation == kBtr) HBBP_BIT_TEST("btr");
  if constexpr (kOperation == kBtc) HBBP_BIT_TEST("btc");
#undef HBBP_BIT_TEST
  if constexpr (kOperation != kBt) SetRegister<T>(m, op->a, x);
  HBBP_NEXT(op, m, packed);
}

#define HBBP_BIT_TESTS(operation, by_reg)                                                \
  {                                                                                      \
    nullptr, BitTest<operation, uint16_t, by_reg>, BitTest<operation, uint32_t, by_reg>, \
        BitTest<operation, uint64_t, by_reg>                                             \
  }

template <typename T>
void BitStringAddress(const MicroOp* op, Interpreter* m, uint64_t flags) {
  constexpr int kBits = sizeof(T) * 8;
  const int64_t bit = m->At<T>(op->b);
  const int64_t element = bit >> __builtin_ctz(kBits);
  m->At<uint64_t>(op->a) =
      ComputeAddress(op, m) + static_cast<uint64_t>(element * int64_t{sizeof(T)});
  HBBP_NEXT(op, m, flags);
}

template <typename T, bool kNeedsFlags>
[[gnu::always_inline]] inline T Multiply(T x, T y, uint64_t* flags) {
  if constexpr (!kNeedsFlags) return static_cast<T>(x * y);
  uint64_t packed = *flags & 0xffff;
  asm(HBBP_WITH_FLAGS("imul %[y], %[x]") : [x] "+&r"(x), "+&a"(packed) : [y] "r"(y) : "cc");
  *flags = packed;
  return x;
}

template <typename T, bool kNeedsFlags>
void ImulRegReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<T>(m, op->a, Multiply<T, kNeedsFlags>(m->At<T>(op->a), m->At<T>(op->b), &flags));
  HBBP_NEXT(op, m, flags);
}

template <typename T, bool kNeedsFlags>
void ImulRegRegImm(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<T>(m, op->a,
                 Multiply<T, kNeedsFlags>(m->At<T>(op->b), static_cast<T>(op->immediate), &flags));
  HBBP_NEXT(op, m, flags);
}

template <bool kSigned, typename T>
void Mul(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T y = m->At<T>(op->a);
  uint64_t packed = flags & 0xffff;
  if constexpr (sizeof(T) == 1) {
    uint16_t product = m->At<uint8_t>(WordOffset(kRax));
    uint64_t result;
    if constexpr (kSigned) {
      asm("mov %[packed], %%rax\n\taddb $0x7f, %%al\n\tsahf\n\tmovzwl %[x], %%eax\n\t"
          "imulb %[y]\n\tmovzwl %%ax, %%ecx\n\tlahf\n\tseto %%al"
          : "=&a"(result), "=&c"(product)
          : [x] "r"(product), [y] "q"(y), [packed] "r"(packed)
          : "cc");
    } else {
      asm("mov %[packed], %%rax\n\taddb $0x7f, %%al\n\tsahf\n\tmovzwl %[x], %%eax\n\t"
          "mulb %[y]\n\tmovzwl %%ax, %%ecx\n\tlahf\n\tseto %%al"
          : "=&a"(result), "=&c"(product)
          : [x] "r"(product), [y] "q"(y), [packed] "r"(packed)
          : "cc");
    }
    m->At<uint16_t>(WordOffset(kRax)) = product;
    HBBP_NEXT(op, m, result);
  } else {
    T low = m->At<T>(WordOffset(kRax));
    T high;
    uint64_t result;
    if constexpr (kSigned) {
      asm("addb $0x7f, %%al\n\tsahf\n\tmov %[x], %%rax\n\timul %[y]\n\t"
          "mov %%rax, %[low]\n\tlahf\n\tseto %%al"
          : "=&a"(result), "=&d"(high), [low] "=&r"(packed)
          : "0"(packed), [x] "r"(uint64_t{low}), [y] "r"(y)
          : "cc");
    } else {
      asm("addb $0x7f, %%al\n\tsahf\n\tmov %[x], %%rax\n\tmul %[y]\n\t"
          "mov %%rax, %[low]\n\tlahf\n\tseto %%al"
          : "=&a"(result), "=&d"(high), [low] "=&r"(packed)
          : "0"(packed), [x] "r"(uint64_t{low}), [y] "r"(y)
          : "cc");
    }
    low = static_cast<T>(packed);
    SetRegister<T>(m, WordOffset(kRax), low);
    SetRegister<T>(m, WordOffset(kRdx), high);
    HBBP_NEXT(op, m, result);
  }
}

#define HBBP_DIVIDE(name)                                                               \
  asm("mov %[packed], %%rax\n\taddb $0x7f, %%al\n\tsahf\n\t"                            \
      "mov %[x], %%rax\n\t" name " %[y]\n\tmov %%rax, %[quotient]\n\tlahf\n\tseto %%al" \
      : "=&a"(result), "+&d"(high), [quotient] "=&r"(quotient)                          \
      : [packed] "r"(packed), [x] "r"(uint64_t{low}), [y] "r"(y)                        \
      : "cc")

// A division that would fault is not executed: the run stops, and the program gets its SIGFPE
// there.
template <bool kSigned, typename T>
void Div(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T y = m->At<T>(op->a);
  const uint64_t packed = flags & 0xffff;
  uint64_t result, quotient;
  if constexpr (sizeof(T) == 1) {
    const uint16_t low = m->At<uint16_t>(WordOffset(kRax));
    if (y == 0) return StopAt(op, m, flags, StopReason::kTrap);
    if constexpr (kSigned) {
      const int wide = static_cast<int16_t>(low) / static_cast<int8_t>(y);
      if (wide < -128 || wide > 127) return StopAt(op, m, flags, StopReason::kTrap);
    } else {
      if (low / y > 255) return StopAt(op, m, flags, StopReason::kTrap);
    }
    T high = 0;
    if constexpr (kSigned) {
      HBBP_DIVIDE("idiv");
    } else {
      HBBP_DIVIDE("div");
    }
    m->At<uint16_t>(WordOffset(kRax)) = static_cast<uint16_t>(quotient);
  } else {
    const T low = m->At<T>(WordOffset(kRax));
    T high = m->At<T>(WordOffset(kRdx));
    if (y == 0) return StopAt(op, m, flags, StopReason::kTrap);
    if constexpr (kSigned) {
      using Signed = std::make_signed_t<T>;
      constexpr unsigned kBits = sizeof(T) * 8;
      const auto dividend = static_cast<__int128>(
          (static_cast<unsigned __int128>(static_cast<__int128>(static_cast<Signed>(high)))
           << kBits) |
          low);
      // It compares absolute values, so that nothing overflows.
      const bool negative = (static_cast<Signed>(high) < 0) != (static_cast<Signed>(y) < 0);
      const auto magnitude = dividend < 0 ? -static_cast<unsigned __int128>(dividend)
                                          : static_cast<unsigned __int128>(dividend);
      const T divisor = static_cast<Signed>(y) < 0 ? static_cast<T>(-y) : y;
      const auto limit = static_cast<unsigned __int128>(static_cast<T>(T{1} << (kBits - 1)));
      // This is quotient > limit - !negative, without a division of 128 bits.
      const unsigned __int128 too_large = (limit + (negative ? 1 : 0)) * divisor;
      if (magnitude >= too_large) return StopAt(op, m, flags, StopReason::kTrap);
      HBBP_DIVIDE("idiv");
    } else {
      if (high >= y) return StopAt(op, m, flags, StopReason::kTrap);
      HBBP_DIVIDE("div");
    }
    SetRegister<T>(m, WordOffset(kRax), static_cast<T>(quotient));
    SetRegister<T>(m, WordOffset(kRdx), high);
  }
  HBBP_NEXT(op, m, result);
}

template <BitScanOperation kOperation, typename T>
void BitScan(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t packed = flags & 0xffff;
  // x has 64 bits, because bsf and bsr of 0 keep all of them.
  uint64_t x = m->At<uint64_t>(op->a);
  const T y = m->At<T>(op->b);
#define HBBP_BIT_SCAN(name)                                                                      \
  if constexpr (sizeof(T) == 2) {                                                                \
    asm(HBBP_WITH_FLAGS(name " %[y], %w[x]") : [x] "+&r"(x), "+&a"(packed) : [y] "r"(y) : "cc"); \
  } else if constexpr (sizeof(T) == 4) {                                                         \
    asm(HBBP_WITH_FLAGS(name " %[y], %k[x]") : [x] "+&r"(x), "+&a"(packed) : [y] "r"(y) : "cc"); \
  } else {                                                                                       \
    asm(HBBP_WITH_FLAGS(name " %[y], %[x]") : [x] "+&r"(x), "+&a"(packed) : [y] "r"(y) : "cc");  \
  }
  if constexpr (kOperation == kBsf) {
    HBBP_BIT_SCAN("bsf")
  }
  if constexpr (kOperation == kBsr) {
    HBBP_BIT_SCAN("bsr")
  }
  if constexpr (kOperation == kPopcnt) {
    HBBP_BIT_SCAN("popcnt")
  }
  if constexpr (kOperation == kLzcnt) {
    HBBP_BIT_SCAN("lzcnt")
  }
  if constexpr (kOperation == kTzcnt) {
    HBBP_BIT_SCAN("tzcnt")
  }
#undef HBBP_BIT_SCAN
  m->At<uint64_t>(op->a) = x;
  HBBP_NEXT(op, m, packed);
}

#define HBBP_BIT_SCANS(operation)                                        \
  {                                                                      \
    nullptr, BitScan<operation, uint16_t>, BitScan<operation, uint32_t>, \
        BitScan<operation, uint64_t>                                     \
  }

// cmpxchg sets the flags by comparing rax with the destination.
template <typename T>
void Cmpxchg(const MicroOp* op, Interpreter* m, uint64_t) {
  const T old = m->At<T>(op->a);
  T expected = m->At<T>(WordOffset(kRax));
  uint64_t packed;
  const T compared = expected;
  asm("cmp %[y], %[x]\n\tlahf\n\tseto %%al"
      : [x] "+&q"(expected), "=&a"(packed)
      : [y] "q"(old)
      : "cc");
  if (compared == old) {
    SetRegister<T>(m, op->a, m->At<T>(op->b));
  } else {
    SetRegister<T>(m, WordOffset(kRax), old);
  }
  HBBP_NEXT(op, m, packed);
}

template <typename T>
void Xadd(const MicroOp* op, Interpreter* m, uint64_t) {
  const T old = m->At<T>(op->a);
  T sum = old;
  uint64_t packed;
  asm("add %[y], %[x]\n\tlahf\n\tseto %%al"
      : [x] "+&q"(sum), "=&a"(packed)
      : [y] "q"(m->At<T>(op->b))
      : "cc");
  SetRegister<T>(m, op->b, old);
  SetRegister<T>(m, op->a, sum);
  HBBP_NEXT(op, m, packed);
}

struct WideResult {
  Access access;
  bool is_unknown;
  bool was_equal;
};

// Half has half the size of the compared value.
template <typename Half>
[[gnu::noinline]] WideResult ExchangeWideIfEqual(Interpreter* m, uint64_t address) {
  constexpr size_t kBytes = 2 * sizeof(Half);
  if (kBytes == 16 && address % 16 != 0) return {Access::kUnreadable, false, false};
  const Access access = m->memory.PrepareUpdate(address, kBytes);
  if (access != Access::kOk) return {access, false, false};
  Half memory[2];
  uint64_t unknown = 0;
  const Access read = m->memory.Read(address, kBytes, memory, &unknown);
  if (read != Access::kOk || unknown != 0) return {read, unknown != 0, false};
  if (memory[0] == m->At<Half>(WordOffset(kRax)) && memory[1] == m->At<Half>(WordOffset(kRdx))) {
    const Half written[2] = {m->At<Half>(WordOffset(kRbx)), m->At<Half>(WordOffset(kRcx))};
    m->memory.Write(address, kBytes, written, 0);
    return {Access::kOk, false, true};
  }
  SetRegister<Half>(m, WordOffset(kRax), memory[0]);
  SetRegister<Half>(m, WordOffset(kRdx), memory[1]);
  return {Access::kOk, false, false};
}

template <typename Half>
void CompareExchangeWide(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const WideResult result = ExchangeWideIfEqual<Half>(m, ComputeAddress(op, m));
  if (result.access != Access::kOk) return OnAccess(op, m, flags, result.access);
  if (result.is_unknown) return OnUnknownInput(op, m, flags);
  flags = result.was_equal ? flags | kPackedZf : flags & ~kPackedZf;
  HBBP_NEXT(op, m, flags);
}

}  // namespace

#define HBBP_WIDE_SIZES(handler) \
  { nullptr, handler<uint16_t>, handler<uint32_t>, handler<uint64_t> }

constinit const ShiftHandlers kShift[8][kSizes] = {
    HBBP_SHIFT_SIZES(kRol), HBBP_SHIFT_SIZES(kRor), HBBP_SHIFT_SIZES(kRcl), HBBP_SHIFT_SIZES(kRcr),
    HBBP_SHIFT_SIZES(kShl), HBBP_SHIFT_SIZES(kShr), HBBP_SHIFT_SIZES(kSal), HBBP_SHIFT_SIZES(kSar)};
constinit const Handler kRotateMemory[4][kSizes] = {
    HBBP_ROTATE_MEMORY(kRol), HBBP_ROTATE_MEMORY(kRor), HBBP_ROTATE_MEMORY(kRcl),
    HBBP_ROTATE_MEMORY(kRcr)};
constinit const Handler kDoubleShiftByImm[2][kSizes] = HBBP_DOUBLE_SHIFTS(false);
constinit const Handler kDoubleShiftByCl[2][kSizes] = HBBP_DOUBLE_SHIFTS(true);
constinit const Handler kBitTestByReg[4][kSizes] = {
    HBBP_BIT_TESTS(kBt, true), HBBP_BIT_TESTS(kBts, true), HBBP_BIT_TESTS(kBtr, true),
    HBBP_BIT_TESTS(kBtc, true)};
constinit const Handler kBitTestByImm[4][kSizes] = {
    HBBP_BIT_TESTS(kBt, false), HBBP_BIT_TESTS(kBts, false), HBBP_BIT_TESTS(kBtr, false),
    HBBP_BIT_TESTS(kBtc, false)};
constinit const Handler kBitStringAddress[kSizes] = {
    nullptr, BitStringAddress<int16_t>, BitStringAddress<int32_t>, BitStringAddress<int64_t>};
constinit const Handler kImulRegReg[kSizes][2] = {
    {nullptr, nullptr},
    {ImulRegReg<uint16_t, true>, ImulRegReg<uint16_t, true>},
    {ImulRegReg<uint32_t, false>, ImulRegReg<uint32_t, true>},
    {ImulRegReg<uint64_t, false>, ImulRegReg<uint64_t, true>}};
constinit const Handler kImulRegRegImm[kSizes][2] = {
    {nullptr, nullptr},
    {ImulRegRegImm<uint16_t, true>, ImulRegRegImm<uint16_t, true>},
    {ImulRegRegImm<uint32_t, false>, ImulRegRegImm<uint32_t, true>},
    {ImulRegRegImm<uint64_t, false>, ImulRegRegImm<uint64_t, true>}};
constinit const Handler kMul[2][kSizes] = {
    {Mul<false, uint8_t>, Mul<false, uint16_t>, Mul<false, uint32_t>, Mul<false, uint64_t>},
    {Mul<true, uint8_t>, Mul<true, uint16_t>, Mul<true, uint32_t>, Mul<true, uint64_t>}};
constinit const Handler kDiv[2][kSizes] = {
    {Div<false, uint8_t>, Div<false, uint16_t>, Div<false, uint32_t>, Div<false, uint64_t>},
    {Div<true, uint8_t>, Div<true, uint16_t>, Div<true, uint32_t>, Div<true, uint64_t>}};
constinit const Handler kBitScan[kBitScanCount][kSizes] = {
    HBBP_BIT_SCANS(kBsf), HBBP_BIT_SCANS(kBsr), HBBP_BIT_SCANS(kPopcnt), HBBP_BIT_SCANS(kLzcnt),
    HBBP_BIT_SCANS(kTzcnt)};
constinit const Handler kCmpxchg[kSizes] = {Cmpxchg<uint8_t>, Cmpxchg<uint16_t>, Cmpxchg<uint32_t>,
                                            Cmpxchg<uint64_t>};
constinit const Handler kXadd[kSizes] = {Xadd<uint8_t>, Xadd<uint16_t>, Xadd<uint32_t>,
                                         Xadd<uint64_t>};
constinit const Handler kCompareExchangeWide[2] = {CompareExchangeWide<uint32_t>,
                                                   CompareExchangeWide<uint64_t>};

}  // namespace hbbp::trace
