// strays COUNT [step]: so many debug exceptions, as hypervisors deliver them, without a reason or
// with that of a step, at a branch whose predecessor ends with the byte f1 and so could be an int1;
// then as many of int1. Prints how many of each came to its own handler. Exit status 77: this
// machine executes the same int1 again and again, as hypervisors do that deliver its exception in
// front of it.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "work.h"

static volatile sig_atomic_t traps;
static int wanted, made;
static int code = TRAP_BRKPT;
static volatile int is_over;

static void OnTrap(int signal_number) {
  (void)signal_number;
  if (++traps > 10 * wanted) _exit(77);
}

// The trap waits until this handler returns, and so arrives where the alarm interrupted the
// program.
// This does not use the functions of libc, which may be interposed.
static void MakeStray(int signal_number, siginfo_t* alarm, void* context) {
  extern const char kBranch[];
  (void)signal_number;
  (void)alarm;
  const greg_t ip = ((const ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  // Elsewhere the program could have made it. Without breakpoints, it is hardly ever there.
  if (code == TRAP_TRACE && ip != (greg_t)kBranch) return;
  const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  info.si_code = code;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &trap, NULL, sizeof(trap));
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info) != 0) _exit(90);
  is_over = ++made == wanted;
}

static void Handle(int number, struct sigaction action) {
  if (sigaction(number, &action, NULL) != 0) exit(90);
}

static void RepeatEvery(suseconds_t microseconds) {
  const struct timeval interval = {.tv_usec = microseconds};
  if (setitimer(ITIMER_REAL, &(struct itimerval){interval, interval}, NULL) != 0) exit(90);
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  wanted = atoi(argv[1]);
  if (argc > 2) code = TRAP_TRACE;
  Handle(SIGTRAP, (struct sigaction){.sa_handler = OnTrap});
  Handle(SIGALRM, (struct sigaction){.sa_sigaction = MakeStray, .sa_flags = SA_SIGINFO});
  Work(20);
  RepeatEvery(500);
  __asm__ volatile(
      "xor %%esi, %%esi\n"
      "1:\n\t"
      "mov %[is_over], %%ecx\n\t"
      "xor %%esi, %%ecx\n\t"
      ".globl kBranch\n"
      "kBranch:\n\t"
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
