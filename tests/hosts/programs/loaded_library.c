// load_libraries loads this library repeatedly: it has code with data of its own.
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t LoadedWork(uint64_t seed, long rounds);

static uint64_t calls;

uint64_t LoadedWork(uint64_t seed, long rounds) {
  uint64_t x = seed + ++calls;
  for (long i = 0; i < rounds; ++i) x = x % 2 != 0 ? 3 * x + 1 : x / 2 + (uint64_t)i;
  return x;
}
