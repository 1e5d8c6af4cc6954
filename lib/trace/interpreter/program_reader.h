// These readers let a LookAhead read another process, which is stopped meanwhile. In its own
// process it reads memory in place, and registers from the frame of a signal.
//
// Contract: the functions are called on the stack of a LookAhead, which is small. They are
// async-signal-safe if it runs in a signal handler. The pointers that they receive are valid as
// long as the burst.
#ifndef HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_
#define HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_

#include <cstddef>
#include <cstdint>

#include "base/linux_constants.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

enum class PageCopy : uint8_t {
  kUnreadable,
  kUsed,
  kNew,  // the program has a page fault when it accesses it
};

// Without a function, the memory is that of this process.
struct MemoryReader {
  static constexpr unsigned kPages = 256;
  static constexpr size_t kPagesBytes = kPages * kPageBytes;

  // Returns the slot of the page with this address. Pages next to each other have different ones,
  // and so do those of arrays that are a power of two apart, up to 64 GB.
  [[gnu::always_inline]] static constexpr unsigned SlotOf(uint64_t address) {
    const uint64_t page = address / kPageBytes;
    return static_cast<unsigned>((page + (page >> 8) + (page >> 16)) % kPages);
  }
  // Returns where the byte with this address is in `pages`.
  static constexpr size_t OffsetOf(uint64_t address) {
    return SlotOf(address) * kPageBytes + address % kPageBytes;
  }

  void* program = nullptr;
  // Copies a page to its slot.
  PageCopy (*copy)(void* program, uint64_t page_address) = nullptr;
  // Memory of kPagesBytes, where pages are kept for the length of a burst.
  uint8_t* pages = nullptr;
};

struct RegisterReader {
  const void* thread = nullptr;
  // Load what LoadGeneralRegisters and LoadVectorState load from a signal's context. The second is
  // called when an instruction first needs it. If it is nullptr, registers that `state` lacks are
  // unknown.
  void (*load_general)(const void* thread, MachineState* state) = nullptr;
  void (*load_vector)(const void* thread, MachineState* state) = nullptr;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_PROGRAM_READER_H_
