// protection_keys ROUNDS: data behind a memory protection key, to which the thread has rights in
// turns only, and a function in memory that can be executed but not read. Prints a sum.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

enum { kBytes = 1 << 20, kWords = kBytes / sizeof(uint32_t), kSteps = 20000 };

typedef uint64_t (*Function)(uint64_t count);

// Sums the numbers from `count` down to 1.
static const uint8_t kSumCode[] = {0x31, 0xc0,        // xor eax, eax
                                   0x48, 0x01, 0xf8,  // add rax, rdi
                                   0x48, 0xff, 0xcf,  // dec rdi
                                   0x75, 0xf8,        // jnz to the add
                                   0xc3};             // ret

static Function MakeUnreadable(void) {
  void* code = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) exit(kHarmed);
  memcpy(code, kSumCode, sizeof(kSumCode));
  if (mprotect(code, kBytes, PROT_EXEC) != 0) exit(kHarmed);
  return (Function)(uintptr_t)code;
}

int main(int argc, char** argv) {
  const long rounds = Argument(argc, argv, 1, 1000);
  const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  if (key < 0) return kSkipped;
  uint32_t* data = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return kHarmed;
  if (pkey_mprotect(data, kBytes, PROT_READ | PROT_WRITE, key) != 0) return kHarmed;
  const Function sum_numbers = MakeUnreadable();
  uint64_t x = 1;
  for (long round = 0; round < rounds; ++round) {
    pkey_set(key, 0);
    for (int step = 0; step < kSteps; ++step) {
      x = Spin(x, 2);
      uint32_t* word = &data[x % kWords];
      if (*word & 1) x += 3;
      *word += (uint32_t)x;
    }
    pkey_set(key, PKEY_DISABLE_ACCESS);
    x += Spin(x, 2000) + sum_numbers(2000 + x % 2);
    if (pkey_get(key) != PKEY_DISABLE_ACCESS) return kHarmed;
  }
  Print("sum", x);
  return 0;
}
