// Calls a chain of ten functions, each of which calls the next one and does a little before and
// after that.
//
// Blocks end at calls and returns, and a late sample often lies in another function.
#include "rounds.h"

enum { kChains = 1250 };

#ifdef __clang__
#define NEVER_INLINED __attribute__((noinline))
#else
#define NEVER_INLINED __attribute__((noinline, noclone))
#endif

NEVER_INLINED static unsigned Link10(unsigned n) { return n * 2654435761U; }

#define LINK(NAME, NEXT, ADDED)                    \
  NEVER_INLINED static unsigned NAME(unsigned n) { \
    const unsigned below = NEXT(n + (ADDED));      \
    return below ^ (n >> 3);                       \
  }

LINK(Link9, Link10, 9)
LINK(Link8, Link9, 8)
LINK(Link7, Link8, 7)
LINK(Link6, Link7, 6)
LINK(Link5, Link6, 5)
LINK(Link4, Link5, 4)
LINK(Link3, Link4, 3)
LINK(Link2, Link3, 2)
LINK(Link1, Link2, 1)

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  unsigned sum = 0;
  for (long round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < kChains; ++i) sum += Link1(sum + i);
  }
  printf("%u\n", sum);
  return 0;
}
