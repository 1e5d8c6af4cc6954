// GuardedLoad reads memory that may be unmapped.
//
// Contract: async-signal-safe. A read that faults returns false if a handler of SIGSEGV and SIGBUS
// calls FixUp. Without such a handler, only memory that is known to be readable may be read.
#ifndef HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_
#define HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

// Execution continues at `go_on` if the instruction at `at` faults; both are relative to their own
// address.
struct Fixup {
  int32_t at;
  int32_t go_on;
};

// The flag R makes linkers keep the section, to which only __start_ and __stop_ refer.
#define HBBP_FIXUP(at, go_on)                                                                  \
  ".pushsection hbbp_fixups,\"aR\",@progbits\n\t.balign 4\n\t.long " at " - .\n\t.long " go_on \
  " - .\n\t.popsection\n\t"

// Returns where to continue, or 0 if `ip` is not that of a guarded read.
uint64_t FixUp(uint64_t ip);

// T has 1, 2, 4 or 8 bytes.
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

// Loads 16 bytes. A value in a register, unlike an array, does not prevent tail calls.
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

// Reads the time stamp counter, after all loads before it and before all after it. Returns false if
// the thread may not (PR_SET_TSC).
[[gnu::always_inline]] inline bool GuardedTicks(uint64_t* ticks) {
  uint32_t low, high;
  asm goto("lfence\n1: rdtsc\n\tlfence\n\t" HBBP_FIXUP("1b", "%l[fault]")
           : "=a"(low), "=d"(high)
           :
           : "memory"
           : fault);
  *ticks = uint64_t{high} << 32 | low;
  return true;
fault:
  return false;
}

bool GuardedCopy(void* destination, const void* source, size_t size);

// Asks the kernel, which costs some hundred nanoseconds. Always returns true for page 0.
bool IsReadable(uint64_t address);

// Return whether the page is in memory, so that reading it does not block, and whether it is
// missing. A missing page of userfaultfd arrives only when another thread of the program provides
// it. They cost as much as IsReadable. Where a seccomp profile refuses the system call a page is
// neither resident nor missing.
bool IsResident(uint64_t address);
bool IsMissing(uint64_t address);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_GUARDED_MEMORY_H_
