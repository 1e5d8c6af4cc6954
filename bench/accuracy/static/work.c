// work N: N rounds of three kinds of work, as work.go and work.rs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIEVE = 200000, WORDS = 20000, NAMES = 2048, COLLATZ = 20000 };

static int Sieve(void) {
  static char composite[SIEVE + 1];
  memset(composite, 0, sizeof(composite));
  int count = 0;
  for (long i = 2; i <= SIEVE; ++i) {
    if (composite[i]) continue;
    ++count;
    for (long j = i * i; j <= SIEVE; j += i) composite[j] = 1;
  }
  return count;
}

struct Name {
  char text[16];
  int count;
};

static int Compare(const void* a, const void* b) {
  return strcmp(((const struct Name*)a)->text, ((const struct Name*)b)->text);
}

static int Words(void) {
  static struct Name names[NAMES];
  memset(names, 0, sizeof(names));
  for (int i = 0; i < WORDS; ++i) {
    char text[16];
    snprintf(text, sizeof(text), "w%d", i * 7919 % 1009);
    unsigned hash = 5381;
    for (const char* c = text; *c != '\0'; ++c) hash = hash * 33 + (unsigned char)*c;
    unsigned slot = hash % NAMES;
    while (names[slot].count != 0 && strcmp(names[slot].text, text) != 0) slot = (slot + 1) % NAMES;
    strcpy(names[slot].text, text);
    ++names[slot].count;
  }
  qsort(names, NAMES, sizeof(names[0]), Compare);
  int different = 0;
  for (int i = 0; i < NAMES; ++i) different += names[i].count != 0;
  return different;
}

static int Collatz(void) {
  int longest = 0;
  for (long i = 1; i < COLLATZ; ++i) {
    int steps = 0;
    for (long v = i; v != 1; ++steps) v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    if (steps > longest) longest = steps;
  }
  return longest;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; ++i) printf("%d %d %d\n", Sieve(), Words(), Collatz());
  return 0;
}
