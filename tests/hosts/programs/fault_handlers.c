// fault_handlers lazy|barrier ROUNDS: has SIGSEGV handlers that mend the page and return, like lazy
// mappings (lazy, one thread) and write barriers of garbage collectors (barrier, two threads).
// Prints the sum of what was read.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

enum { kPage = 4096, kPages = 512, kMaxThreads = 2 };
enum { kHeapBytes = kPages * kPage };

static char* heap;
static long rounds;
static _Atomic long faults;

static void OnFault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  char* page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)(kPage - 1));
  if (page < heap || page >= heap + kMaxThreads * kHeapBytes) _exit(kHarmed);
  // This is long enough to be sampled.
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 200; ++i) sum = sum + i;
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
  ++faults;
}

static void* Work(void* number) {
  char* mine = heap + (uintptr_t)number * kHeapBytes;
  uint64_t x = (uintptr_t)number + 1, sum = 0;
  for (long round = 0; round < rounds; ++round) {
    mprotect(mine, kHeapBytes, round % 2 != 0 ? PROT_READ : PROT_NONE);
    for (int i = 0; i < 5000; ++i) {
      x = Spin(x, 3);
      uint64_t* cell = (uint64_t*)(mine + x % (kHeapBytes / 8) * 8);
      *cell += x;
      sum += *cell;
    }
  }
  return (void*)(uintptr_t)sum;
}

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const uintptr_t threads = strcmp(argv[1], "barrier") == 0 ? kMaxThreads : 1;
  rounds = Argument(argc, argv, 2, 40);
  heap = mmap(NULL, kMaxThreads * kHeapBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  pthread_t ids[kMaxThreads];
  uint64_t sum = 0;
  for (uintptr_t i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, Work, (void*)i);
  for (uintptr_t i = 0; i < threads; ++i) {
    void* result = NULL;
    pthread_join(ids[i], &result);
    sum += (uintptr_t)result;
  }
  Print("sum", sum);
  return faults > 0 ? 0 : kHarmed;
}
