// two_loops TURNS: a loop whose block has 2 instructions and one whose block has 400, by turns of
// 1 ms or so. Both execute the same number of instructions.
#include <stdio.h>
#include <stdlib.h>

enum { kInstructionsPerTurn = 4000000, kShortBlock = 2, kLongBlock = 400 };

__attribute__((noipa)) static void ShortBlocks(unsigned long executions) {
  __asm__ volatile("1: dec %0\n jnz 1b\n" : "+r"(executions) : : "cc");
}

__attribute__((noipa)) static void LongBlocks(unsigned long executions) {
  __asm__ volatile("1:\n .rept 398\n lea (%%rax,%%rcx), %%rax\n .endr\n dec %0\n jnz 1b\n"
                   : "+r"(executions)
                   :
                   : "rax", "rcx", "cc");
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  const int turns = atoi(argv[1]);
  for (int turn = 0; turn < turns; ++turn) {
    ShortBlocks(kInstructionsPerTurn / kShortBlock);
    LongBlocks(kInstructionsPerTurn / kLongBlock);
  }
  printf("%d turns\n", turns);
  return 0;
}
