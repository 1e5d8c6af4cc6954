// churn_processes ROUNDS: runs a storm of fork, vfork and exec, posix_spawn and system in two
// threads. Children of vfork set handlers and block signals before exec. Checks the status of each
// child and that the changes of signals stayed in the child.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char** environ;

static _Atomic int wrong;
static long rounds;

static void OnSignal(int signal) { (void)signal; }

static pid_t RunAfterVfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    sigset_t all;
    sigfillset(&all);
    signal(SIGUSR1, OnSignal);
    sigprocmask(SIG_SETMASK, &all, NULL);
    execl("/bin/true", "true", (char*)NULL);
    _exit(9);
  }
  return child;
}

static pid_t RunAfterSpawn(void) {
  char* arguments[] = {(char*)"true", NULL};
  posix_spawnattr_t attributes;
  sigset_t all;
  pid_t child = -1;
  sigfillset(&all);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  if (posix_spawn(&child, "/bin/true", NULL, &attributes, arguments, environ) != 0) child = -1;
  posix_spawnattr_destroy(&attributes);
  return child;
}

static pid_t RunAfterFork(void) {
  const pid_t child = fork();
  if (child == 0) _exit(Spin(1, 1000) == 0);
  return child;
}

static pid_t Start(long round) {
  switch (round % 3) {
    case 0:
      return RunAfterVfork();
    case 1:
      return RunAfterSpawn();
    default:
      return RunAfterFork();
  }
}

static void* Work(void* result) {
  for (long round = 0; round < rounds; ++round) {
    int status = -1;
    const pid_t child = Start(round);
    *(uint64_t*)result += Spin((uint64_t)round, 20000);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || status != 0) ++wrong;
    if (round % 50 == 0 && WEXITSTATUS(system("exit 3")) != 3) ++wrong;
  }
  return NULL;
}

int main(int argc, char** argv) {
  rounds = Argument(argc, argv, 1, 100);
  pthread_t threads[2];
  uint64_t results[2] = {0, 0};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Work, &results[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  struct sigaction action;
  sigset_t blocked;
  sigaction(SIGUSR1, NULL, &action);
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  if (action.sa_handler != SIG_DFL || sigismember(&blocked, SIGUSR2)) ++wrong;
  Print("sum", results[0] + results[1]);
  Print("wrong", (uint64_t)wrong);
  return wrong == 0 ? 0 : kHarmed;
}
