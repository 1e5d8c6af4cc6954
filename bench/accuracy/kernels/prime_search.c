// Searches primes by trial division, written like a kernel: integers only, no library.
//
// It has one long-running loop of a division, a test and a step; the share of each outcome is
// known.
#include "rounds.h"

enum { kCandidates = 350 };

static unsigned SquareRoot(unsigned n) {
  unsigned root = 0;
  for (unsigned bit = 1U << 15; bit != 0; bit >>= 1) {
    const unsigned tried = root | bit;
    if (tried <= n / tried) root = tried;
  }
  return root;
}

static int IsPrime(unsigned n) {
  if (n % 2 == 0) return n == 2;
  const unsigned last = SquareRoot(n);
  for (unsigned divisor = 3; divisor <= last; divisor += 2) {
    if (n % divisor == 0) return 0;
  }
  return n > 1;
}

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  unsigned long found = 0, sum = 0;
  for (long round = 0; round < rounds; ++round) {
    const unsigned first = 200000 + (unsigned)(round % 16) * kCandidates;
    for (unsigned n = first; n < first + kCandidates; ++n) {
      if (!IsPrime(n)) continue;
      ++found;
      sum += n;
    }
  }
  printf("%lu %lu\n", found, sum);
  return 0;
}
