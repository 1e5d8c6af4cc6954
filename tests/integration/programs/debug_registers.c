// debug_registers MILLISECONDS: a program that takes all debug registers for itself and works.
// Status 77 if it may not.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "work.h"

__attribute__((noinline)) static void Target(void) { __asm__ volatile(""); }

static int Take(void) {
  struct perf_event_attr attributes = {
      .size = sizeof(attributes),
      .type = PERF_TYPE_BREAKPOINT,
      .bp_type = HW_BREAKPOINT_X,
      .bp_addr = (uintptr_t)&Target,
      .bp_len = sizeof(long),
      .exclude_kernel = 1,
      .exclude_hv = 1,
  };
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  int taken[16], count = 0;
  // A tracer may hold one for the length of a burst.
  for (int attempts = 0; count < 4 && attempts < 1000; ++attempts) {
    taken[count] = Take();
    if (taken[count] >= 0) {
      ++count;
    } else if (errno != ENOSPC && errno != EBUSY) {
      return 77;
    }
  }
  Target();
  uint64_t hits = 0;
  if (count == 0 || read(taken[0], &hits, sizeof(hits)) != sizeof(hits)) return 77;
  // System calls end what can be predicted.
  const long end = ThreadMs() + atol(argv[1]);
  volatile unsigned sum = 0;
  while (ThreadMs() < end) {
    for (unsigned i = 0; i < 200; ++i) sum = sum + (unsigned)getppid() % 2;
  }
  printf("%d taken, %d hit\n", count, (int)hits);
  return 0;
}
