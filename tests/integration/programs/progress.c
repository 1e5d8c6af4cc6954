// progress FILE THREADS: threads that each count in FILE, an unsigned number of 8 bytes each, until
// the process is killed. Each third one never leaves user code, each third sleeps in between, and
// each third waits for itself in a pipe.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "work.h"

enum { kMaxThreads = 64 };
static volatile uint64_t* counters;

static void Compute(void) {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    if (i & 3) sum = sum + i;
  }
}

static void* CountForEver(void* argument) {
  const uintptr_t index = (uintptr_t)argument;
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return NULL;
  for (;;) {
    Compute();
    ++counters[index];
    if (index % 3 == 1) usleep(200);
    const int passes_a_byte = index % 3 == 2;
    if (passes_a_byte && (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1))
      return NULL;
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const long threads = atol(argv[2]);
  const int file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (threads < 1 || threads > kMaxThreads || file < 0 ||
      ftruncate(file, kMaxThreads * sizeof(uint64_t)) != 0)
    return 99;
  counters =
      mmap(NULL, kMaxThreads * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counters == MAP_FAILED) return 99;
  pthread_t thread;
  for (long i = 1; i < threads; ++i) pthread_create(&thread, NULL, &CountForEver, (void*)i);
  CountForEver((void*)0);
  return 1;
}
