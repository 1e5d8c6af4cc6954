// handlers HOW MILLISECONDS: programs that use the signals, masks and stacks that a tracer needs as
// well. Prints what their handlers saw.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

enum { kRounds = 50 };

static volatile sig_atomic_t traps, faults, alarms;
static sigjmp_buf jump;

static void OnTrap(int signal_number) {
  (void)signal_number;
  ++traps;
}

static void OnFault(int signal_number) {
  (void)signal_number;
  ++faults;
  siglongjmp(jump, 1);
}

static void OnAlarm(int signal_number) {
  (void)signal_number;
  ++alarms;
}

static void Trap(void) { __asm__ volatile("int3"); }

static int* volatile nowhere = (int*)8;

static void Fault(void) {
  if (sigsetjmp(jump, 1) == 0) *nowhere = 1;
}

static void Install(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, found;
  if (sigaction(number, &action, NULL) != 0) exit(90);
  if (sigaction(number, NULL, &found) != 0 || found.sa_handler != handler) exit(91);
  const int of_libc = 0x04000000;  // SA_RESTORER
  if ((found.sa_flags & ~of_libc) != flags) exit(92);
}

static void TrapAndFault(long milliseconds) {
  for (int i = 0; i < kRounds; ++i) {
    Work(milliseconds / kRounds);
    Trap();
    Fault();
  }
  printf("%d traps, %d faults\n", (int)traps, (int)faults);
}

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

// This does not use the functions of libc.
static long SetActionInKernel(long number, const struct KernelAction* action,
                              struct KernelAction* previous) {
  register size_t bytes __asm__("r10") = sizeof(action->mask);
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_rt_sigaction), "D"(number), "S"(action), "d"(previous), "r"(bytes)
                   : "rcx", "r11", "memory");
  return result;
}

static void InstallByKernel(int number, void (*handler)(int)) {
  struct KernelAction action;
  if (sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, NULL) != 0) exit(90);
  if (SetActionInKernel(SIGUSR1, NULL, &action) != 0) exit(90);
  if (SetActionInKernel(number, &action, NULL) != 0) exit(90);
}

static void InstallBySyscall(int number, void (*handler)(int)) {
  struct KernelAction action = {.handler = handler, .flags = SA_NODEFER}, found;
  if (SetActionInKernel(SIGUSR1, NULL, &found) != 0) exit(90);
  if (handler != SIG_DFL) {  // the restorer of libc
    if (sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, NULL) != 0) exit(90);
    if (SetActionInKernel(SIGUSR1, NULL, &found) != 0) exit(90);
    action.flags |= found.flags;
    action.restorer = found.restorer;
  }
  if (syscall(SYS_rt_sigaction, number, &action, &found, sizeof(action.mask)) != 0) exit(90);
  if (found.handler != SIG_DFL) exit(91);
  if (syscall(SYS_rt_sigaction, number, NULL, &found, sizeof(action.mask)) != 0) exit(90);
  if (found.handler != handler || (found.flags & SA_NODEFER) == 0) exit(92);
}

// As Chromium does between fork and exec.
static void ResetInChild(long milliseconds) {
  const pid_t child = fork();
  if (child == 0) {
    Work(milliseconds);
    for (int number = 1; number < 32; ++number) {
      if (number != SIGKILL && number != SIGSTOP) InstallBySyscall(number, SIG_DFL);
    }
    Work(milliseconds);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) exit(90);
  printf("status %d\n", status);
}

static void* WorkBlocked(void* milliseconds) {
  sigset_t all, found;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, NULL) != 0) exit(90);
  if (pthread_sigmask(SIG_SETMASK, NULL, &found) != 0 || !sigismember(&found, SIGALRM)) exit(91);
  Work(*(const long*)milliseconds);
  return NULL;
}

static void* WorkBlockedByKernel(void* milliseconds) {
  const uint64_t all = ~UINT64_C(0);
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)) != 0) exit(90);
  Work(*(const long*)milliseconds);
  return NULL;
}

static void RunThreads(void* (*run)(void*), long milliseconds) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    if (pthread_create(&threads[i], NULL, run, &milliseconds) != 0) exit(90);
  }
  run(&milliseconds);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("3 threads done\n");
}

