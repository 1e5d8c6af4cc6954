// faults PAGES MILLISECONDS: touches so many pages of fresh memory in TouchPages, a hundred at a
// time, and uses CPU time elsewhere in between, in all as much as it was asked for.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "work.h"

enum { kPage = 4096, kPagesAtOnce = 100 };

__attribute__((noipa)) static void TouchPages(char* memory) {
  for (int i = 0; i < kPagesAtOnce; ++i) memory[i * kPage] = 1;
}

int main(int argc, char** argv) {
  const int rounds = (argc > 1 ? atoi(argv[1]) : 0) / kPagesAtOnce;
  const long milliseconds = argc > 2 ? atol(argv[2]) : 0;
  for (int i = 0; i < rounds; ++i) {
    char* memory = mmap(NULL, kPagesAtOnce * kPage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, kPagesAtOnce * kPage, MADV_NOHUGEPAGE);
    TouchPages(memory);
    munmap(memory, kPagesAtOnce * kPage);
    while (ThreadMs() * rounds < milliseconds * i) Work(1);
  }
  return 0;
}
