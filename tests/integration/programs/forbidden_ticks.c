// forbidden_ticks: forbids itself to read the time stamp counter, and sums a large array.
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { kWords = 1 << 20, kRounds = 200 };

int main(void) {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 2;
  unsigned *const words = calloc(kWords, sizeof(*words));
  unsigned sum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kWords; ++i) sum = sum * 31 + words[i]++;
  }
  printf("%u\n", sum);
  free(words);
  return 0;
}
