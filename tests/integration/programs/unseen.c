// unseen blocked|straight MILLISECONDS: runs so long what branch tracing has no bursts of: a thread
// that blocks all signals by the kernel, or code with one branch in 200 KB.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "work.h"

enum { kBlock = 0, kSetBytes = 8 };

static void* WorkBlocked(void* milliseconds) {
  const uint64_t all = ~(uint64_t)0;
  syscall(SYS_rt_sigprocmask, kBlock, &all, NULL, kSetBytes);
  Work((long)(intptr_t)milliseconds);
  return NULL;
}

static void RunStraightCode(void) {
  long rounds = 100;
  __asm__ volatile(
      "1:\n\t"
      ".rept 50000\n\t"
      "add $1, %%rax\n\t"
      ".endr\n\t"
      "dec %0\n\t"
      "jnz 1b"
      : "+r"(rounds)
      :
      : "rax", "cc");
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long milliseconds = atol(argv[2]);
  if (strcmp(argv[1], "blocked") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, WorkBlocked, (void*)(intptr_t)milliseconds);
    pthread_join(thread, NULL);
  } else {
    for (const long end = ThreadMs() + milliseconds; ThreadMs() < end;) RunStraightCode();
  }
  return 0;
}
