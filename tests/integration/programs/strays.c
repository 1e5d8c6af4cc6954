// strays COUNT: so many debug exceptions without a reason, as hypervisors deliver them, at a branch
// whose predecessor ends with the byte f1 and so could be an int1; then as many of int1. Prints how
// many of each came to its own handler. Exit status 77: this machine executes the same int1 again
// and again, as hypervisors do that deliver its exception in front of it.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "work.h"

static volatile sig_atomic_t traps;
static int wanted, made;
static volatile int is_over;

static void OnTrap(int signal_number) {
  (void)signal_number;
  if (++traps > 10 * wanted) _exit(77);
}

// The trap waits until this handler returns, and so arrives where the alarm interrupted the
// program.
// This does not use the functions of libc, which may be interposed.
static void MakeStray(int signal_number) {
  (void)signal_number;
  const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  info.si_code = TRAP_BRKPT;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &trap, NULL, sizeof(trap));
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info) != 0) _exit(90);
  is_over = ++made == wanted;
}

static void Handle(int number, void (*handler)(int)) {
  if (sigaction(number, &(struct sigaction){.sa_handler = handler}, NULL) != 0) exit(90);
}

static void RepeatEvery(suseconds_t microseconds) {
  const struct timeval interval = {.tv_usec = microseconds};
  if (setitimer(ITIMER_REAL, &(struct itimerval){interval, interval}, NULL) != 0) exit(90);
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  wanted = atoi(argv[1]);
  Handle(SIGTRAP, OnTrap);
  Handle(SIGALRM, MakeStray);
  Work(20);
  RepeatEvery(500);
  __asm__ volatile(
      "xor %%esi, %%esi\n"
      "1:\n\t"
      "mov %[is_over], %%ecx\n\t"
      "xor %%esi, %%ecx\n\t"
      "jz 1b\n\t"
      :
      : [is_over] "m"(is_over)
      : "rcx", "rsi", "cc", "memory");
  RepeatEvery(0);
  printf("%d strays, ", (int)traps);
  traps = 0;
  for (int i = 0; i < wanted; ++i) __asm__ volatile(".byte 0xf1");
  printf("%d of int1\n", (int)traps);
  return 0;
}
