// Computations of the programs of tests/hosts, whose output shows that nothing was disturbed.
#ifndef HBBP_TESTS_HOSTS_PROGRAMS_SPIN_H_
#define HBBP_TESTS_HOSTS_PROGRAMS_SPIN_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kUsage = 99, kHarmed = 90, kSkipped = 77 };

// The branches depend on data, so that bursts have something to follow.
static inline uint64_t Spin(uint64_t seed, long rounds) {
  uint64_t x = seed * 2654435761u + 88172645463325252u;
  for (long i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    if (x % 3 == 0) x += 5;
  }
  return x;
}

static inline void Print(const char* what, uint64_t value) {
  printf("%s %llx\n", what, (unsigned long long)value);
}

static inline long Argument(int argc, char** argv, int index, long otherwise) {
  return index < argc ? atol(argv[index]) : otherwise;
}

#endif  // HBBP_TESTS_HOSTS_PROGRAMS_SPIN_H_
