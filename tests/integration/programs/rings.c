// rings HOW ROUNDS: waits for so many operations of an io_uring, each done by a thread of the
// kernel, and prints how many waits ended before one was complete. HOW is "wait", "submit", where
// the call that submits an operation also waits for it, or "late", as "wait", after one or two
// seconds in which the program only sleeps for moments. Exits with 77 where there is no io_uring.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct io_uring_params facts;
static int ring;

static void* Map(off_t part) {
  void* const memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, part);
  if (memory == MAP_FAILED) exit(77);
  return memory;
}

static long Enter(unsigned submitted, unsigned awaited, unsigned flags) {
  return syscall(SYS_io_uring_enter, ring, submitted, awaited, flags, NULL, 0);
}

static unsigned Load(const char* part, unsigned offset) {
  return __atomic_load_n((const unsigned*)(part + offset), __ATOMIC_ACQUIRE);
}

static void Advance(char* part, unsigned offset) {
  __atomic_fetch_add((unsigned*)(part + offset), 1, __ATOMIC_RELEASE);
}

static void SleepForMoments(void) {
  const time_t end = time(NULL) + 2;
  while (time(NULL) < end) usleep(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  const int waits_where_it_submits = strcmp(argv[1], "submit") == 0;
  if (strcmp(argv[1], "late") == 0) SleepForMoments();
  ring = (int)syscall(SYS_io_uring_setup, 4, &facts);
  if (ring < 0) return 77;
  char* const submissions = Map(IORING_OFF_SQ_RING);
  char* const completions = Map(IORING_OFF_CQ_RING);
  struct io_uring_sqe* const entries = Map(IORING_OFF_SQES);
  long interrupted = 0;
  for (long rounds = atol(argv[2]); rounds > 0; --rounds) {
    const unsigned entry = Load(submissions, facts.sq_off.tail) & (facts.sq_entries - 1);
    memset(&entries[entry], 0, sizeof(entries[entry]));
    entries[entry].opcode = IORING_OP_NOP;
    entries[entry].flags = IOSQE_ASYNC;
    ((unsigned*)(submissions + facts.sq_off.array))[entry] = entry;
    Advance(submissions, facts.sq_off.tail);
    unsigned to_submit = 1;
    if (!waits_where_it_submits) to_submit -= (unsigned)Enter(1, 0, 0);
    for (;;) {
      const long result = Enter(to_submit, 1, IORING_ENTER_GETEVENTS);
      if (result > 0) to_submit -= (unsigned)result;
      const unsigned complete =
          Load(completions, facts.cq_off.tail) - Load(completions, facts.cq_off.head);
      if (complete != 0) break;
      ++interrupted;
    }
    Advance(completions, facts.cq_off.head);
  }
  printf("%ld interrupted\n", interrupted);
  return 0;
}
