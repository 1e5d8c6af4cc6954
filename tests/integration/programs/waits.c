// waits ROUNDS: waits with a time limit of 20 ms by each system call that has one, in a thread
// each, between brief work. Status 1, with the reason in the output, if one returns something else
// than at the end of its limit, ends early, or takes seconds.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "work.h"

enum { kWaitNs = 20000000, kWaitMs = 20 };
static const struct timespec kWait = {0, kWaitNs};

static int64_t NowNs(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Each returns 0 if the call says that the time is over.
static int SleepByNanosleep(void) { return nanosleep(&kWait, NULL) == 0 ? 0 : errno; }
static int SleepByClock(void) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &kWait, NULL); }
static int WaitByPoll(void) { return poll(NULL, 0, kWaitMs) == 0 ? 0 : errno; }
static int WaitByPpoll(void) { return ppoll(NULL, 0, &kWait, NULL) == 0 ? 0 : errno; }
static int WaitBySelect(void) {
  struct timeval limit = {0, kWaitNs / 1000};
  return select(0, NULL, NULL, NULL, &limit) == 0 ? 0 : errno;
}
static int WaitByEpoll(void) {
  static int epoll = -1;
  struct epoll_event event;
  if (epoll < 0) epoll = epoll_create1(EPOLL_CLOEXEC);
  return epoll_wait(epoll, &event, 1, kWaitMs) == 0 ? 0 : errno;
}
static int WaitByFutex(void) {
  static uint32_t word = 0;
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kWait, NULL, 0);
  if (result == 0) return EAGAIN;
  return errno == ETIMEDOUT ? 0 : errno;
}
static int WaitBySemaphore(void) {
  static sem_t semaphore;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += kWaitNs;
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  if (sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end) == 0) return EAGAIN;
  return errno == ETIMEDOUT ? 0 : errno;
}

static const struct Call {
  const char* name;
  int (*wait)(void);
} kCalls[] = {{"nanosleep", &SleepByNanosleep},
              {"clock_nanosleep", &SleepByClock},
              {"poll", &WaitByPoll},
              {"ppoll", &WaitByPpoll},
              {"select", &WaitBySelect},
              {"epoll_wait", &WaitByEpoll},
              {"futex", &WaitByFutex},
              {"sem_clockwait", &WaitBySemaphore}};
enum { kNumberOfCalls = sizeof(kCalls) / sizeof(*kCalls) };

static long rounds;
static int failures;

// Runs for about a millisecond, so that it is found running.
static void WorkABit(void) {
  volatile unsigned sum = 0;
  const int64_t end_ns = NowNs(CLOCK_THREAD_CPUTIME_ID) + 1000000;
  while (NowNs(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    for (unsigned i = 0; i < 2000; ++i) sum = sum + i;
  }
}

static void* WaitOften(void* argument) {
  // A busy machine lets a thread wait for its CPU.
  const int64_t too_long_ns = 10000000000;
  const struct Call* const call = argument;
  for (long i = 0; i < rounds; ++i) {
    WorkABit();
    const int64_t begin_ns = NowNs(CLOCK_MONOTONIC);
    const int error_number = call->wait();
    const int64_t ns = NowNs(CLOCK_MONOTONIC) - begin_ns;
    if (error_number == 0 && ns >= kWaitNs && ns < too_long_ns) continue;
    printf("%s: errno %d after %lld ns\n", call->name, error_number, (long long)ns);
    __sync_fetch_and_add(&failures, 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  rounds = atol(argv[1]);
  pthread_t threads[kNumberOfCalls];
  for (int i = 0; i < kNumberOfCalls; ++i)
    pthread_create(&threads[i], NULL, &WaitOften, (void*)&kCalls[i]);
  for (int i = 0; i < kNumberOfCalls; ++i) pthread_join(threads[i], NULL);
  return failures != 0;
}
