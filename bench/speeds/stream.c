// stream TURNS: copies, scales and adds arrays of 64 MB, and evaluates polynomials on an array that
// stays in the first cache, by turns of some tens of ms. Prints a sum of what came out.
#include <stdio.h>
#include <stdlib.h>

enum { kLarge = 8 << 20, kSmall = 2048, kPolynomialsPerTurn = 15000 };

static double a[kLarge], b[kLarge], c[kLarge], small[kSmall];

__attribute__((noipa)) static void Copy(void) {
  for (int i = 0; i < kLarge; ++i) {
    // Without this, the compiler would call memcpy.
    __asm__ volatile("");
    c[i] = a[i];
  }
}

__attribute__((noipa)) static void Scale(double factor) {
  for (int i = 0; i < kLarge; ++i) b[i] = factor * c[i];
}

__attribute__((noipa)) static void Triad(double factor) {
  for (int i = 0; i < kLarge; ++i) a[i] = b[i] + factor * c[i];
}

__attribute__((noipa)) static void Polynomials(double offset) {
  for (int round = 0; round < kPolynomialsPerTurn; ++round) {
    for (int i = 0; i < kSmall; ++i) {
      const double x = small[i];
      small[i] = (((0.11 * x + 0.13) * x - 0.17) * x + 0.19) * x + offset;
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  for (int i = 0; i < kLarge; ++i) a[i] = i % 1009;
  for (int turn = 0; turn < atoi(argv[1]); ++turn) {
    Copy();
    Scale(0.4);
    Triad(0.3);
    Polynomials(0.001 * (turn % 7));
  }
  printf("%.17g %.17g %.17g\n", a[kLarge / 3], b[kLarge / 5], small[7]);
  return 0;
}
