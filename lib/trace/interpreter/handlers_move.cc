// These handlers execute loads, stores, moves, extensions and conditional moves, operations on the
// stack, and branches, in this order. Handlers of branches write a TakenBranch and end with the
// macros of branch_end.h. The tables at the end are for the lifter.
//
// Contract: handlers (micro_op.h). Memory is read before anything is changed.
#include "trace/interpreter/branch_end.h"
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/operands.h"

namespace hbbp::trace {
namespace {

template <typename T>
void MoveReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<T>(m, op->a, m->At<T>(op->b));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void MoveImm(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<T>(m, op->a, static_cast<T>(op->immediate));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void Lea(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<T>(m, op->a, static_cast<T>(ComputeAddress(op, m)));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void Exchange(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T a = m->At<T>(op->a);
  SetRegister<T>(m, op->a, m->At<T>(op->b));
  SetRegister<T>(m, op->b, a);
  HBBP_NEXT(op, m, flags);
}

// Loads a From and extends it to To; From is signed if the extension is.
template <typename From, typename To>
[[gnu::noinline, gnu::cold]] void LoadSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_SLOWLY(From, value, op, m, flags);
  SetRegister<To>(m, op->a, static_cast<To>(value));
  HBBP_NEXT(op, m, flags);
}

template <typename From, typename To>
void Load(const MicroOp* op, Interpreter* m, uint64_t flags) {
  From value;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &value)) [[unlikely]] {
    HBBP_TAIL(LoadSlow<From, To>(op, m, flags));
  }
  SetRegister<To>(m, op->a, static_cast<To>(value));
  HBBP_NEXT(op, m, flags);
}

template <typename From, typename To>
void Extend(const MicroOp* op, Interpreter* m, uint64_t flags) {
  SetRegister<To>(m, op->a, static_cast<To>(m->At<From>(op->b)));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void LoadForUpdate(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_FOR_UPDATE(T, value, op, m, flags);
  m->At<uint64_t>(WordOffset(kAddressTemp)) = ComputeAddress(op, m);
  m->At<T>(op->a) = value;
  HBBP_NEXT(op, m, flags);
}

template <typename T, bool kImmediate>
[[gnu::always_inline]] inline T Source(const MicroOp* op, Interpreter* m) {
  return kImmediate ? static_cast<T>(op->immediate) : m->At<T>(op->b);
}

template <typename T, bool kImmediate>
[[gnu::noinline, gnu::cold]] void StoreSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T value = Source<T, kImmediate>(op, m);
  const Access access = StoreSlowly(m, ComputeAddress(op, m), value, sizeof(T));
  if (access != Access::kOk) return OnAccess(op, m, flags, access);
  HBBP_NEXT(op, m, flags);
}

template <typename T, bool kImmediate>
void Store(const MicroOp* op, Interpreter* m, uint64_t flags) {
  T* pointer = m->memory.FastStore<T>(ComputeAddress(op, m));
  if (pointer == nullptr) [[unlikely]]
    HBBP_TAIL(StoreSlow<T, kImmediate>(op, m, flags));
  const T value = Source<T, kImmediate>(op, m);
  __builtin_memcpy(pointer, &value, sizeof(T));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void SignToRdx(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T sign = m->At<T>(WordOffset(kRax)) < 0 ? -1 : 0;
  using Unsigned = std::make_unsigned_t<T>;
  SetRegister<Unsigned>(m, WordOffset(kRdx), static_cast<Unsigned>(sign));
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void ByteSwap(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T value = m->At<T>(op->a);
  if constexpr (sizeof(T) == 8) {
    SetRegister<T>(m, op->a, __builtin_bswap64(value));
  } else if constexpr (sizeof(T) == 4) {
    SetRegister<T>(m, op->a, __builtin_bswap32(value));
  } else {
    SetRegister<T>(m, op->a, __builtin_bswap16(value));
  }
  HBBP_NEXT(op, m, flags);
}

// Executes a conditional move between registers.
template <typename T>
void MoveRegIf(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const unsigned to = WordOffset(op->extra);
  const T source = m->At<T>(static_cast<unsigned>(op->immediate));
  const T old = m->At<T>(to);
  SetRegister<T>(m, to, Holds(flags, op->a, op->b) ? source : old);
  HBBP_NEXT(op, m, flags);
}

template <typename T>
[[gnu::noinline, gnu::cold]] void MoveMemIfSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_SLOWLY(T, source, op, m, flags);
  const unsigned to = WordOffset(op->extra);
  const T old = m->At<T>(to);
  SetRegister<T>(m, to, Holds(flags, op->a, op->b) ? source : old);
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void MoveMemIf(const MicroOp* op, Interpreter* m, uint64_t flags) {
  T source;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &source)) [[unlikely]] {
    HBBP_TAIL MoveMemIfSlow<T>(op, m, flags);
  }
  const unsigned to = WordOffset(op->extra);
  const T old = m->At<T>(to);
  SetRegister<T>(m, to, Holds(flags, op->a, op->b) ? source : old);
  HBBP_NEXT(op, m, flags);
}

void SetIf(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->At<uint8_t>(static_cast<unsigned>(op->immediate)) = Holds(flags, op->a, op->b);
  HBBP_NEXT(op, m, flags);
}

void StoreIf(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint8_t value = Holds(flags, op->a, op->b);
  const Access access = StoreSlowly(m, ComputeAddress(op, m), value, 1);
  if (access != Access::kOk) return OnAccess(op, m, flags, access);
  HBBP_NEXT(op, m, flags);
}

// The address of a push is rsp less the size.
template <typename T, bool kImmediate>
[[gnu::noinline, gnu::cold]] void PushSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const T value = Source<T, kImmediate>(op, m);
  const Access access = StoreSlowly(m, ComputeAddress(op, m), value, sizeof(T));
  if (access != Access::kOk) return OnAccess(op, m, flags, access);
  m->state.gpr[kRsp] -= sizeof(T);
  HBBP_NEXT(op, m, flags);
}