// The stack is at the end of readable memory, so that a write below it is noticed.
static void* StackBehindGuard(size_t bytes) {
  char* pages = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || bytes > 32768) exit(90);
  if (mprotect(pages + 32768, 32768, PROT_READ | PROT_WRITE) != 0) exit(90);
  return pages + 32768;
}

static void UseAlternateStack(size_t bytes, long milliseconds) {
  const stack_t stack = {.ss_sp = StackBehindGuard(bytes), .ss_size = bytes};
  stack_t found;
  if (sigaltstack(&stack, NULL) != 0) exit(90);
  Install(SIGALRM, &OnAlarm, SA_RESTART);
  Work(milliseconds);
  if (sigaltstack(NULL, &found) != 0 || found.ss_sp != stack.ss_sp || found.ss_size != bytes) {
    exit(91);
  }
  raise(SIGALRM);
  printf("%d alarms\n", (int)alarms);
}

static void OnAlarmOnAlternateStack(int signal_number) {
  (void)signal_number;
  stack_t found;
  if (sigaltstack(NULL, &found) != 0 || (found.ss_flags & SS_ONSTACK) == 0) exit(92);
  if (sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) == 0) exit(93);
  ++alarms;
  Work(20);
  if (alarms % 2 == 0) siglongjmp(jump, 1);
}

// Rust gives such stacks to its threads.
static void* HandleOnAlternateStack(void* milliseconds) {
  const stack_t stack = {.ss_sp = StackBehindGuard(8192), .ss_size = 8192};
  const stack_t none = {.ss_flags = SS_DISABLE};
  for (volatile int i = 0; i < 4; ++i) {
    if (sigaltstack(&stack, NULL) != 0) exit(90);
    Work(*(const long*)milliseconds / 8);
    if (sigsetjmp(jump, 1) == 0) raise(SIGALRM);
    stack_t before;
    if (sigaltstack(&none, &before) != 0 || before.ss_sp != stack.ss_sp) exit(94);
    if (before.ss_size != 8192 || before.ss_flags != 0) exit(95);
    Work(*(const long*)milliseconds / 8);
  }
  return NULL;
}

static void RunOnAlternateStacks(long milliseconds) {
  Install(SIGALRM, &OnAlarmOnAlternateStack, SA_RESTART | SA_ONSTACK);
  HandleOnAlternateStack(&milliseconds);
  pthread_t thread;
  if (pthread_create(&thread, NULL, &HandleOnAlternateStack, &milliseconds) != 0) exit(90);
  pthread_join(thread, NULL);
  printf("%d alarms\n", (int)alarms);
}

// libuv does this before it runs another program: the memory belongs to the parent, but the
// handlers do not.
static void ResetSignalsInVforkedChild(void) {
  const pid_t child = vfork();
  if (child == 0) {
    for (int number = 1; number < 32; ++number) {
      if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
    }
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    _exit(7);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) exit(90);
}

// Keeps what general registers have, and passes a load of three bytes that has faulted.
uint64_t found_registers[10];
void OnSignalInRegisters(int number, siginfo_t* info, void* context);
__asm__(
    ".text\n"
    ".globl OnSignalInRegisters\n"
    "OnSignalInRegisters:\n"
    "  push %rax\n"
    "  lea found_registers(%rip), %rax\n"
    "  mov %rbx, (%rax)\n"
    "  mov %rbp, 8(%rax)\n"
    "  mov %r8, 16(%rax)\n"
    "  mov %r9, 24(%rax)\n"
    "  mov %r10, 32(%rax)\n"
    "  mov %r11, 40(%rax)\n"
    "  mov %r12, 48(%rax)\n"
    "  mov %r13, 56(%rax)\n"
    "  mov %r14, 64(%rax)\n"
    "  mov %r15, 72(%rax)\n"
    "  pop %rax\n"
    "  cmp $11, %edi\n"
    "  jne 1f\n"
    "  addq $3, 168(%rdx)\n"
    "1: ret\n");

