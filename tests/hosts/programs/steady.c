// steady ROUNDS: only works, in two threads, in steps of some milliseconds. It is for tests that
// end it, debug it or trace it meanwhile.
#include <pthread.h>

#include "spin.h"

static long rounds;

__attribute__((noinline)) uint64_t SteadyStep(uint64_t x);
uint64_t SteadyStep(uint64_t x) { return Spin(x, 200000); }

static void* Work(void* seed) {
  uint64_t x = (uintptr_t)seed;
  for (long round = 0; round < rounds; ++round) x = SteadyStep(x);
  return (void*)(uintptr_t)x;
}

int main(int argc, char** argv) {
  rounds = Argument(argc, argv, 1, 500);
  pthread_t thread;
  void* other = NULL;
  pthread_create(&thread, NULL, Work, (void*)1);
  const uint64_t own = (uintptr_t)Work((void*)2);
  pthread_join(thread, &other);
  Print("sum", own + (uintptr_t)other);
  return 0;
}
