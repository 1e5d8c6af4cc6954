// Shared code of the programs that hbbp record is tested on.
#ifndef HBBP_TESTS_INTEGRATION_PROGRAMS_WORK_H_
#define HBBP_TESTS_INTEGRATION_PROGRAMS_WORK_H_

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static inline long ThreadMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Uses so much CPU time of the calling thread, hardly any of it in the kernel.
static inline void Work(long milliseconds) {
  const long end = ThreadMs() + milliseconds;
  volatile unsigned sum = 0;
  while (ThreadMs() < end) {
    for (unsigned i = 0; i < 100000; ++i) sum = sum + i;
  }
}

// Prints "ID USER TOTAL": the milliseconds of CPU time of the process so far. The kernel knows only
// their sum exactly: what of it is user code it guesses from few ticks.
static inline void ReportAs(long id) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  struct timespec total;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &total);
  printf("%ld %ld %ld\n", id, usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000,
         total.tv_sec * 1000 + total.tv_nsec / 1000000);
  fflush(stdout);
}

static inline void Report(void) { ReportAs(getpid()); }

#endif  // HBBP_TESTS_INTEGRATION_PROGRAMS_WORK_H_
