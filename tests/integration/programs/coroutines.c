// coroutines COUNT ROUNDS STACK_BYTES [posix|standard]: runs coroutines on small adjacent stacks,
// with marks between them that must not be overwritten, in the main thread or in another one.
// Prints the sum of their results.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <ucontext.h>

#include "work.h"

enum { kMaxCoroutines = 64, kMarkBytes = 512, kMark = 0x5a };

static ucontext_t scheduler, coroutines[kMaxCoroutines];
static uint64_t sums[kMaxCoroutines];
static int current;

static void Run(void) {
  const int self = current;
  for (uint64_t round = 0;; ++round) {
    uint64_t n = 27 + (uint64_t)self;
    while (n != 1) {
      n = n % 2 != 0 ? 3 * n + 1 : n / 2;
      sums[self] += n;
    }
    if (round % 16 == 15) swapcontext(&coroutines[self], &scheduler);
  }
}

static int count, rounds, status;
static size_t stack_bytes;

static int RunAll(void* unused) {
  (void)unused;
  const size_t stride = stack_bytes + kMarkBytes;
  char* memory = malloc(stride * (size_t)count);
  if (memory == NULL) return 91;
  memset(memory, kMark, stride * (size_t)count);
  for (int i = 0; i < count; ++i) {
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = memory + stride * (size_t)i + kMarkBytes;
    coroutines[i].uc_stack.ss_size = stack_bytes;
    makecontext(&coroutines[i], &Run, 0);
  }
  for (int round = 0; round < rounds; ++round) {
    for (current = 0; current < count; ++current) swapcontext(&scheduler, &coroutines[current]);
  }
  uint64_t sum = 0;
  int result = 0;
  for (int i = 0; i < count; ++i) {
    sum += sums[i];
    for (int byte = 0; byte < kMarkBytes; ++byte) {
      if (memory[stride * (size_t)i + (size_t)byte] != kMark) result = 90;
    }
  }
  free(memory);
  if (result == 0) printf("%llu\n", (unsigned long long)sum);
  return result;
}

static void* RunAllInThread(void* unused) {
  status = RunAll(unused);
  return &status;
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  count = atoi(argv[1]);
  rounds = atoi(argv[2]);
  stack_bytes = (size_t)atol(argv[3]);
  if (count > kMaxCoroutines) return 99;
  if (argc == 4) return RunAll(NULL);
  if (strcmp(argv[4], "posix") == 0) {
    pthread_t thread;
    void* result;
    if (pthread_create(&thread, NULL, &RunAllInThread, NULL) != 0) return 98;
    if (pthread_join(thread, &result) != 0 || result != &status) return 97;
    return status;
  }
  thrd_t thread;
  if (thrd_create(&thread, &RunAll, NULL) != thrd_success) return 98;
  return thrd_join(thread, &status) == thrd_success ? status : 97;
}
