// changing_code ROUNDS: writes functions, calls them, changes them, and maps, protects and unmaps
// other things at their addresses. Prints the sum of their results. What it has unmapped it maps
// again where the kernel likes, which is mostly there: by force, it would replace what a thread of
// a library, as of a session, may have mapped meanwhile.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

enum { kBytes = 8 << 20, kAddendByte = 9, kCountByte = 3 };

// xor %eax, %eax; mov $COUNT, %ecx; 1: add $ADDEND, %eax; dec %ecx; jnz 1b; ret
static const unsigned char kTemplate[] = {0x31, 0xc0, 0xb9, 0,    0,    0,    0,   0x83,
                                          0xc0, 0,    0xff, 0xc9, 0x75, 0xf9, 0xc3};

int main(int argc, char** argv) {
  const long rounds = Argument(argc, argv, 1, 200);
  const int access = PROT_READ | PROT_WRITE | PROT_EXEC;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char* area = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    area = mmap(area, kBytes, access, flags | (area != NULL ? MAP_FIXED : 0), -1, 0);
    if (area == MAP_FAILED) return kHarmed;
    unsigned char* code = (unsigned char*)area + round * 4093 * 16 % (kBytes - 4096);
    memcpy(code, kTemplate, sizeof(kTemplate));
    const int count = 20000 + (int)round;
    memcpy(code + kCountByte, &count, sizeof(count));
    int (*function)(void);
    memcpy(&function, &code, sizeof(function));
    for (int addend = 0; addend < 20; ++addend) {
      code[kAddendByte] = (unsigned char)addend;
      const int result = function();
      if (result != addend * count) return kHarmed;
      sum = sum * 31 + (uint64_t)result;
    }
    mprotect(area, kBytes, PROT_NONE);
    if (round % 3 == 0) {
      mmap(area, kBytes, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    } else if (round % 3 == 1) {
      munmap(area, kBytes);
      area = NULL;
    }
  }
  Print("sum", sum);
  return 0;
}
