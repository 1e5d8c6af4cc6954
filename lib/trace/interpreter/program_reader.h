// How a LookAhead reads the program that it follows, where that is another process, stopped
// meanwhile. Of its own process it reads memory in place, and registers from the frame of a signal.
//
// Contract: the functions are called on the stack of a LookAhead, which is small. They are
// async-signal-safe if it runs in a signal handler. What they are given lives as long as the burst.
#ifndef HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_
#define HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_

#include <cstddef>
#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

// Without a function: the memory of this process.
struct MemoryReader {
  const void* program = nullptr;
  // At most 64 bytes, none of them beyond the next multiple of 64. False if they cannot be read. A
  // burst asks again and again for the same bytes.
  bool (*copy)(const void* program, uint64_t address, void* to, size_t size) = nullptr;
};

struct RegisterReader {
  const void* thread = nullptr;
  // What LoadGeneralRegisters and LoadVectorState load of a signal's context. The second is called
  // when an instruction first needs it. nullptr: what `state` lacks is unknown.
  void (*load_general)(const void* thread, MachineState* state) = nullptr;
  void (*load_vector)(const void* thread, MachineState* state) = nullptr;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_