template <typename T, bool kImmediate>
void Push(const MicroOp* op, Interpreter* m, uint64_t flags) {
  T* pointer = m->memory.FastStore<T>(m->state.gpr[kRsp] - sizeof(T));
  if (pointer == nullptr) [[unlikely]]
    HBBP_TAIL(PushSlow<T, kImmediate>(op, m, flags));
  const T value = Source<T, kImmediate>(op, m);
  __builtin_memcpy(pointer, &value, sizeof(T));
  m->state.gpr[kRsp] -= sizeof(T);
  HBBP_NEXT(op, m, flags);
}

template <typename T>
[[gnu::noinline, gnu::cold]] void PopSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_SLOWLY(T, value, op, m, flags);
  m->state.gpr[kRsp] += sizeof(T);
  m->At<T>(op->a) = value;
  HBBP_NEXT(op, m, flags);
}

template <typename T>
void Pop(const MicroOp* op, Interpreter* m, uint64_t flags) {
  T value;
  if (!m->memory.FastLoad(m->state.gpr[kRsp], &value)) [[unlikely]] {
    HBBP_TAIL PopSlow<T>(op, m, flags);
  }
  m->state.gpr[kRsp] += sizeof(T);
  m->At<T>(op->a) = value;  // follows the change of rsp, because it may be rsp
  HBBP_NEXT(op, m, flags);
}

void AddToRsp(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->state.gpr[kRsp] += op->immediate;
  HBBP_NEXT(op, m, flags);
}

// The program does not wait for a line that it has prefetched, so the load that is timed must find
// it.
void PrefetchLine(const MicroOp* op, Interpreter* m, uint64_t flags) {
  __builtin_prefetch(reinterpret_cast<const void*>(ComputeAddress(op, m)));
  HBBP_NEXT(op, m, flags);
}

void Leave(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t frame = m->state.gpr[kRbp];
  uint64_t saved;
  if (!m->memory.FastLoad(frame, &saved)) [[unlikely]] {
    HBBP_LOAD_SLOWLY(uint64_t, value, op, m, flags);
    saved = value;
  }
  m->state.gpr[kRsp] = frame + 8;
  m->state.gpr[kRbp] = saved;
  HBBP_NEXT(op, m, flags);
}

// Bit 1 and IF are always set in the flags of a program.
void PushFlags(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t value = UnpackFlags(flags) | (m->state.flags & kFlagDf) | 0x202;
  const Access access = StoreSlowly(m, ComputeAddress(op, m), value, 8);
  if (access != Access::kOk) return OnAccess(op, m, flags, access);
  m->state.gpr[kRsp] -= 8;
  HBBP_NEXT(op, m, flags);
}

// AC, TF and the like would change how instructions run, and are ignored.
void PopFlags(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_SLOWLY(uint64_t, value, op, m, flags);
  constexpr uint64_t kTrapFlag = 1u << 8;
  constexpr uint64_t kAlignmentFlag = 1u << 18;
  if (value & (kTrapFlag | kAlignmentFlag)) return StopAt(op, m, flags, StopReason::kTrap);
  m->state.gpr[kRsp] += 8;
  m->state.flags = value & kFlagDf;
  HBBP_NEXT(op, m, PackFlags(value));
}

// Ends a block that no branch ends.
void Continue(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_ENTER_SUCCESSOR(op, m, flags, 1);
}

void JumpIf(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_BRANCH_IF(Holds(flags, op->a, op->b), op, m, flags);
}

