// target [PERCENT]: a program to inject faults into. It works in two threads, a percentage of the
// usual amount, prints a checksum, and exits with 7.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mixed(uint64_t value, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    if (value % 3 == 0) value += (uint64_t)i;
  }
  return value;
}

static int percent = 100;

static void *work(void *argument) {
  uint64_t *value = argument;
  *value = mixed(*value, 80000 * percent);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1) percent = atoi(argv[1]);
  uint64_t values[2] = {1, 2};
  pthread_t thread;
  values[0] = mixed(values[0], 40000 * percent);
  if (pthread_create(&thread, NULL, &work, &values[1]) != 0) return 1;
  work(&values[0]);
  pthread_join(thread, NULL);
  printf("%llx %llx\n", (unsigned long long)values[0], (unsigned long long)values[1]);
  return 7;
}
