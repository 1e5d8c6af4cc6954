// overflows recover|die ROUNDS: overflows its stack. `recover`: each time a handler of SIGSEGV on
// an alternate stack jumps out of it and the program continues; `die`: the first overflow ends it,
// as in programs without handlers.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "spin.h"

static sigjmp_buf back;
static volatile sig_atomic_t recovered;
static char stack[64 * 1024];

static void OnFault(int signal) {
  (void)signal;
  ++recovered;
  siglongjmp(back, 1);
}

// It never ends.
static __attribute__((noinline)) int Recurse(int depth) {
  volatile char frame[400];
  frame[depth % 400] = (char)depth;
  return depth < 0 ? frame[3] : Recurse(depth + 1) + frame[depth % 100];
}

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const volatile long rounds = Argument(argc, argv, 2, 20);
  const int recovers = strcmp(argv[1], "recover") == 0;
  Print("before", Spin(1, 10000000));
  fflush(stdout);
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (recovers) {
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = OnFault;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
  }
  volatile uint64_t sum = 0;
  for (volatile long round = 0; round < rounds; ++round) {
    if (sigsetjmp(back, 1) == 0) sum = sum + (uint64_t)Recurse(0);
    sum = sum + Spin((uint64_t)round, 200000);
  }
  Print("sum", sum);
  return recovered == rounds ? 0 : kHarmed;
}
