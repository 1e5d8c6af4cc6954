// rounds N: N rounds of calls, branches and loads in known numbers.
//
// A round calls `twice` directly and `once` by a register, and iterates 8 times over an array of
// 8 bytes each, downwards. `twice` calls `once` two times. So a round has 4 calls and 9 backward
// branches, of which 8 are taken; the last one of all rounds is not.
#include <stdint.h>
#include <stdlib.h>

void Rounds(uint64_t number);

__asm__(
    ".text\n"
    ".globl Rounds\n"
    ".type Rounds, @function\n"
    "Rounds:\n"
    "  push %rbx\n"
    "  mov %rdi, %rbx\n"
    "again:\n"
    "  call twice\n"
    "  lea once(%rip), %rax\n"
    "  call *%rax\n"
    "  lea array(%rip), %rsi\n"
    "  mov $8, %ecx\n"
    "1:\n"
    "  mov -8(%rsi,%rcx,8), %rdx\n"
    "  dec %ecx\n"
    "  jnz 1b\n"
    "  dec %rbx\n"
    "  jnz again\n"
    "  pop %rbx\n"
    "  ret\n"
    ".size Rounds, . - Rounds\n"
    ".type twice, @function\n"
    "twice:\n"
    "  call once\n"
    "  call once\n"
    "  ret\n"
    ".size twice, . - twice\n"
    ".type once, @function\n"
    "once:\n"
    "  ret\n"
    ".size once, . - once\n"
    ".data\n"
    "array: .fill 8, 8, 1\n"
    ".text\n");

int main(int argc, char** argv) {
  Rounds(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
  return 0;
}
