// These functions and macros access the operands of handlers.
//
// Contract: for handlers; the macros return from the handler if memory cannot be read.
#ifndef HBBP_LIB_TRACE_INTERPRETER_OPERANDS_H_
#define HBBP_LIB_TRACE_INTERPRETER_OPERANDS_H_

#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {

// A write of 32 bits clears the upper half.
template <typename T>
[[gnu::always_inline]] inline void SetRegister(Interpreter* m, unsigned offset, T value) {
  if constexpr (sizeof(T) == 4) {
    m->At<uint64_t>(offset) = value;
  } else {
    m->At<T>(offset) = value;
  }
}

template <typename T>
[[gnu::always_inline]] inline T LoadedValue(const Loaded& loaded) {
  return static_cast<T>(loaded.value);
}

#define HBBP_NEXT_OR_BRANCH(use, op, m, flags)                                \
  do {                                                                        \
    if constexpr ((use) == kThenBranch) {                                     \
      HBBP_BRANCH_IF(Holds(flags, (op)[1].a, (op)[1].b), (op) + 1, m, flags); \
    } else {                                                                  \
      HBBP_NEXT(op, m, flags);                                                \
    }                                                                         \
  } while (false)

#define HBBP_LOAD_SLOWLY(T, value, op, m, flags)                                 \
  const Loaded loaded_##value = LoadSlowly(m, ComputeAddress(op, m), sizeof(T)); \
  if (loaded_##value.problem != 0) {                                             \
    return OnLoadProblem(op, m, flags, loaded_##value.problem);                  \
  }                                                                              \
  const T value = LoadedValue<T>(loaded_##value)

#define HBBP_LOAD_FOR_UPDATE(T, value, op, m, flags)                                       \
  const Access access_##value = m->memory.PrepareUpdate(ComputeAddress(op, m), sizeof(T)); \
  if (access_##value != Access::kOk) return OnAccess(op, m, flags, access_##value);        \
  HBBP_LOAD_SLOWLY(T, value, op, m, flags)

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_OPERANDS_H_
