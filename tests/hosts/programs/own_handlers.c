// own_handlers ROUNDS: a program with its own handlers of SIGALRM and SIGPROF at 1 kHz, of SIGTRAP
// (int3 and raise) and of SIGSEGV, on a small alternate stack, that leaves handlers by siglongjmp.
// Checks that every one of its signals arrived, with the right address, and no others.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "spin.h"

enum { kAlarmJump = 1, kFaultJump = 2, kRaised = 1000, kFaultAddress = 0x10 };

static sigjmp_buf back;
static volatile sig_atomic_t is_armed, alarm_jumps, fault_jumps, traps, profiles, foreign_faults;
static volatile uint64_t executed_traps;
static volatile int* volatile fault_address = (volatile int*)kFaultAddress;
static char stack[16 * 1024] __attribute__((aligned(64)));

static void OnAlarm(int signal) {
  (void)signal;
  if (!is_armed) return;
  is_armed = 0;
  ++alarm_jumps;
  siglongjmp(back, kAlarmJump);
}

static void OnProfile(int signal) {
  (void)signal;
  ++profiles;
}

static void OnTrap(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  ++traps;
}

static void OnFault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  if ((uintptr_t)info->si_addr != kFaultAddress) {
    ++foreign_faults;
    _exit(kHarmed);
  }
  ++fault_jumps;
  siglongjmp(back, kFaultJump);
}

static void Install(int signal, void (*handler)(int), void (*action)(int, siginfo_t*, void*)) {
  struct sigaction new_action;
  memset(&new_action, 0, sizeof(new_action));
  // A jump out of a handler lets both in before it has left the alternate stack.
  sigaddset(&new_action.sa_mask, SIGALRM);
  sigaddset(&new_action.sa_mask, SIGPROF);
  new_action.sa_flags = action != NULL ? SA_SIGINFO | SA_ONSTACK : SA_RESTART;
  if (action != NULL) {
    new_action.sa_sigaction = action;
  } else {
    new_action.sa_handler = handler;
  }
  sigaction(signal, &new_action, NULL);
}

static void SetTimers(long interval_us) {
  const struct itimerval timer = {{0, interval_us}, {0, interval_us}};
  setitimer(ITIMER_REAL, &timer, NULL);
  setitimer(ITIMER_PROF, &timer, NULL);
}

// Runs until an alarm or its own fault ends it by a jump.
static void WorkUntilJump(uint64_t* state) {
  for (int i = 0; i < 200000 && is_armed; ++i) {
    *state = Spin(*state, 1);
    if (i % 50000 == 7) {
      // A jump between the two makes one more trap than was counted.
      __asm__ volatile("int3");
      ++executed_traps;
    }
    if (i == 150000) *fault_address = 1;
  }
}

int main(int argc, char** argv) {
  const volatile long rounds = Argument(argc, argv, 1, 1000);
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
  sigaltstack(&alternate, NULL);
  Install(SIGALRM, OnAlarm, NULL);
  Install(SIGPROF, OnProfile, NULL);
  Install(SIGTRAP, NULL, OnTrap);
  Install(SIGSEGV, NULL, OnFault);
  SetTimers(1000);
  volatile uint64_t state = 1;
  for (volatile long round = 0; round < rounds; ++round) {
    if (sigsetjmp(back, 1) == 0) {
      is_armed = 1;
      uint64_t x = state;
      WorkUntilJump(&x);
      state = x;
    }
    is_armed = 0;
  }
  SetTimers(0);
  const int64_t uncounted_traps = (int64_t)traps - (int64_t)executed_traps;
  const int before = traps;
  for (int i = 0; i < kRaised; ++i) raise(SIGTRAP);
  const int raised = traps - before;
  const int is_whole =
      raised == kRaised && uncounted_traps >= 0 && uncounted_traps <= alarm_jumps && profiles > 0;
  fprintf(stderr, "%d jumps of alarms, %d of faults, %lld traps uncounted, %d raised\n",
          alarm_jumps, fault_jumps, (long long)uncounted_traps, raised);
  puts(is_whole ? "whole" : "harmed");
  return is_whole ? 0 : kHarmed;
}
