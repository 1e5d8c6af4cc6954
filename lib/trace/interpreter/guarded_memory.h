// Reads memory that may not be there.
//
// Contract: async-signal-safe. A read that faults gives false, if a handler of SIGSEGV and SIGBUS
// asks FixUp. Without such a handler, only what is known to be readable may be read.
#ifndef HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_
#define HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

// Where to go on if the instruction at `at` faults; both relative to their own place.
struct Fixup {
  int32_t at;
  int32_t go_on;
};

// R: linkers that drop sections which only __start_ and __stop_ refer to must keep this one.
#define HBBP_FIXUP(at, go_on)                                                                  \
  ".pushsection hbbp_fixups,\"aR\",@progbits\n\t.balign 4\n\t.long " at " - .\n\t.long " go_on \
  " - .\n\t.popsection\n\t"

// 0 if `ip` is not that of a guarded read.
uint64_t FixUp(uint64_t ip);

// The size is that of T: 1, 2, 4, 8.
template <typename T>
[[gnu::always_inline]] inline bool GuardedLoad(const void* source, T* value) {
  T loaded;
  asm goto("1: mov %[source], %[loaded]\n\t" HBBP_FIXUP("1b", "%l[fault]")
           : [loaded] "=r"(loaded)
           : [source] "m"(*static_cast<const T*>(source))
           : "memory"
           : fault);
  *value = loaded;
  return true;
fault:
  return false;
}

// 16 bytes. A value in a register, unlike an array, cannot be in the way of a tail call.
[[gnu::always_inline]] inline bool GuardedLoad(const void* source, __m128i* value) {
  __m128i loaded;
  asm goto("1: movdqu %[source], %[loaded]\n\t" HBBP_FIXUP("1b", "%l[fault]")
           : [loaded] "=x"(loaded)
           : [source] "m"(*static_cast<const __m128i_u*>(source))
           : "memory"
           : fault);
  *value = loaded;
  return true;
fault:
  return false;
}

bool GuardedCopy(void* destination, const void* source, size_t size);

// Asks the kernel. Costs some hundred nanoseconds; true for page 0 in any case.
bool IsReadable(uint64_t address);

// Is the page in memory, so that reading it waits for nobody? One of userfaultfd that is missing
// comes only when another thread of the program provides it. Costs as much. Where a seccomp profile
// refuses the question it is neither resident nor missing.
bool IsResident(uint64_t address);
bool IsMissing(uint64_t address);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_
