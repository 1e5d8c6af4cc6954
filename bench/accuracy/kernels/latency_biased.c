// Runs a loop with a short block of high latency and one of low latency, in turns.
//
// Sampling by time, or with skid, finds the division and the code after it too often.
#include "rounds.h"

enum { kSteps = 16600 };

static double Loop(double x, double y) {
  for (unsigned n = 0; n < kSteps; ++n) {
    if (n % 2) {
      x /= y;
    } else {
      x += y;
    }
  }
  return x;
}

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  double sum = 0;
  for (long round = 0; round < rounds; ++round) {
    sum += Loop((double)(round % 7), 1.25);
  }
  printf("%.6f\n", sum);
  return 0;
}
