// split ROUNDS: runs two functions of the same instructions, one of them three times as often.
#include <stdlib.h>

#ifdef __clang__
#define AS_WRITTEN __attribute__((noinline))
#else
#define AS_WRITTEN __attribute__((noipa))
#endif

#define FUNCTION(name)                                                    \
  AS_WRITTEN void name(unsigned rounds);                                  \
  void name(unsigned rounds) {                                            \
    for (unsigned i = 0; i < rounds; ++i) __asm__ volatile("" : "+r"(i)); \
  }

FUNCTION(ThreeQuarters)
FUNCTION(OneQuarter)

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1;
  for (long i = 0; i < rounds; ++i) {
    for (int j = 0; j < 3; ++j) ThreeQuarters(1000);
    OneQuarter(1000);
  }
  return 0;
}
