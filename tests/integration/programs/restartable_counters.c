// restartable_counters THREADS INCREMENTS MICROSECONDS: each thread increments the counter of its
// CPU as often as that, in restartable sequences that last so long (0: as briefly as they can).
// Prints how many were restarted. Status 90 if the sum of the counters is wrong, 77 if there are no
// restartable sequences here.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/rseq.h>

#include "work.h"

enum { kMaxCpus = 1024, kMaxThreads = 64 };

static struct {
  uint64_t value;
  char padding[56];
} counters[kMaxCpus];

extern const struct rseq_cs descriptor_of_count;
__asm__(
    ".pushsection __rseq_cs, \"aw\"\n"
    ".balign 32\n"
    "descriptor_of_count:\n"
    ".long 0, 0\n"
    ".quad CountStart, CountCommitted - CountStart, CountAborted\n"
    ".popsection\n");

__attribute__((noinline, noclone)) static void Count(struct rseq* area, uint64_t turns,
                                                     uint64_t* restarts) {
  __asm__ volatile(
      "1:\n\t"
      "mov %[descriptor], %[slot]\n"
      "CountStart:\n\t"
      "mov %[cpu], %%eax\n\t"
      "shl $6, %%rax\n\t"
      "mov %[turns], %%rcx\n"
      "2:\n\t"
      "dec %%rcx\n\t"
      "jnz 2b\n\t"
      "incq (%[counters], %%rax)\n"
      "CountCommitted:\n\t"
      "jmp 3f\n\t" /* The signature that glibc registers, as an instruction that traps. */
      ".byte 0x0f, 0xb9, 0x3d\n\t"
      ".long 0x53053053\n"
      "CountAborted:\n\t"
      "incq %[restarts]\n\t"
      "jmp 1b\n"
      "3:\n\t"
      "movq $0, %[slot]\n\t"
      : [restarts] "+m"(*restarts), [slot] "=m"(area->rseq_cs)
      : [descriptor] "r"(&descriptor_of_count), [cpu] "m"(area->cpu_id_start), [turns] "r"(turns),
        [counters] "r"(counters)
      : "rax", "rcx", "cc", "memory");
}

static uint64_t increments, turns = 1;

static struct rseq* FindArea(void) {
  return (struct rseq*)((uintptr_t)__builtin_thread_pointer() + (uintptr_t)__rseq_offset);
}

static void* CountAll(void* restarts) {
  struct rseq* const area = FindArea();
  uint64_t restarted = 0;
  for (uint64_t i = 0; i < increments; ++i) Count(area, turns, &restarted);
  *(uint64_t*)restarts = restarted;
  return NULL;
}

static uint64_t NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Returns how many turns of the loop take so long when nothing disturbs them.
static uint64_t MeasureTurns(uint64_t microseconds) {
  enum { kTurns = 200000, kAttempts = 20 };
  uint64_t min_ns = UINT64_MAX, restarted = 0;
  for (int i = 0; i < kAttempts; ++i) {
    const uint64_t begin_ns = NowNs();
    Count(FindArea(), kTurns, &restarted);
    const uint64_t ns = NowNs() - begin_ns;
    if (ns < min_ns) min_ns = ns;
  }
  return microseconds * 1000 * kTurns / min_ns + 1;
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  if (__rseq_size == 0) return 77;
  const long threads = atol(argv[1]);
  if (threads < 1 || threads > kMaxThreads) return 99;
  increments = strtoull(argv[2], NULL, 10);
  const uint64_t microseconds = strtoull(argv[3], NULL, 10);
  if (microseconds != 0) turns = MeasureTurns(microseconds);
  for (int i = 0; i < kMaxCpus; ++i) counters[i].value = 0;

  pthread_t ids[kMaxThreads];
  uint64_t restarts[kMaxThreads], restarted = 0, sum = 0;
  for (long i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, &CountAll, &restarts[i]);
  for (long i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    restarted += restarts[i];
  }
  for (int i = 0; i < kMaxCpus; ++i) sum += counters[i].value;
  printf("%llu restarts\n", (unsigned long long)restarted);
  return sum == increments * (uint64_t)threads ? 0 : 90;
}