void Jump(const MicroOp* op, Interpreter* m, uint64_t flags) { HBBP_BRANCH_IF(true, op, m, flags); }

// The return address is the end of the block, because a call ends its block.
uint64_t ReturnAddress(const Interpreter* m) { return m->block->ip + m->block->code_bytes; }

// Pushes the return address.
[[gnu::always_inline]] inline Access PushForCall(Interpreter* m) {
  const uint64_t return_address = ReturnAddress(m);
  const uint64_t slot = m->state.gpr[kRsp] - 8;
  auto* pointer = m->memory.FastStore<uint64_t>(slot);
  if (pointer != nullptr) [[likely]] {
    __builtin_memcpy(pointer, &return_address, 8);
  } else {
    const Access access = StoreSlowly(m, slot, return_address, 8);
    if (access != Access::kOk) return access;
  }
  m->state.gpr[kRsp] = slot;
  return Access::kOk;
}

void Call(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const Access access = PushForCall(m);
  if (access != Access::kOk) [[unlikely]]
    return OnAccess(op, m, flags, access);
  TakenBranch* out = m->out;
  out->from = ReturnAddress(m) - op->extra;
  out->to = op->immediate;
  m->out = ++out;
  m->instructions_left_at_branch[true] = m->instructions_left;
  if (out == m->out_end) [[unlikely]]
    HBBP_TAIL StopFull(op, m, flags);
  HBBP_ENTER_SUCCESSOR(op, m, flags, 0);
}

[[gnu::noinline, gnu::cold]] void ReturnSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_LOAD_SLOWLY(uint64_t, target, op, m, flags);
  m->state.gpr[kRsp] += 8 + op->a;
  HBBP_BRANCH_TO(target, op, m, flags);
}

void Return(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t target;
  if (!m->memory.FastLoad(m->state.gpr[kRsp], &target)) [[unlikely]] {
    HBBP_TAIL ReturnSlow(op, m, flags);
  }
  m->state.gpr[kRsp] += 8 + op->a;
  HBBP_BRANCH_TO(target, op, m, flags);
}

void JumpToReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  HBBP_BRANCH_TO(m->At<uint64_t>(op->a), op, m, flags);
}

void JumpToMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t target;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &target)) [[unlikely]] {
    HBBP_LOAD_SLOWLY(uint64_t, value, op, m, flags);
    target = value;
  }
  HBBP_BRANCH_TO(target, op, m, flags);
}

void CallReg(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t target = m->At<uint64_t>(op->a);
  const Access access = PushForCall(m);
  if (access != Access::kOk) [[unlikely]]
    return OnAccess(op, m, flags, access);
  HBBP_BRANCH_TO(target, op, m, flags);
}

void CallMem(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint64_t target;
  if (!m->memory.FastLoad(ComputeAddress(op, m), &target)) [[unlikely]] {
    HBBP_LOAD_SLOWLY(uint64_t, value, op, m, flags);
    target = value;
  }
  const Access access = PushForCall(m);
  if (access != Access::kOk) [[unlikely]]
    return OnAccess(op, m, flags, access);
  HBBP_BRANCH_TO(target, op, m, flags);
}

void JumpIfRcxZero(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t rcx = m->state.gpr[kRcx];
  HBBP_BRANCH_IF((op->a == 4 ? static_cast<uint32_t>(rcx) : rcx) == 0, op, m, flags);
}

void Loop(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t rcx = --m->state.gpr[kRcx];
  const bool zero = (flags & kPackedZf) != 0;
  HBBP_BRANCH_IF(rcx != 0 && (op->a == 0 || zero == (op->a == 1)), op, m, flags);
}

void Nop(const MicroOp* op, Interpreter* m, uint64_t flags) { HBBP_NEXT(op, m, flags); }

void SetFlags(const MicroOp* op, Interpreter* m, uint64_t flags) {
  flags = ((flags & ~uint64_t{op->a}) | op->immediate) ^ op->b;
  HBBP_NEXT(op, m, flags);
}

void SetDirection(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->state.flags = op->immediate;
  HBBP_NEXT(op, m, flags);
}

void LoadAh(const MicroOp* op, Interpreter* m, uint64_t flags) {
  m->At<uint8_t>(WordOffset(kRax) + 1) = static_cast<uint8_t>(UnpackFlags(flags) | 2);
  HBBP_NEXT(op, m, flags);
}

void StoreAh(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t low = uint64_t{m->At<uint8_t>(WordOffset(kRax) + 1)} << 8;
  HBBP_NEXT(op, m, low | (flags & kPackedOf));
}

}  // namespace

#define HBBP_UNSIGNED_SIZES(handler) \
  { handler<uint8_t>, handler<uint16_t>, handler<uint32_t>, handler<uint64_t> }
