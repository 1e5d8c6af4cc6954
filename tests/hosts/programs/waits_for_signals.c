// waits_for_signals ROUNDS: blocks all signals and takes them by sigwait, SIGTRAP among them.
// Prints them.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "spin.h"

static void* Wait(void* expected) {
  sigset_t all;
  sigfillset(&all);
  int signal = 0;
  sigwait(&all, &signal);
  return signal == *(const int*)expected ? expected : NULL;
}

int main(int argc, char** argv) {
  const long rounds = Argument(argc, argv, 1, 20);
  static const int kSignals[] = {SIGUSR1, SIGTRAP, SIGUSR2, SIGSEGV, SIGBUS, SIGPROF};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < sizeof(kSignals) / sizeof(*kSignals); ++i) {
      pthread_t waiter;
      void* result = NULL;
      int expected = kSignals[i];
      pthread_create(&waiter, NULL, Wait, &expected);
      sum += Spin((uint64_t)round, 100000);
      kill(getpid(), expected);
      pthread_join(waiter, &result);
      if (result == NULL) return kHarmed;
    }
  }
  Print("sum", sum);
  return 0;
}
