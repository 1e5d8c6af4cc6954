// errno_kept ROUNDS: checks that no interruption of a thread changes its errno, or the results of
// its system calls. Prints how often one did.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "spin.h"

static long rounds;
static _Atomic uint64_t wrong, sum;

static void* Work(void* seed) {
  uint64_t x = (uintptr_t)seed;
  for (long round = 0; round < rounds; ++round) {
    const int marker = 1000 + (int)(round % 1000);
    errno = marker;
    x = Spin(x, 2000);
    if (errno != marker) ++wrong;
    if (close(-1) != -1 || errno != EBADF) ++wrong;
    if (read(0, NULL, 0) < -1) ++wrong;
  }
  sum += x;
  return NULL;
}

int main(int argc, char** argv) {
  rounds = Argument(argc, argv, 1, 30000);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Work, (void*)(i + 1));
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  Print("sum", sum);
  Print("wrong", wrong);
  return wrong == 0 ? 0 : kHarmed;
}
