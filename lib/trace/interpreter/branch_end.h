// These macros are the end of a block in handlers of branches.
//
// Contract: macros for handlers, because they end in tail calls.
#ifndef HBBP_LIB_TRACE_INTERPRETER_BRANCH_END_H_
#define HBBP_LIB_TRACE_INTERPRETER_BRANCH_END_H_

#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/packed_flags.h"

namespace hbbp::trace {

void StopFull(const MicroOp* op, Interpreter* m, uint64_t flags);

// Returns whether `next` may be entered without checking it again; `left` instructions may follow
// it.
[[gnu::always_inline]] inline bool MayEnter(const Interpreter* m, const Block* next, int64_t left) {
  return next->verified_by.load(std::memory_order_relaxed) == m->enter_burst && left >= 0 &&
         !StackIsLow();
}

// Continues with the successor `which` of the current block; `op` is its branch.
#define HBBP_ENTER_SUCCESSOR(op, m, flags, which)                                                 \
  do {                                                                                            \
    const uint64_t successor_number = (which);                                                    \
    const BlockRef ref = (m)->block->successor[successor_number].load(std::memory_order_relaxed); \
    const auto* next = reinterpret_cast<const Block*>((m)->blocks + ref * kBlockUnit);            \
    const int64_t left = (m)->instructions_left - next->instruction_count;                        \
    if (!MayEnter(m, next, left)) [[unlikely]] {                                                  \
      return EnterSuccessor(op, m, flags, successor_number);                                      \
    }                                                                                             \
    (m)->instructions_left = left;                                                                \
    (m)->block = next;                                                                            \
    HBBP_TAIL next->ops()->handler(next->ops(), m, flags);                                        \
  } while (false)

// Writes the branch in any case, and keeps the record if it is taken.
#define HBBP_BRANCH_IF(taken, op, m, flags)                              \
  do {                                                                   \
    const bool is_taken = (taken);                                       \
    TakenBranch* out = (m)->out;                                         \
    out->from = static_cast<uint64_t>((op)->displacement);               \
    out->to = (op)->immediate;                                           \
    out += is_taken;                                                     \
    (m)->out = out;                                                      \
    (m)->instructions_left_at_branch[is_taken] = (m)->instructions_left; \
    if (out == (m)->out_end) [[unlikely]]                                \
      HBBP_TAIL StopFull(op, m, flags);                                  \
    HBBP_ENTER_SUCCESSOR(op, m, flags, is_taken ? 0 : 1);                \
  } while (false)

#define HBBP_BRANCH_TO(target, op, m, flags)                                           \
  do {                                                                                 \
    const uint64_t destination = (target);                                             \
    TakenBranch* out = (m)->out;                                                       \
    out->from = static_cast<uint64_t>((op)->immediate);                                \
    out->to = destination;                                                             \
    ++out;                                                                             \
    (m)->out = out;                                                                    \
    (m)->instructions_left_at_branch[true] = (m)->instructions_left;                   \
    if (out == (m)->out_end) [[unlikely]]                                              \
      HBBP_TAIL StopFull(op, m, flags);                                                \
    const BlockRef ref = (m)->block->successor[0].load(std::memory_order_relaxed);     \
    const auto* next = reinterpret_cast<const Block*>((m)->blocks + ref * kBlockUnit); \
    const int64_t left = (m)->instructions_left - next->instruction_count;             \
    if (next->ip != destination || !MayEnter(m, next, left)) [[unlikely]] {            \
      return EnterTarget(op, m, flags, destination);                                   \
    }                                                                                  \
    (m)->instructions_left = left;                                                     \
    (m)->block = next;                                                                 \
    HBBP_TAIL next->ops()->handler(next->ops(), m, flags);                             \
  } while (false)

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_BRANCH_END_H_