#define HBBP_SAME_SIZES(handler)                                                         \
  {                                                                                      \
    handler<uint8_t, uint8_t>, handler<uint16_t, uint16_t>, handler<uint32_t, uint32_t>, \
        handler<uint64_t, uint64_t>                                                      \
  }
#define HBBP_SOURCE_SIZES(handler, kind)                                      \
  {                                                                           \
    handler<uint8_t, kind>, handler<uint16_t, kind>, handler<uint32_t, kind>, \
        handler<uint64_t, kind>                                               \
  }
#define HBBP_EXTENSIONS(handler)                                                                  \
  {                                                                                               \
    {{nullptr, handler<uint8_t, uint16_t>, handler<uint8_t, uint32_t>,                            \
      handler<uint8_t, uint64_t>},                                                                \
     {nullptr, handler<uint16_t, uint16_t>, handler<uint16_t, uint32_t>,                          \
      handler<uint16_t, uint64_t>},                                                               \
     {nullptr, nullptr, nullptr, handler<uint32_t, uint64_t>}},                                   \
    {                                                                                             \
      {nullptr, handler<int8_t, uint16_t>, handler<int8_t, uint32_t>, handler<int8_t, uint64_t>}, \
          {nullptr, handler<int16_t, uint16_t>, handler<int16_t, uint32_t>,                       \
           handler<int16_t, uint64_t>},                                                           \
      {                                                                                           \
        nullptr, handler<int32_t, uint16_t>, handler<int32_t, uint32_t>,                          \
            handler<int32_t, uint64_t>                                                            \
      }                                                                                           \
    }                                                                                             \
  }

constinit const Handler kMoveReg[kSizes] = HBBP_UNSIGNED_SIZES(MoveReg);
constinit const Handler kMoveImm[kSizes] = HBBP_UNSIGNED_SIZES(MoveImm);
constinit const Handler kLoad[kSizes] = HBBP_SAME_SIZES(Load);
constinit const Handler kStore[kSizes] = HBBP_SOURCE_SIZES(Store, false);
constinit const Handler kStoreImm[kSizes] = HBBP_SOURCE_SIZES(Store, true);
constinit const Handler kLoadForUpdate[kSizes] = HBBP_UNSIGNED_SIZES(LoadForUpdate);
constinit const Handler kLea[kSizes] = HBBP_UNSIGNED_SIZES(Lea);
constinit const Handler kExchange[kSizes] = HBBP_UNSIGNED_SIZES(Exchange);
constinit const Handler kExtendReg[2][kSizes][kSizes] = HBBP_EXTENSIONS(Extend);
constinit const Handler kExtendMem[2][kSizes][kSizes] = HBBP_EXTENSIONS(Load);
constinit const Handler kSignToRdx[kSizes] = {nullptr, SignToRdx<int16_t>, SignToRdx<int32_t>,
                                              SignToRdx<int64_t>};
constinit const Handler kByteSwap[kSizes] = {nullptr, ByteSwap<uint16_t>, ByteSwap<uint32_t>,
                                             ByteSwap<uint64_t>};
constinit const Handler kJumpIf = JumpIf;
constinit const Handler kMoveRegIf[kSizes] = HBBP_UNSIGNED_SIZES(MoveRegIf);
constinit const Handler kMoveMemIf[kSizes] = HBBP_UNSIGNED_SIZES(MoveMemIf);
constinit const Handler kSetIf = SetIf;
constinit const Handler kStoreIf = StoreIf;
constinit const Handler kPush = Push<uint64_t, false>;
constinit const Handler kPushImm = Push<uint64_t, true>;
constinit const Handler kPushWord = Push<uint16_t, false>;
constinit const Handler kPop = Pop<uint64_t>;
constinit const Handler kPopWord = Pop<uint16_t>;
constinit const Handler kAddToRsp = AddToRsp;
constinit const Handler kLeave = Leave;
constinit const Handler kPushFlags = PushFlags;
constinit const Handler kPopFlags = PopFlags;
constinit const Handler kContinue = Continue;
constinit const Handler kJump = Jump;
constinit const Handler kCall = Call;
constinit const Handler kReturn = Return;
constinit const Handler kJumpToReg = JumpToReg;
constinit const Handler kJumpToMem = JumpToMem;
constinit const Handler kCallReg = CallReg;
constinit const Handler kCallMem = CallMem;
constinit const Handler kJumpIfRcxZero = JumpIfRcxZero;
constinit const Handler kLoop = Loop;
constinit const Handler kSetFlags = SetFlags;
constinit const Handler kSetDirection = SetDirection;
constinit const Handler kLoadAh = LoadAh;
constinit const Handler kStoreAh = StoreAh;
constinit const Handler kNop = Nop;
constinit const Handler kPrefetchLine = PrefetchLine;

}  // namespace hbbp::trace
