// ends HOW MILLISECONDS [STATUS]: works, and then ends in one of many ways.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

#include "work.h"

static void ExitInHandler(int signal_number) {
  (void)signal_number;
  _exit(5);
}

// Sooner or later the handler runs while the allocator holds its lock.
static void AllocateUntilSignal(void) {
  signal(SIGALRM, &ExitInHandler);
  const struct itimerval timer = {{0, 0}, {0, 20000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  void* blocks[64] = {NULL};
  for (unsigned i = 0;; ++i) {
    free(blocks[i % 64]);
    blocks[i % 64] = malloc(2000 + i % 7000);
  }
}

static void* WorkForever(void* has_worked) {
  Work(20);
  sem_post(has_worked);
  for (;;) Work(1000);
  return NULL;
}

// The limit holds however busy the machine is.
static void StartThreadsThatWork(int count) {
  static sem_t has_worked;
  sem_init(&has_worked, 0, 0);
  pthread_t thread;
  for (int i = 0; i < count; ++i) pthread_create(&thread, NULL, &WorkForever, &has_worked);
  for (int i = 0; i < count; ++i) sem_wait(&has_worked);
}

static void* WorkAfterMain(void* milliseconds) {
  Work(*(long*)milliseconds);
  return NULL;
}

static void* ReturnLater(void* unused) {
  (void)unused;
  Work(500);
  return NULL;
}

static long milliseconds;
static int exit_status;

static void* EndLater(void* unused) {
  (void)unused;
  Work(20);
  syscall(SYS_exit, exit_status);
  return NULL;
}

static void* ReturnSoon(void* unused) {
  (void)unused;
  Work(20);
  return NULL;
}

static void* EndAtOnce(void* unused) {
  (void)unused;
  syscall(SYS_exit, 1);
  return NULL;
}

static void WorkAtExit(void) {
  Work(milliseconds);
  Report();
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  milliseconds = atol(argv[2]);
  const int status = argc > 3 ? atoi(argv[3]) : 0;
  pthread_t thread;
  Work(milliseconds);
  if (strcmp(how, "pthread_exit") == 0) {
    atexit(&Report);
    pthread_create(&thread, NULL, &WorkAfterMain, &milliseconds);
    pthread_exit(NULL);
  }
  if (strcmp(how, "thrd_exit") == 0 || strcmp(how, "cancelled") == 0) {
    atexit(&Report);
    pthread_create(&thread, NULL, &WorkAfterMain, &milliseconds);
    if (strcmp(how, "thrd_exit") == 0) thrd_exit(status);
    pthread_cancel(pthread_self());
    for (;;) pause();
  }
  if (strcmp(how, "atexit") == 0) {
    atexit(&WorkAtExit);
    return status;
  }
  Report();
  if (strcmp(how, "exit") == 0) exit(status);
  if (strcmp(how, "_exit") == 0) _exit(status);
  if (strcmp(how, "_Exit") == 0) _Exit(status);
  if (strcmp(how, "quick_exit") == 0) quick_exit(status);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "raise") == 0) raise(status);
  if (strcmp(how, "wait") == 0) pause();
  fflush(stdout);
  if (strcmp(how, "exit_group") == 0) syscall(SYS_exit_group, status);
  if (strcmp(how, "thread_exit") == 0) syscall(SYS_exit, status);
  if (strcmp(how, "thread_exit_before_others") == 0) {
    pthread_create(&thread, NULL, &ReturnLater, NULL);
    syscall(SYS_exit, status);
  }
  if (strcmp(how, "thread_exit_soon_before_others") == 0) {
    pthread_create(&thread, NULL, &ReturnSoon, NULL);
    syscall(SYS_exit, status);
  }
  if (strcmp(how, "thread_exit_after_others") == 0) {
    exit_status = status;
    pthread_t early;
    pthread_create(&early, NULL, &EndAtOnce, NULL);
    pthread_create(&thread, NULL, &EndLater, NULL);
    if (milliseconds % 2 != 0) pthread_exit(NULL);
    syscall(SYS_exit, 3);
  }
  if (strcmp(how, "strict") == 0) {
    prctl(PR_SET_SECCOMP, 1 /* SECCOMP_MODE_STRICT */);
    syscall(SYS_getpid);
  }
  if (strcmp(how, "handler") == 0) AllocateUntilSignal();
  if (strcmp(how, "threads") == 0) {
    StartThreadsThatWork(3);
    exit(status);
  }
  return status;
}
