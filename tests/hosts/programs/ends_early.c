// ends_early exit_group|exit|abort|kill|fault|return MS: ends in some way, without the knowledge of
// libc.
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

static long NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static volatile int* Inaccessible(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const long end = NowMs() + Argument(argc, argv, 2, 50);
  volatile uint64_t sum = 0;
  while (NowMs() < end) sum = sum + Spin(sum, 10000);
  if (strcmp(argv[1], "exit_group") == 0) syscall(SYS_exit_group, 0);
  if (strcmp(argv[1], "exit") == 0) syscall(SYS_exit, 7);
  if (strcmp(argv[1], "abort") == 0) abort();
  if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  if (strcmp(argv[1], "fault") == 0) *Inaccessible() = 1;
  return 5;
}
