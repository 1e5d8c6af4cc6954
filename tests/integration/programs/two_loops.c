// two_loops ROUNDS: runs two loops that execute equally many instructions, one in blocks of 2, one
// of 400.
#include <stdint.h>
#include <stdlib.h>

// Each loop executes 400 instructions a round.
void ShortBlocks(uint64_t rounds);
void LongBlocks(uint64_t rounds);

__asm__(
    ".text\n"
    ".p2align 6\n"
    ".globl ShortBlocks\n.type ShortBlocks, @function\nShortBlocks:\n"
    "  imul $200, %rdi, %rdi\n"
    "1:\n"
    "  dec %rdi\n"
    "  jne 1b\n"
    "  ret\n"
    ".size ShortBlocks, . - ShortBlocks\n"
    ".p2align 6\n"
    ".globl LongBlocks\n.type LongBlocks, @function\nLongBlocks:\n"
    "  .rept 398\n"
    "  nop\n"
    "  .endr\n"
    "  dec %rdi\n"
    "  jne LongBlocks\n"
    "  ret\n"
    ".size LongBlocks, . - LongBlocks\n");

int main(int argc, char** argv) {
  const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  ShortBlocks(rounds);
  LongBlocks(rounds);
  return 0;
}
