// walks N [CALLS]: N rounds of loads at known distances, with a system call between the walks of a
// round if CALLS is not 0. First it prints the addresses of the list, in its order.
//
// A round loads 64 words one after the other (Words), 8 columns of 8 words (Columns), and the links
// of a list of 16 nodes (List).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNodes = 16, kNodeWords = 5 };

void Rounds(uint64_t number, uint64_t calls, const void* list);

// Each function keeps rdi, rbx, r12 and r13.
__asm__(
    ".text\n"
    ".globl Rounds\n"
    ".type Rounds, @function\n"
    "Rounds:\n"
    "  push %rbx\n"
    "  push %r12\n"
    "  push %r13\n"
    "  mov %rdi, %rbx\n"
    "  mov %rsi, %r12\n"
    "  mov %rdx, %r13\n"
    "1:\n"
    "  call Words\n"
    "  call Pause\n"
    "  call Columns\n"
    "  call Pause\n"
    "  call List\n"
    "  dec %rbx\n"
    "  jnz 1b\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbx\n"
    "  ret\n"
    ".size Rounds, . - Rounds\n"
    ".type Pause, @function\n"
    "Pause:\n"
    "  test %r12, %r12\n"
    "  jz 1f\n"
    "  mov $110, %eax\n"  // getppid
    "  syscall\n"
    "1:\n"
    "  ret\n"
    ".size Pause, . - Pause\n"
    ".type Words, @function\n"
    "Words:\n"
    "  lea words(%rip), %rsi\n"
    "  mov $64, %ecx\n"
    "1:\n"
    "  mov (%rsi), %rdx\n"
    "  add $8, %rsi\n"
    "  dec %ecx\n"
    "  jnz 1b\n"
    "  ret\n"
    ".size Words, . - Words\n"
    ".type Columns, @function\n"
    "Columns:\n"
    "  lea words(%rip), %rsi\n"
    "  mov $8, %edx\n"
    "1:\n"
    "  xor %ecx, %ecx\n"
    "2:\n"
    "  mov (%rsi,%rcx,8), %rax\n"
    "  add $8, %ecx\n"
    "  cmp $64, %ecx\n"
    "  jb 2b\n"
    "  add $8, %rsi\n"
    "  dec %edx\n"
    "  jnz 1b\n"
    "  ret\n"
    ".size Columns, . - Columns\n"
    ".type List, @function\n"
    "List:\n"
    "  mov %r13, %rdx\n"
    "1:\n"
    "  mov (%rdx), %rdx\n"
    "  test %rdx, %rdx\n"
    "  jnz 1b\n"
    "  ret\n"
    ".size List, . - List\n"
    ".data\n"
    ".balign 64\n"
    "words: .fill 64, 8, 1\n"
    ".text\n");

int main(int argc, char** argv) {
  static uint64_t nodes[kNodes][kNodeWords];
  // 7 has no factor in common with the number of nodes.
  for (int i = 0; i < kNodes; ++i) {
    uint64_t* const node = nodes[i * 7 % kNodes];
    const uint64_t next = (uint64_t)nodes[(i + 1) * 7 % kNodes];
    node[0] = i + 1 < kNodes ? next : 0;
    printf("%#lx\n", (unsigned long)(uint64_t)node);
  }
  fflush(stdout);
  Rounds(argc > 1 ? strtoull(argv[1], NULL, 10) : 1, argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
         nodes[0]);
  return 0;
}
