// forks_in_handler FORKS: forks in a handler of SIGALRM, in a program of one thread that spends its
// time in malloc. Prints whether all children ended.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { kBlocks = 64, kChildStatus = 3 };

static volatile sig_atomic_t forks, wrong;

static void OnAlarm(int signal) {
  (void)signal;
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) _exit(kChildStatus);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != kChildStatus) ++wrong;
  ++forks;
  errno = saved;
}

int main(int argc, char** argv) {
  const long wanted = Argument(argc, argv, 1, 100);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  void* blocks[kBlocks] = {NULL};
  for (uint64_t x = 1; forks < wanted;) {
    x = Spin(x, 1);
    void** block = &blocks[x % kBlocks];
    free(*block);
    *block = malloc((x >> 8) % 70000);
  }
  timer = (struct itimerval){{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &timer, NULL);
  Print("wrong", (uint64_t)wrong);
  return wrong == 0 ? 0 : kHarmed;
}
