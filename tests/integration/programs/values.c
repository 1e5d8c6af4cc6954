// values N: N rounds, each with three copies of 8, 8, 40 or 3000 bytes, in turns, one by a pointer,
// one by a direct call and one that is checked as with _FORTIFY_SOURCE, and divisions by what a
// function is given: by 64 in three rounds of four, else by -7, and the unsigned one by a word in
// memory, 1000.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* __memcpy_chk(void* to, const void* from, size_t size, size_t room);

static unsigned char from[4096];
static unsigned char to[4096];
static volatile uint32_t scale = 1000;

__attribute__((noinline)) int Divide(int number, int divisor) {
  __asm__("" ::: "memory");
  return number / divisor;
}

__attribute__((noinline)) uint32_t Scale(uint32_t number) {
  uint32_t high = 0;
  __asm__("divl %2" : "+a"(number), "+d"(high) : "m"(scale) : "cc");
  return number;
}

int main(int argc, char** argv) {
  static const size_t kSizes[] = {8, 8, 40, 3000};
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  void* (*volatile copy)(void*, const void*, size_t) = memcpy;
  uint32_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    copy(to, from, kSizes[i % 4]);
    memcpy(to, from, kSizes[i % 4]);
    __memcpy_chk(to, from, kSizes[i % 4], sizeof(to));
    sum += (uint32_t)Divide(i, i % 4 == 3 ? -7 : 64) + Scale((uint32_t)i);
  }
  printf("%u\n", sum);
  return 0;
}
