// new_pages ROUNDS [COUNT]: runs two loops of equally many rounds, of which one uses a new page of
// memory in each, which costs a page fault. A round counts to COUNT.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { kPages = 256, kPageBytes = 4096 };

static uint64_t count = 3000;

static __attribute__((always_inline)) inline void Count(void) {
  uint64_t left = count;
  __asm__ volatile("1: dec %0\n\tjne 1b" : "+r"(left) : : "cc");
}

__attribute__((noinline)) void WithNewPages(volatile char* memory) {
  for (int page = 0; page < kPages; ++page) {
    memory[page * kPageBytes] = 1;
    Count();
  }
}

__attribute__((noinline)) void Without(volatile char* memory) {
  for (int page = 0; page < kPages; ++page) {
    memory[page % 2] = 1;
    Count();
  }
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1;
  if (argc > 2) count = strtoull(argv[2], NULL, 10);
  char* memory =
      mmap(NULL, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  (void)madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
  for (long round = 0; round < rounds; round += kPages) {
    if (madvise(memory, kPages * kPageBytes, MADV_DONTNEED) != 0) return 1;
    WithNewPages(memory);
  }
  for (long round = 0; round < rounds; round += kPages) Without(memory);
  return 0;
}
