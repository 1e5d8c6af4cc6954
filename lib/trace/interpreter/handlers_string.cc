// This handler executes movs, stos, lods, scas and cmps, with and without repetition.
//
// Contract: handlers (micro_op.h). A repetition that stops half way leaves rcx, rsi and rdi as an
// interrupt would; its ip is that of the instruction. Interpreter::rep_budget bounds it.
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/packed_flags.h"
#include "trace/interpreter/string_effects.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kBudgetUsedUp = kUnknownBytes + 1;
constexpr uint64_t kMaxUnknownBytes = 64 * OverlayMemory::kLines;

struct StringResult {
  uint64_t problem;  // 0, a value of Loaded::problem, or kBudgetUsedUp
  uint64_t flags;
};

constexpr uint64_t Problem(Access access) { return 1 + static_cast<uint64_t>(access); }

uint64_t Compare(uint64_t x, uint64_t y, unsigned size) {
  uint64_t packed;
  switch (size) {
    case 1:
      asm("cmpb %b[y], %b[x]\n\tlahf\n\tseto %%al" : "=&a"(packed) : [x] "q"(x), [y] "q"(y) : "cc");
      break;
    case 2:
      asm("cmpw %w[y], %w[x]\n\tlahf\n\tseto %%al" : "=&a"(packed) : [x] "r"(x), [y] "r"(y) : "cc");
      break;
    case 4:
      asm("cmpl %k[y], %k[x]\n\tlahf\n\tseto %%al" : "=&a"(packed) : [x] "r"(x), [y] "r"(y) : "cc");
      break;
    default:
      asm("cmpq %[y], %[x]\n\tlahf\n\tseto %%al" : "=&a"(packed) : [x] "r"(x), [y] "r"(y) : "cc");
  }
  return packed;
}

uint64_t Min(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Returns the bytes that movs or stos can process at once: they are within lines, and the result is
// that of one element after the other.
uint64_t ChunkBytes(uint64_t count, uint64_t size, uint64_t to, uint64_t from) {
  if (count > kLineBytes) count = kLineBytes;
  uint64_t bytes = Min(count * size, kLineBytes - to % kLineBytes);
  bytes = Min(bytes, kLineBytes - from % kLineBytes);
  if (to - from < bytes) bytes = to - from;
  bytes &= ~(size - 1);
  return bytes == 0 ? size : bytes;
}

uint64_t Truncate(uint64_t value, unsigned size) {
  return size == 8 ? value : value & ((uint64_t{1} << (size * 8)) - 1);
}

[[gnu::noinline]] StringResult RunString(Interpreter* m, const MicroOp* op, uint64_t flags) {
  uint64_t* gpr = m->state.gpr;
  const unsigned size = 1u << op->a;
  const bool is_backward = (m->state.flags & kFlagDf) != 0;
  const uint64_t element = is_backward ? -uint64_t{size} : uint64_t{size};
  const uint64_t segment = m->Word(op->index);
  const bool repeats = op->b != kNoRepeat;
  const auto operation = static_cast<StringOperation>(op->extra);
  uint64_t count = repeats ? gpr[kRcx] : 1;
  if (count == 0) ++m->memory.use.empty_repeats;
  while (count > 0) {
    if (m->rep_budget == 0) return {kBudgetUsedUp, flags};
    --m->rep_budget;
    uint64_t done = 1;
    bool is_last = false;
    switch (operation) {
      case kMovs: {
        const uint64_t from = gpr[kRsi] + segment;
        const uint64_t bytes = is_backward ? size : ChunkBytes(count, size, gpr[kRdi], from);
        uint8_t buffer[kLineBytes];
        uint64_t unknown = 0;
        const Access read = m->memory.Read(from, bytes, buffer, &unknown);
        if (read != Access::kOk) return {Problem(read), flags};
        const Access written = m->memory.Write(gpr[kRdi], bytes, buffer, unknown);
        if (written != Access::kOk) return {Problem(written), flags};
        done = bytes / size;
        gpr[kRsi] += done * element;
        gpr[kRdi] += done * element;
        break;
      }
      case kStos: {
        const uint64_t bytes = is_backward ? size : ChunkBytes(count, size, gpr[kRdi], gpr[kRdi]);
        uint8_t buffer[kLineBytes];
        for (uint64_t i = 0; i < bytes; i += size) {
          __builtin_memcpy(buffer + i, &gpr[kRax], size);
        }
        const Access written = m->memory.Write(gpr[kRdi], bytes, buffer, 0);
        if (written != Access::kOk) return {Problem(written), flags};
        done = bytes / size;  // NOLINT(*-core.DivideZero): it is a power of two
        gpr[kRdi] += done * element;
        break;
      }
      case kLods: {
        const Loaded loaded = LoadSlowly(m, gpr[kRsi] + segment, size);
        if (loaded.problem != 0) return {loaded.problem, flags};
        __builtin_memcpy(&gpr[kRax], &loaded.value, size);
        if (size == 4) gpr[kRax] = loaded.value;
        gpr[kRsi] += element;
        break;
      }
      case kScas: {
        const Loaded loaded = LoadSlowly(m, gpr[kRdi], size);
        if (loaded.problem != 0) return {loaded.problem, flags};
        const uint64_t accumulator = Truncate(gpr[kRax], size);
        flags = Compare(accumulator, loaded.value, size);
        is_last = (accumulator == loaded.value) != (op->b == kRepeat);
        gpr[kRdi] += element;
        break;
      }
      default: {  // kCmps
        const Loaded first = LoadSlowly(m, gpr[kRsi] + segment, size);
        if (first.problem != 0) return {first.problem, flags};
        const Loaded second = LoadSlowly(m, gpr[kRdi], size);
        if (second.problem != 0) return {second.problem, flags};
        flags = Compare(first.value, second.value, size);
        is_last = (first.value == second.value) != (op->b == kRepeat);
        gpr[kRsi] += element;
        gpr[kRdi] += element;
      }
    }
    count -= done;
    if (repeats) gpr[kRcx] = count;
    if (is_last && repeats) break;
  }
  return {0, flags};
}

void String(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const StringResult result = RunString(m, op, flags);
  if (result.problem == 0) [[likely]]
    HBBP_NEXT(op, m, result.flags);
  if (result.problem == kBudgetUsedUp) {
    return StopAt(op, m, result.flags, StopReason::kInstructionLimit);
  }
  return OnLoadProblem(op, m, result.flags, result.problem);
}

}  // namespace