// Executes the instruction with known values in these registers.
#define WITH_REGISTERS(instruction)      \
  __asm__ volatile(                      \
      "lea -128(%%rsp), %%rsp\n\t"       \
      "push %%rbp\n\t"                   \
      "mov $1, %%ebx\n\t"                \
      "mov $2, %%ebp\n\t"                \
      "mov $3, %%r8d\n\t"                \
      "mov $4, %%r9d\n\t"                \
      "mov $5, %%r10d\n\t"               \
      "mov $6, %%r11d\n\t"               \
      "mov $7, %%r12d\n\t"               \
      "mov $8, %%r13d\n\t"               \
      "mov $9, %%r14d\n\t"               \
      "mov $10, %%r15d\n\t"              \
      "xor %%eax, %%eax\n\t" instruction \
      "\n\tpop %%rbp\n\t"                \
      "lea 128(%%rsp), %%rsp" ::         \
          : "rax", "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc")

static void PrintRegisters(const char* what) {
  printf("%s:", what);
  for (int i = 0; i < 10; ++i) printf(" %ld", (long)found_registers[i]);
  printf("\n");
  memset(found_registers, 0, sizeof(found_registers));
}

static void SeeRegisters(long milliseconds) {
  static char memory[65536];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
  sigaltstack(&stack, NULL);
  const int flags[] = {0, SA_ONSTACK};
  for (int i = 0; i < 2; ++i) {
    struct sigaction action = {.sa_sigaction = &OnSignalInRegisters,
                               .sa_flags = SA_SIGINFO | flags[i]};
    if (sigaction(SIGTRAP, &action, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0) exit(93);
    Work(milliseconds);
    WITH_REGISTERS("int3");
    PrintRegisters("trap");
    WITH_REGISTERS("mov (%%rax), %%rax");
    PrintRegisters("fault");
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  const long milliseconds = atol(argv[2]);
  if (strcmp(how, "early") == 0 || strcmp(how, "late") == 0) {
    if (strcmp(how, "late") == 0) Work(milliseconds);
    Install(SIGTRAP, &OnTrap, SA_RESTART);
    Install(SIGSEGV, &OnFault, SA_NODEFER);
    TrapAndFault(milliseconds);
  }
  if (strcmp(how, "signal") == 0) {
    Work(milliseconds);
    if (signal(SIGTRAP, &OnTrap) != SIG_DFL || signal(SIGSEGV, &OnFault) != SIG_DFL) return 90;
    TrapAndFault(milliseconds);
    if (signal(SIGTRAP, SIG_DFL) != &OnTrap || signal(SIGSEGV, SIG_DFL) != &OnFault) return 91;
    Work(milliseconds);
  }
  if (strcmp(how, "kernel") == 0) {
    Work(milliseconds);
    InstallByKernel(SIGTRAP, &OnTrap);
    InstallByKernel(SIGSEGV, &OnFault);
    TrapAndFault(milliseconds);
  }
  if (strcmp(how, "syscall") == 0) {
    Work(milliseconds);
    InstallBySyscall(SIGTRAP, &OnTrap);
    InstallBySyscall(SIGSEGV, &OnFault);
    TrapAndFault(milliseconds);
  }
  if (strcmp(how, "registers") == 0) SeeRegisters(milliseconds);
  if (strcmp(how, "reset") == 0) {
    Work(milliseconds);
    ResetInChild(milliseconds);
  }
  if (strcmp(how, "fault") == 0) {
    Work(milliseconds);
    *nowhere = 1;
  }
  if (strcmp(how, "trap") == 0) {
    Work(milliseconds);
    Trap();
  }
  if (strcmp(how, "blocked") == 0) RunThreads(&WorkBlocked, milliseconds);
  if (strcmp(how, "blocked_by_kernel") == 0) RunThreads(&WorkBlockedByKernel, milliseconds);
  if (strcmp(how, "small_alternate_stack") == 0) {
    UseAlternateStack((size_t)sysconf(_SC_MINSIGSTKSZ), milliseconds);
  }
  if (strcmp(how, "tiny_alternate_stack") == 0) UseAlternateStack(2048, milliseconds);
  if (strcmp(how, "on_alternate_stack") == 0) RunOnAlternateStacks(milliseconds);
  if (strcmp(how, "vfork") == 0) {
    const stack_t stack = {.ss_sp = StackBehindGuard(8192), .ss_size = 8192};
    sigaltstack(&stack, NULL);
    Install(SIGTRAP, &OnTrap, SA_RESTART);
    Install(SIGSEGV, &OnFault, SA_NODEFER | SA_ONSTACK);
    Work(milliseconds);
    ResetSignalsInVforkedChild();
    TrapAndFault(milliseconds);
  }
  return 0;
}
