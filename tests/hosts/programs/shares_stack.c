// shares_stack THREADS ROUNDS: all threads set one and the same alternate stack, which only a
// handler that ends the program would use. Each prints what it computed, in order.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

enum { kMaxThreads = 64 };

static char stack[256 * 1024];
static long rounds;
static unsigned long results[kMaxThreads];

static void OnFault(int signal) {
  (void)signal;
  static const char kText[] = "fault\n";
  (void)!write(STDOUT_FILENO, kText, sizeof(kText) - 1);
  _exit(3);
}

static void* Work(void* number) {
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
  if (sigaltstack(&alternate, NULL) != 0) return NULL;
  unsigned long* const result = number;
  *result = Spin((unsigned long)(result - results) + 1, rounds);
  stack_t found;
  if (sigaltstack(NULL, &found) != 0 || found.ss_sp != stack || found.ss_size != sizeof(stack)) {
    *result = 0;
  }
  return NULL;
}

int main(int argc, char** argv) {
  const long threads = Argument(argc, argv, 1, 8);
  rounds = Argument(argc, argv, 2, 10000000);
  if (threads > kMaxThreads) return kUsage;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = OnFault;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  // Threads that end make room for others.
  for (int pass = 0; pass < 3; ++pass) {
    pthread_t all[kMaxThreads];
    for (long i = 0; i < threads; ++i) pthread_create(&all[i], NULL, Work, &results[i]);
    for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    for (long i = 0; i < threads; ++i) Print("result", results[i]);
  }
  return 0;
}