StringOutcome PassUnknownString(const MicroOp* op, Interpreter* m) {
  const RegisterSet poison = m->state.poison;
  uint64_t* gpr = m->state.gpr;
  const auto operation = static_cast<StringOperation>(op->extra);
  const bool repeats = op->b != kNoRepeat;
  if (operation != kMovs && operation != kStos) {
    RegisterSet unknown = repeats ? GprBit(kRcx) : 0;
    if (operation != kScas) unknown |= GprBit(kRsi);
    if (operation != kLods) unknown |= GprBit(kRdi);
    return {false, StopReason::kFull, unknown};
  }
  if ((poison & GprBit(kRdi)) || (repeats && (poison & GprBit(kRcx)))) {
    return {true, StopReason::kUnknownStore, 0};
  }
  const uint64_t size = uint64_t{1} << op->a;
  const uint64_t count = repeats ? gpr[kRcx] : 1;
  if (count > kMaxUnknownBytes / size) return {true, StopReason::kOverlayFull, 0};
  const uint64_t bytes = count * size;
  const bool is_backward = (m->state.flags & kFlagDf) != 0;
  const uint64_t start = is_backward ? gpr[kRdi] - bytes + size : gpr[kRdi];
  const Access access = m->memory.WriteUnknown(start, bytes);
  if (access != Access::kOk) {
    return {
        true,
        access == Access::kOverlayFull ? StopReason::kOverlayFull : StopReason::kUnreadableMemory,
        0};
  }
  const uint64_t distance = is_backward ? -bytes : bytes;
  gpr[kRdi] += distance;
  if (operation == kMovs) gpr[kRsi] += distance;
  if (repeats) gpr[kRcx] = 0;
  return {false, StopReason::kFull, poison & GprBit(kRsi)};
}

constinit const Handler kString = String;

}  // namespace hbbp::trace
