// branchy TURNS: branches on random bits, which no predictor foresees, and loops of fixed lengths,
// by turns of a few ms. Prints a sum of both.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDecisionsPerTurn = 500000, kGridsPerTurn = 3500 };

static uint64_t Next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Keeps the compiler from making a conditional move of a branch.
#define BRANCH() __asm__ volatile("")

__attribute__((noipa)) static uint64_t Decide(uint64_t* state) {
  uint64_t ups = 0, downs = 0, mixed = 1;
  for (int i = 0; i < kDecisionsPerTurn; ++i) {
    const uint64_t random = Next(state) >> 20;
    if (random & 1) {
      BRANCH();
      ++ups;
      mixed ^= random;
    } else {
      BRANCH();
      downs += mixed;
    }
    if ((random & 6) == 0) {
      BRANCH();
      mixed = mixed << 7 | mixed >> 57;
      ups += downs & 3;
    }
    if (random & 64) {
      BRANCH();
      if (random & 128) {
        BRANCH();
        downs ^= ups;
      }
      mixed += 0x9e3779b97f4a7c15;
    }
  }
  return mixed ^ ups ^ downs;
}

__attribute__((noipa)) static uint64_t AddGrids(uint32_t seed) {
  static uint32_t grid[32][32];
  uint64_t sum = seed;
  for (int round = 0; round < kGridsPerTurn; ++round) {
    for (int y = 0; y < 32; ++y) {
      uint32_t row = (uint32_t)round;
      for (int x = 0; x < 32; ++x) {
        row += grid[y][x] ^ seed;
        BRANCH();
        grid[y][x] = row;
      }
      sum += row;
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  uint64_t state = 88172645463325252, sum = 0;
  for (int turn = 0; turn < atoi(argv[1]); ++turn) {
    sum = sum * 31 + Decide(&state);
    sum = sum * 31 + AddGrids((uint32_t)turn);
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
