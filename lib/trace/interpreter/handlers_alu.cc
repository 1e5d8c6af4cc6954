// These handlers execute arithmetic of one and two operands, by the real instructions, whose flags
// they keep. The tables kAlu and kUnary at the end, which the lifter uses, have a handler for each
// operation, size and form of operands, with or without flags, or fused with the conditional jump
// that follows.
//
// Contract: handlers (micro_op.h). Memory is read before anything is changed.
#include "trace/interpreter/branch_end.h"
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/operands.h"

namespace hbbp::trace {
namespace {

#define HBBP_ALU(name) \
  asm(name " %[y], %[x]\n\tlahf\n\tseto %%al" : [x] "+&q"(x), "=&a"(packed) : [y] "q"(y) : "cc")
#define HBBP_ALU_WITH_CARRY(name)                                 \
  asm("bt $8, %[old]\n\t" name " %[y], %[x]\n\tlahf\n\tseto %%al" \
      : [x] "+&q"(x), "=&a"(packed)                               \
      : [y] "q"(y), [old] "r"(*flags)                             \
      : "cc")

// Computes the operation of x and y, with flags.
template <AluOperation kOperation, typename T>
[[gnu::always_inline]] inline T Compute(T x, T y, uint64_t* flags) {
  uint64_t packed;
  if constexpr (kOperation == kAdd) HBBP_ALU("add");
  if constexpr (kOperation == kOr) HBBP_ALU("or");
  if constexpr (kOperation == kAdc) HBBP_ALU_WITH_CARRY("adc");
  if constexpr (kOperation == kSbb) HBBP_ALU_WITH_CARRY("sbb");
  if constexpr (kOperation == kAnd) HBBP_ALU("and");
  if constexpr (kOperation == kSub) HBBP_ALU("sub");
  if constexpr (kOperation == kXor) HBBP_ALU("xor");
  if constexpr (kOperation == kCmp) HBBP_ALU("cmp");
  if constexpr (kOperation == kTest) HBBP_ALU("test");
  *flags = packed;
  return x;
}

template <AluOperation kOperation, typename T>
[[gnu::always_inline]] inline T ComputeFlagless(T x, T y, uint64_t flags) {
  const auto carry = static_cast<T>((flags / kPackedCf) & 1);
  if constexpr (kOperation == kAdd) return static_cast<T>(x + y);
  if constexpr (kOperation == kOr) return static_cast<T>(x | y);
  if constexpr (kOperation == kAdc) return static_cast<T>(x + y + carry);
  if constexpr (kOperation == kSbb) return static_cast<T>(x - y - carry);
  if constexpr (kOperation == kAnd) return static_cast<T>(x & y);
  if constexpr (kOperation == kSub) return static_cast<T>(x - y);
  if constexpr (kOperation == kXor) return static_cast<T>(x ^ y);
  return x;
}

template <AluOperation kOperation, typename T, FlagsUse kUse>
struct Alu {
  using Value = T;
  static constexpr FlagsUse kFlagsUse = kUse;
  static constexpr bool kStoresResult = kOperation != kCmp && kOperation != kTest;
  [[gnu::always_inline]] static T Do(T x, T y, uint64_t* flags) {
    if constexpr (kUse == kFlagless) {
      return ComputeFlagless<kOperation, T>(x, y, *flags);
    } else {
      return Compute<kOperation, T>(x, y, flags);
    }
  }
};

template <typename Body>
void RegReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  const T result = Body::Do(m->At<T>(op->a), m->At<T>(op->b), &flags);
  if constexpr (Body::kStoresResult) SetRegister<T>(m, op->a, result);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body>
void RegImm(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  const T result = Body::Do(m->At<T>(op->a), static_cast<T>(op->immediate), &flags);
  if constexpr (Body::kStoresResult) SetRegister<T>(m, op->a, result);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body>
[[gnu::noinline, gnu::cold]] void RegMemSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  HBBP_LOAD_SLOWLY(T, value, op, m, flags);
  const T result = Body::Do(m->At<T>(op->a), value, &flags);
  if constexpr (Body::kStoresResult) SetRegister<T>(m, op->a, result);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body>
void RegMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  T value;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &value)) [[unlikely]] {
    HBBP_TAIL RegMemSlow<Body>(op, m, flags);
  }
  const T result = Body::Do(m->At<T>(op->a), value, &flags);
  if constexpr (Body::kStoresResult) SetRegister<T>(m, op->a, result);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body, bool kImmediate>
[[gnu::always_inline]] inline typename Body::Value SecondOperand(const MicroOp* op,
                                                                 Interpreter* m) {
  using T = typename Body::Value;
  return kImmediate ? static_cast<T>(op->immediate) : m->At<T>(op->b);
}

// These are cmp and test.
template <typename Body, bool kImmediate>
[[gnu::noinline, gnu::cold]] void CompareMemSlow(const MicroOp* op, Interpreter* m,
                                                 uint64_t flags) {
  using T = typename Body::Value;
  HBBP_LOAD_SLOWLY(T, value, op, m, flags);
  Body::Do(value, SecondOperand<Body, kImmediate>(op, m), &flags);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body, bool kImmediate>
void CompareMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  T value;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &value)) [[unlikely]] {
    HBBP_TAIL(CompareMemSlow<Body, kImmediate>(op, m, flags));
  }
  Body::Do(value, SecondOperand<Body, kImmediate>(op, m), &flags);
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

