// Does what is hard to trace from outside: ends or executes another program while threads run, has
// system calls with time limits, ignores SIGTRAP, looks at its flags, calls the vsyscall page.
// Usage: outside WHAT.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char self[4096];

static double Seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Two functions, so that a profile has both.
__attribute__((noinline)) static void FirstPhase(double seconds) {
  volatile unsigned long sum = 0;
  const double end = Seconds(CLOCK_MONOTONIC) + seconds;
  while (Seconds(CLOCK_MONOTONIC) < end) {
    for (int i = 0; i < 100000; ++i) {
      if (i & 3) sum += (unsigned long)i;
    }
  }
}

__attribute__((noinline)) static void SecondPhase(double seconds) {
  volatile unsigned long sum = 0;
  const double end = Seconds(CLOCK_MONOTONIC) + seconds;
  while (Seconds(CLOCK_MONOTONIC) < end) {
    for (int i = 0; i < 100000; ++i) {
      if (i & 5) sum += (unsigned long)i;
    }
  }
}

// Takes so much CPU time, however busy the machine is, and seldom asks the kernel for it.
static void UseCpuTime(double seconds) {
  const double end = Seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (Seconds(CLOCK_THREAD_CPUTIME_ID) < end) SecondPhase(0.01);
}

static void* RunForEver(void* unused) {
  for (;;) FirstPhase(1);
  return unused;
}

static void StartThreads(int number) {
  pthread_t thread;
  for (int i = 0; i < number; ++i) pthread_create(&thread, NULL, &RunForEver, NULL);
  usleep(60000);
}

static void* PauseForEver(void* unused) {
  for (;;) pause();
  return unused;
}

static void* RunForAWhile(void* unused) {
  UseCpuTime(1);
  return unused;
}

// The one that runs comes last.
static int StartManyThreads(void) {
  enum { kThreads = 300 };
  pthread_t thread;
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread, NULL, &PauseForEver, NULL);
  pthread_create(&thread, NULL, &RunForAWhile, NULL);
  pthread_join(thread, NULL);
  return 0;
}

static void* ExecuteSecondPhase(void* unused) {
  char third[32];
  FirstPhase(1.2);
  snprintf(third, sizeof(third), "%.9f", Seconds(CLOCK_THREAD_CPUTIME_ID) / 3);
  execl(self, self, "second-phase", third, (char*)NULL);
  return unused;
}

// So many arguments keep others from attaching for a while.
static void* ExecuteWithMuch(void* unused) {
  enum { kArguments = 14, kBytes = 100000 };
  static char argument[kBytes + 1];
  char* words[kArguments + 3] = {self, "waits-for-signal"};
  memset(argument, 'a', kBytes);
  for (int i = 0; i < kArguments; ++i) words[i + 2] = argument;
  FirstPhase(0.06);
  execv(self, words);
  return unused;
}

static void PauseWith(void* (*run)(void*)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  for (;;) pause();
}

static volatile sig_atomic_t alarms = 0;
static void CountAlarm(int signal_number) {
  (void)signal_number;
  ++alarms;
}

static int WaitForSignal(void) {
  const struct itimerval soon = {{0, 0}, {0, 200000}};
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &CountAlarm;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
  while (alarms == 0) pause();
  return 5;
}

static int sockets[2];
static int interruptions = 0;

static void Exchange(int socket) {
  char byte = 0;
  FirstPhase(0.00005);
  if (write(socket, &byte, 1) < 0 && errno == EINTR) __sync_fetch_and_add(&interruptions, 1);
  while (read(socket, &byte, 1) < 0 && errno == EINTR) __sync_fetch_and_add(&interruptions, 1);
}

static void* AnswerForEver(void* unused) {
  for (;;) Exchange(sockets[1]);
  return unused;
}

// Returns 1 if a system call was interrupted, though there are no signals.
static int PlayPingPong(void) {
  const struct timeval limit = {10, 0};
  pthread_t thread;
  socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
  for (int i = 0; i < 2; ++i) {
    setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(sockets[i], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  pthread_create(&thread, NULL, &AnswerForEver, NULL);
  for (const double end = Seconds(CLOCK_MONOTONIC) + 1; Seconds(CLOCK_MONOTONIC) < end;) {
    Exchange(sockets[0]);
  }
  _exit(interruptions != 0);
}

// Returns 1 if SIGTRAP is not ignored any longer.
static int IgnoreTraps(void) {
  struct sigaction action;
  signal(SIGTRAP, SIG_IGN);
  FirstPhase(0.5);
  sigaction(SIGTRAP, NULL, &action);
  return action.sa_handler != SIG_IGN;
}

// Returns 1 if the trap flag was ever set.
static int CheckFlags(void) {
  const unsigned long trap = 0x100;
  unsigned long seen = 0;
  for (const double end = Seconds(CLOCK_MONOTONIC) + 0.5; Seconds(CLOCK_MONOTONIC) < end;) {
    for (int i = 0; i < 20000; ++i) {
      unsigned long flags;
      // A pushf with a prefix that does nothing.
      __asm__ volatile(
          "lea -128(%%rsp), %%rsp\n\t"
          ".byte 0x48, 0x9c\n\t"
          "pop %0\n\t"
          "lea 128(%%rsp), %%rsp"
          : "=r"(flags)
          :
          : "memory");
      seen |= flags;
    }
  }
  return (seen & trap) != 0;
}

static int HasVsyscalls(void) {
  char line[512];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    if (strstr(line, "[vsyscall]") != NULL) found = 1;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

// Returns 1 if a call fails or the time that it returns is before that of the last one, 77 without
// such a page.
static int CallVsyscalls(void) {
  int (*const get_time)(struct timeval*, void*) =
      (int (*)(struct timeval*, void*))0xffffffffff600000ul;
  if (!HasVsyscalls()) {
    puts("the kernel has no vsyscall page");
    return 77;
  }
  volatile unsigned sum = 0;
  struct timeval last = {0, 0}, now;
  for (const double end = Seconds(CLOCK_MONOTONIC) + 0.5; Seconds(CLOCK_MONOTONIC) < end;) {
    for (int calls = 0; calls < 1000; ++calls) {
      for (unsigned i = 0; i < 100; ++i) sum = sum + i;
      if (get_time(&now, NULL) != 0 || timercmp(&now, &last, <)) return 1;
      last = now;
    }
  }
  return last.tv_sec == 0;
}

int main(int argc, char** argv) {
  const char* const what = argc < 2 ? "" : argv[1];
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) return 1;
  if (strcmp(what, "ends") == 0) {
    StartThreads(3);
    _exit(7);
  }
  if (strcmp(what, "executes") == 0) {
    StartThreads(3);
    execl("/bin/sh", "sh", "-c", "exit 7", (char*)NULL);
  }
  if (strcmp(what, "executes-in-thread") == 0) PauseWith(&ExecuteWithMuch);
  if (strcmp(what, "waits-for-signal") == 0) return WaitForSignal();
  if (strcmp(what, "phases") == 0) PauseWith(&ExecuteSecondPhase);
  if (strcmp(what, "second-phase") == 0) UseCpuTime(strtod(argv[2], NULL));
  if (strcmp(what, "threads") == 0) return StartManyThreads();
  if (strcmp(what, "plays") == 0) return PlayPingPong();
  if (strcmp(what, "ignores") == 0) return IgnoreTraps();
  if (strcmp(what, "looks") == 0) return CheckFlags();
  if (strcmp(what, "vsyscalls") == 0) return CallVsyscalls();
  return 0;
}
