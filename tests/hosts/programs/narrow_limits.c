// narrow_limits memory|files|close|lock ROUNDS: a program that limits its own resources while it
// runs.
//   memory  RLIMIT_AS of little more than it needs, and allocations up to it
//   files   RLIMIT_NOFILE of 8: open gives the lowest free descriptors and none is missing
//   close   close_range(3, ~0) and dup2 over any descriptor, over and over
//   lock    mlockall(MCL_FUTURE)
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

enum { kFirst = 3, kMaxFiles = 8, kMiB = 1 << 20 };

static uint64_t wrong;

static void SetLimit(__rlimit_resource_t resource, rlim_t value) {
  const struct rlimit limit = {value, value};
  if (setrlimit(resource, &limit) != 0) ++wrong;
}

// A profiler may have reserved several times as much.
static uint64_t NarrowMemory(long rounds) {
  enum { kLimitMiB = 96 };
  SetLimit(RLIMIT_AS, kLimitMiB * (rlim_t)kMiB);
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    void* too_large = malloc(kLimitMiB * (size_t)kMiB);
    if (too_large != NULL) ++wrong;
    free(too_large);
    char* some = malloc(kLimitMiB / 2 * (size_t)kMiB);
    if (some == NULL) {
      ++wrong;
    } else {
      memset(some, (int)round, kMiB);
    }
    free(some);
    sum += Spin((uint64_t)round, 20000);
  }
  return sum;
}

static uint64_t NarrowFiles(long rounds) {
  SetLimit(RLIMIT_NOFILE, kMaxFiles);
  uint64_t sum = 0;
  for (long round = 0; round < 50 * rounds; ++round) {
    int files[kMaxFiles - kFirst];
    for (int i = 0; i < kMaxFiles - kFirst; ++i) {
      files[i] = open("/dev/null", O_RDONLY);
      if (files[i] != kFirst + i) ++wrong;
    }
    for (int i = 0; i < kMaxFiles - kFirst; ++i) close(files[i]);
    sum += Spin((uint64_t)round, 500);
  }
  return sum;
}

static uint64_t CloseAll(long rounds) {
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    close_range(kFirst, ~0u, 0);
    const int file = open("/dev/null", O_RDONLY);
    if (file != kFirst) ++wrong;
    for (int other = 10; other < 600; other += 7) {
      if (dup2(file, other) != other) ++wrong;
    }
    sum += Spin((uint64_t)round, 20000);
  }
  return sum;
}

static uint64_t LockMemory(long rounds) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) ++wrong;
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    char* some = malloc(kMiB);
    if (some == NULL) ++wrong;
    free(some);
    sum += Spin((uint64_t)round, 20000);
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const long rounds = Argument(argc, argv, 2, 2000);
  close_range(kFirst, ~0u, 0);
  uint64_t sum = Spin(3, 10000000);
  if (strcmp(argv[1], "memory") == 0) {
    sum += NarrowMemory(rounds);
  } else if (strcmp(argv[1], "files") == 0) {
    sum += NarrowFiles(rounds);
  } else if (strcmp(argv[1], "close") == 0) {
    sum += CloseAll(rounds);
  } else {
    sum += LockMemory(rounds);
  }
  Print("sum", sum);
  Print("wrong", wrong);
  return wrong == 0 ? 0 : kHarmed;
}