// The other operations read, modify and write.
template <typename Body, bool kImmediate>
[[gnu::noinline, gnu::cold]] void UpdateMemSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  HBBP_LOAD_FOR_UPDATE(T, value, op, m, flags);
  const T result = Body::Do(value, SecondOperand<Body, kImmediate>(op, m), &flags);
  StoreSlowly(m, ComputeAddress(op, m), result, sizeof(T));
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body, bool kImmediate>
void UpdateMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  T* pointer = m->memory.FastStore<T>(ComputeAddress(op, m));
  if (pointer == nullptr) [[unlikely]] {
    HBBP_TAIL(UpdateMemSlow<Body, kImmediate>(op, m, flags));
  }
  T value;
  __builtin_memcpy(&value, pointer, sizeof(T));
  const T result = Body::Do(value, SecondOperand<Body, kImmediate>(op, m), &flags);
  __builtin_memcpy(pointer, &result, sizeof(T));
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

// Rare combinations have no handler of their own: the one with flags replaces a flagless one, and
// nullptr says that the operation is not fused with a branch.
constexpr bool IsComparison(AluOperation operation) {
  return operation == kCmp || operation == kTest;
}

template <AluOperation kOperation, typename T>
constexpr FlagsUse kFlaglessUse = sizeof(T) >= 4 && !IsComparison(kOperation) ? kFlagless : kFlags;

template <AluOperation kOperation, typename T>
constexpr bool kIsFused = IsComparison(kOperation) ||
                          (sizeof(T) >= 4 && (kOperation == kAdd || kOperation == kSub ||
                                              kOperation == kAnd || kOperation == kOr));

template <AluOperation kOperation, typename T, bool kImmediate, FlagsUse kUse>
constexpr Handler MemForm() {
  using Body = Alu<kOperation, T, kUse>;
  if constexpr (Body::kStoresResult) {
    return kUse == kThenBranch ? nullptr : UpdateMem<Alu<kOperation, T, kFlags>, kImmediate>;
  } else {
    return CompareMem<Body, kImmediate>;
  }
}

template <AluOperation kOperation, typename T, bool kImmediate>
constexpr Handler RegForm(FlagsUse use) {
  if (use == kFlags) {
    using Body = Alu<kOperation, T, kFlags>;
    return kImmediate ? RegImm<Body> : RegReg<Body>;
  }
  if (use == kFlagless) {
    using Body = Alu<kOperation, T, kFlaglessUse<kOperation, T>>;
    return kImmediate ? RegImm<Body> : RegReg<Body>;
  }
  if constexpr (kIsFused<kOperation, T>) {
    using Body = Alu<kOperation, T, kThenBranch>;
    return kImmediate ? RegImm<Body> : RegReg<Body>;
  }
  return nullptr;
}

template <AluOperation kOperation, typename T>
constexpr Handler RegMemThenBranch() {
  if constexpr (IsComparison(kOperation)) return RegMem<Alu<kOperation, T, kThenBranch>>;
  return nullptr;
}

template <AluOperation kOperation, typename T>
constexpr AluHandlers AluForms() {
  return {
      {RegForm<kOperation, T, false>(kFlagless), RegForm<kOperation, T, false>(kFlags),
       RegForm<kOperation, T, false>(kThenBranch)},
      {RegForm<kOperation, T, true>(kFlagless), RegForm<kOperation, T, true>(kFlags),
       RegForm<kOperation, T, true>(kThenBranch)},
      {RegMem<Alu<kOperation, T, kFlaglessUse<kOperation, T>>>, RegMem<Alu<kOperation, T, kFlags>>,
       RegMemThenBranch<kOperation, T>()},
      {MemForm<kOperation, T, false, kFlags>(), MemForm<kOperation, T, false, kFlags>(),
       MemForm<kOperation, T, false, kThenBranch>()},
      {MemForm<kOperation, T, true, kFlags>(), MemForm<kOperation, T, true, kFlags>(),
       MemForm<kOperation, T, true, kThenBranch>()},
  };
}

