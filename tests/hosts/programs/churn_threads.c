// churn_threads ROUNDS: starts 1,000 threads with small stacks that work and end in each round.
// Checks that all get created and compute the right results; prints the sum.
#include <pthread.h>

#include "spin.h"

enum { kThreads = 1000, kAtOnce = 100, kStackBytes = 64 * 1024 };

static _Atomic uint64_t sum;

static void* Work(void* seed) {
  sum += Spin((uint64_t)(uintptr_t)seed, 300000);
  return NULL;
}

int main(int argc, char** argv) {
  const long rounds = Argument(argc, argv, 1, 3);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (long round = 0; round < rounds; ++round) {
    for (int first = 0; first < kThreads; first += kAtOnce) {
      pthread_t threads[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) {
        void* seed = (void*)(uintptr_t)(first + i);
        if (pthread_create(&threads[i], &attributes, Work, seed) != 0) return kHarmed;
      }
      for (int i = 0; i < kAtOnce; ++i) pthread_join(threads[i], NULL);
    }
  }
  Print("sum", sum);
  return 0;
}
