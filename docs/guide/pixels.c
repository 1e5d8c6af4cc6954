/* What terminal.svg shows: of two loops over pixels the compiler makes vectors of one. */
#include <stdio.h>

enum { COUNT = 4096, ROUNDS = 600000 };

static float red[COUNT], green[COUNT], blue[COUNT], grey[COUNT];
static unsigned counts[256];

__attribute__((noipa)) static void to_grey(void) {
  for (int i = 0; i < COUNT; i++) grey[i] = 0.299f * red[i] + 0.587f * green[i] + 0.114f * blue[i];
}

__attribute__((noipa)) static void count_levels(void) {
  for (int i = 0; i < COUNT; i++) counts[(unsigned char)grey[i]]++;
}

int main(void) {
  for (int i = 0; i < COUNT; i++) {
    red[i] = (float)(i % 256);
    green[i] = (float)(i % 97);
    blue[i] = (float)(i % 13);
  }
  for (int round = 0; round < ROUNDS; round++) {
    to_grey();
    count_levels();
  }
  printf("%u\n", counts[40]);
  return 0;
}