#define HBBP_ALU_SIZES(operation)                                        \
  {                                                                      \
    AluForms<operation, uint8_t>(), AluForms<operation, uint16_t>(),     \
        AluForms<operation, uint32_t>(), AluForms<operation, uint64_t>() \
  }

// inc and dec keep CF.
template <UnaryOperation kOperation, typename T, FlagsUse kUse>
struct Unary {
  using Value = T;
  static constexpr FlagsUse kFlagsUse = kUse;
  [[gnu::always_inline]] static T Do(T x, uint64_t* flags) {
    if constexpr (kOperation == kNot) return static_cast<T>(~x);
    if constexpr (kUse == kFlagless) {
      if constexpr (kOperation == kInc) return static_cast<T>(x + 1);
      if constexpr (kOperation == kDec) return static_cast<T>(x - 1);
      return static_cast<T>(-x);
    }
    uint64_t packed;
    if constexpr (kOperation == kInc) {
      asm("add $1, %[x]\n\tlahf\n\tseto %%al" : [x] "+&q"(x), "=&a"(packed) : : "cc");
    } else if constexpr (kOperation == kDec) {
      asm("sub $1, %[x]\n\tlahf\n\tseto %%al" : [x] "+&q"(x), "=&a"(packed) : : "cc");
    } else {
      asm("neg %[x]\n\tlahf\n\tseto %%al" : [x] "+&q"(x), "=&a"(packed) : : "cc");
      *flags = packed;
      return x;
    }
    *flags = (packed & ~kPackedCf) | (*flags & kPackedCf);
    return x;
  }
};

template <typename Body>
void UnaryReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  SetRegister<T>(m, op->a, Body::Do(m->At<T>(op->a), &flags));
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body>
[[gnu::noinline, gnu::cold]] void UnaryMemSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  HBBP_LOAD_FOR_UPDATE(T, value, op, m, flags);
  const T result = Body::Do(value, &flags);
  StoreSlowly(m, ComputeAddress(op, m), result, sizeof(T));
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <typename Body>
void UnaryMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  using T = typename Body::Value;
  T* pointer = m->memory.FastStore<T>(ComputeAddress(op, m));
  if (pointer == nullptr) [[unlikely]]
    HBBP_TAIL UnaryMemSlow<Body>(op, m, flags);
  T value;
  __builtin_memcpy(&value, pointer, sizeof(T));
  const T result = Body::Do(value, &flags);
  __builtin_memcpy(pointer, &result, sizeof(T));
  HBBP_NEXT_OR_BRANCH(Body::kFlagsUse, op, m, flags);
}

template <UnaryOperation kOperation, typename T>
constexpr UnaryHandlers UnaryForms() {
  constexpr bool kIsFused = (kOperation == kInc || kOperation == kDec) && sizeof(T) >= 4;
  constexpr Handler kFused = kIsFused ? UnaryReg<Unary<kOperation, T, kThenBranch>> : nullptr;
  constexpr FlagsUse kWithout = sizeof(T) >= 4 ? kFlagless : kFlags;
  constexpr Handler kMem = UnaryMem<Unary<kOperation, T, kFlags>>;
  return {
      {UnaryReg<Unary<kOperation, T, kWithout>>, UnaryReg<Unary<kOperation, T, kFlags>>, kFused},
      {kMem, kMem, nullptr}};
}

#define HBBP_UNARY_SIZES(operation)                                          \
  {                                                                          \
    UnaryForms<operation, uint8_t>(), UnaryForms<operation, uint16_t>(),     \
        UnaryForms<operation, uint32_t>(), UnaryForms<operation, uint64_t>() \
  }

void SetZeroFlagless(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->At<uint64_t>(op->a) = 0;
  HBBP_NEXT(op, m, flags);
}

}  // namespace

constinit const AluHandlers kAlu[kAluCount][kSizes] = {
    HBBP_ALU_SIZES(kAdd), HBBP_ALU_SIZES(kOr),  HBBP_ALU_SIZES(kAdc),
    HBBP_ALU_SIZES(kSbb), HBBP_ALU_SIZES(kAnd), HBBP_ALU_SIZES(kSub),
    HBBP_ALU_SIZES(kXor), HBBP_ALU_SIZES(kCmp), HBBP_ALU_SIZES(kTest)};

constinit const UnaryHandlers kUnary[kUnaryCount][kSizes] = {
    HBBP_UNARY_SIZES(kInc), HBBP_UNARY_SIZES(kDec), HBBP_UNARY_SIZES(kNeg), HBBP_UNARY_SIZES(kNot)};

constinit const Handler kSetZeroFlagless = SetZeroFlagless;

}  // namespace hbbp::trace
