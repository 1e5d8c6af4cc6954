// Kernels share this code: they are started with a number of rounds.
#ifndef HBBP_BENCH_ACCURACY_KERNELS_ROUNDS_H_
#define HBBP_BENCH_ACCURACY_KERNELS_ROUNDS_H_

#include <stdio.h>
#include <stdlib.h>

enum { kMaxRounds = 100000000 };

// Ends the process with status 2 unless there is one argument, a number from 1 to kMaxRounds.
static inline long RoundsFrom(int argc, char** argv) {
  char* end = argv[0];
  const long rounds = argc == 2 ? strtol(argv[1], &end, 10) : 0;
  if (argc != 2 || *end != '\0' || rounds < 1 || rounds > kMaxRounds) {
    fprintf(stderr, "usage: %s ROUNDS, from 1 to %d; a round is some 100,000 instructions\n",
            argv[0], kMaxRounds);
    exit(2);
  }
  return rounds;
}

// Returns the next number of a sequence that looks random and is the same in every run.
static inline unsigned NextNumber(unsigned* state) {
  *state = *state * 1664525U + 1013904223U;
  return *state >> 8;
}

// Returns a number in [0, 1).
static inline float NextFraction(unsigned* state) { return (float)NextNumber(state) * 0x1p-24F; }

#endif  // HBBP_BENCH_ACCURACY_KERNELS_ROUNDS_H_
