// ExecuteIndependent executes instructions that do not wait for each other, as many in a cycle as
// the processor can: what they take shows its width.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_BASE_INDEPENDENT_CODE_H_
#define HBBP_LIB_BASE_INDEPENDENT_CODE_H_

#include <cstdint>

namespace hbbp {

// A round has so many instructions.
inline constexpr uint64_t kIndependentInstructions = 5 * 32 + 2;

// A typical mixture: a load, a move, and operations that wait for nothing. It is inlined because
// the linker may choose the copy of an inline function from a unit with instrumentation.
[[gnu::always_inline]] inline void ExecuteIndependent(uint64_t rounds) {
  const uint32_t word = 0;
  asm volatile(
      "1:\n\t"
      ".rept 32\n\t"
      "mov %1, %%eax\n\t"
      "lea 1(%%rdi), %%rdx\n\t"
      "mov %%rdi, %%rsi\n\t"
      "xor %%r8d, %%r8d\n\t"
      "nop\n\t"
      ".endr\n\t"
      "dec %0\n\t"
      "jnz 1b"
      : "+r"(rounds)
      : "m"(word)
      : "cc", "rax", "rdx", "rsi", "r8");
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_INDEPENDENT_CODE_H_
