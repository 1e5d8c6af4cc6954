// signals HOW ...: programs that depend on signals. Their output does not depend on when signals
// arrive.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "work.h"

enum { kPage = 4096, kPages = 4096 };

static uint64_t Mix(uint64_t x) {
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

static char* heap;
static volatile uint64_t faults;

// Returns to the instruction that faulted, like write barriers and lazy mappings.
static void MapPage(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  char* const page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)(kPage - 1));
  if (page < heap || page >= heap + (size_t)kPages * kPage) _exit(91);
  volatile uint64_t x = 1;
  for (int i = 0; i < 200; ++i) x = Mix(x);
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
  ++faults;
}

static void MapLazily(int rounds) {
  heap = mmap(NULL, (size_t)kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (heap == MAP_FAILED) exit(90);
  struct sigaction action = {.sa_sigaction = &MapPage, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSEGV, &action, NULL) != 0) exit(90);
  uint64_t x = 1;
  for (int round = 0; round < rounds; ++round) {
    for (size_t page = 0; page < kPages; ++page) {
      heap[page * kPage]++;
      for (int i = 0; i < 20; ++i) x = Mix(x) + (uint64_t)heap[page * kPage];
    }
    mprotect(heap, (size_t)kPages * kPage, PROT_NONE);
  }
  printf("%lx after %lu faults\n", (unsigned long)x, (unsigned long)faults);
}

extern const char HbbpTestLoad[];
static char* unreadable;

static void ReadHere(int number, siginfo_t* info, void* raw_context) {
  (void)number, (void)info;
  const ucontext_t* context = raw_context;
  if ((const char*)context->uc_mcontext.gregs[REG_RIP] != HbbpTestLoad) _exit(91);
  mprotect(unreadable, kPage, PROT_READ);
  ++faults;
}

// Blocks signals by an instruction of its own, like runtimes without libc, and checks where a fault
// happened.
static void FaultWithBlockedSignals(int rounds) {
  unreadable = mmap(NULL, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action = {.sa_sigaction = &ReadHere, .sa_flags = SA_SIGINFO};
  if (unreadable == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0) exit(90);
  volatile uint64_t x = 1;
  for (int i = 0; i < 20000000; ++i) x = Mix(x);
  sigset_t blocked;
  sigfillset(&blocked);
  sigdelset(&blocked, SIGSEGV);
  register long set_bytes __asm__("r10") = 8;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_rt_sigprocmask), "D"(SIG_BLOCK), "S"(&blocked), "d"(NULL),
                     "r"(set_bytes)
                   : "rcx", "r11", "memory");
  if (result != 0) exit(90);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 5000000; ++i) x = Mix(x);
    mprotect(unreadable, kPage, PROT_NONE);
    __asm__ volatile(
        ".globl HbbpTestLoad\n"
        "HbbpTestLoad: movb (%0), %%al"
        :
        : "r"(unreadable)
        : "rax", "memory");
  }
  printf("%lx after %lu faults\n", (unsigned long)x, (unsigned long)faults);
}

static volatile sig_atomic_t alarms, ticks, ended;
static volatile uint64_t in_handlers;

static void Count(int number) {
  uint64_t x = 1;
  for (int i = 0; i < 50; ++i) x = Mix(x);
  in_handlers = x;
  if (number == SIGALRM) ++alarms;
  if (number == SIGPROF) ++ticks;
  if (number == SIGCHLD) ++ended;
}

static void SetTimers(long microseconds) {
  const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
  setitimer(ITIMER_PROF, &timer, NULL);
}

// There is a child each 1/16 of the work, and timers at full speed, except during the kernel's part
// of fork, which restarts at each signal. All handlers must have been called.
static void Storm(int rounds) {
  struct sigaction action = {.sa_handler = &Count, .sa_flags = SA_RESTART};
  for (const int* number = (const int[]){SIGALRM, SIGPROF, SIGCHLD, 0}; *number != 0; ++number) {
    if (sigaction(*number, &action, NULL) != 0) exit(90);
  }
  uint64_t x = 1;
  for (int round = 0; round < 16; ++round) {
    SetTimers(0);
    const pid_t child = fork();
    if (child == 0) _exit(3);
    SetTimers(200);
    for (int i = 0; i < rounds; ++i) {
      x = Mix(x);
      if (x % 3 == 0) x += 5;
      if (i % 1000 == 0) x += (uint64_t)getppid() != 0;
    }
    int status;
    pid_t waited;
    while ((waited = waitpid(child, &status, 0)) == -1) {
    }
    if (waited != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) exit(92);
  }
  SetTimers(0);
  printf("%lx, alarms %d, ticks %d, children %d\n", (unsigned long)x, alarms > 10, ticks > 10,
         ended >= 1);
}

static volatile int is_at_end;

// The profiler waits for its worker by a function of libc, which this one interposes: a timer of
// the program fires while the profile is saved.
__attribute__((visibility("default"))) long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  if (is_at_end && number == SYS_futex) {
    is_at_end = 0;
    (void)!write(STDERR_FILENO, "fired\n", 6);
    kill(getpid(), SIGALRM);
  }
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

static void EndWithRunningTimer(int rounds) {
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  printf("%lx\n", (unsigned long)x);
  is_at_end = 1;
}

static void* TakeThree(void* none) {
  sigset_t all;
  sigfillset(&all);
  for (int i = 0; i < 3; ++i) {
    int number = 0;
    if (sigwait(&all, &number) != 0) exit(93);
    printf("got %d\n", number);
  }
  return none;
}

// A thread takes all signals, SIGTRAP among them, which no thread has unblocked.
static void Wait(int rounds) {
  sigset_t all, found;
  sigfillset(&all);
  if (pthread_sigmask(SIG_BLOCK, &all, NULL) != 0) exit(90);
  if (sigprocmask(SIG_BLOCK, NULL, &found) != 0 || !sigismember(&found, SIGTRAP)) exit(94);
  pthread_t thread;
  if (pthread_create(&thread, NULL, &TakeThree, NULL) != 0) exit(90);
  uint64_t x = 1;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < rounds; ++k) x = Mix(x);
    kill(getpid(), SIGTRAP);
    usleep(100000);
  }
  pthread_join(thread, NULL);
  printf("%lx\n", (unsigned long)x);
}

static volatile int traps_in_wait;

static void CountInWait(int number) {
  (void)number;
  ++traps_in_wait;
}

// The thread blocks SIGTRAP but for its waits, in each of which one comes.
static void WaitUnderMasks(int rounds) {
  sigset_t trap, none;
  sigemptyset(&none);
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  signal(SIGTRAP, &CountInWait);
  if (pthread_sigmask(SIG_BLOCK, &trap, NULL) != 0) exit(90);
  const int epoll = epoll_create1(0);
  struct epoll_event event;
  const struct timespec second = {1, 0};
  uint64_t x = 1;
  for (int how = 0; how < 5; ++how) {
    for (int k = 0; k < rounds; ++k) x = Mix(x);
    kill(getpid(), SIGTRAP);
    kill(getpid(), SIGTRAP);
    if (traps_in_wait != how) exit(95);
    // A sample that came just before may end a wait, too.
    for (int i = 0; i < 5 && traps_in_wait == how; ++i) {
      const int result = how == 0   ? sigsuspend(&none)
                         : how == 1 ? ppoll(NULL, 0, &second, &none)
                         : how == 2 ? pselect(0, NULL, NULL, NULL, &second, &none)
                         : how == 3 ? epoll_pwait(epoll, &event, 1, 1000, &none)
                                    : epoll_pwait2(epoll, &event, 1, &second, &none);
      if (result != -1 || errno != EINTR) exit(96);
    }
    if (traps_in_wait != how + 1) exit(97);
    sigset_t found;
    if (sigprocmask(SIG_BLOCK, NULL, &found) != 0 || !sigismember(&found, SIGTRAP)) exit(94);
  }
  printf("%d traps, %lx\n", traps_in_wait, (unsigned long)x);
}

static volatile char dispatches;
static volatile int dispatched;

static void TakeCall(int number) {
  (void)number;
  dispatches = 0;
  ++dispatched;
}

// The program gets its system calls as SIGSYS, as Wine does.
static void DispatchCalls(int rounds) {
  enum { kCalls = 20 };
  uint64_t x = 1;
  for (int k = 0; k < rounds; ++k) x = Mix(x);
  signal(SIGSYS, &TakeCall);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatches) != 0) exit(77);
  for (int i = 0; i < kCalls; ++i) {
    dispatches = 1;
    for (int k = 0; k < rounds; ++k) x = Mix(x);
    if (!dispatches) exit(95);
    syscall(SYS_getppid);
    if (dispatches || dispatched != i + 1) exit(96);
  }
  prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  printf("%d calls, %lx\n", dispatched, (unsigned long)x);
}

// Makes a stack useless that is still set, in one of several ways.
static int BreakStack(char* stack, size_t bytes, int way) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  switch (way) {
    case 0:
      return munmap(stack, bytes);
    case 1:
      // A part of it suffices.
      return munmap(stack, bytes / 2);
    case 2:
      return mprotect(stack + bytes / 2, bytes / 2, PROT_NONE);
    case 3:
      return mremap(stack, bytes, 64 * bytes, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0;
    default:
      return mmap(stack, bytes, PROT_READ, flags | MAP_FIXED, -1, 0) == stack ? 0 : -1;
  }
}

// Sets alternate stacks, and breaks each when it needs it no more, and leaves it set.
static void* BreakStacks(void* rounds) {
  enum { kBytes = 65536 };
  static uint64_t sum;
  for (int i = 0; i < 20; ++i) {
    stack_t stack = {.ss_size = kBytes}, found;
    stack.ss_sp = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0) exit(90);
    if (BreakStack(stack.ss_sp, kBytes, i % 5) != 0) exit(91);
    uint64_t x = 1;
    for (int k = 0; k < *(const int*)rounds; ++k) x = Mix(x);
    sum += x;
    if (sigaltstack(NULL, &found) != 0 || found.ss_sp != stack.ss_sp) exit(92);
    if (found.ss_size != kBytes || found.ss_flags != 0) exit(93);
  }
  return &sum;
}

static void BreakStacksInThreads(int rounds) {
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    void* sum = NULL;
    if (pthread_create(&thread, NULL, &BreakStacks, &rounds) != 0) exit(90);
    pthread_join(thread, &sum);
    printf("%lx\n", (unsigned long)*(uint64_t*)sum);
  }
  printf("%lx\n", (unsigned long)*(uint64_t*)BreakStacks(&rounds));
}

// Does the same as Wait by a descriptor.
static void WaitForDescriptor(int rounds) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) exit(90);
  const int fd = signalfd(-1, &set, 0);
  if (fd < 0) exit(90);
  uint64_t x = 1;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < rounds; ++k) x = Mix(x);
    union sigval value = {.sival_int = 17 + i};
    sigqueue(getpid(), SIGTRAP, value);
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof(info)) != sizeof(info)) exit(91);
    printf("%u %d %d\n", info.ssi_signo, info.ssi_code, info.ssi_int);
  }
  struct pollfd more = {fd, POLLIN, 0};
  printf("%d %lx\n", poll(&more, 1, 0), (unsigned long)x);
}

// Prints what children inherit that the C library starts.
static void Spawn(int rounds) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
  char* const none[] = {NULL};
  char* const words[] = {"grep", "SigBlk", "/proc/self/status", NULL};
  pid_t child;
  if (posix_spawn(&child, "/bin/grep", NULL, NULL, words, none) != 0) exit(90);
  waitpid(child, NULL, 0);
  if (posix_spawnp(&child, "grep", NULL, NULL, words, none) != 0) exit(90);
  waitpid(child, NULL, 0);
  if (system("grep SigBlk /proc/self/status") != 0) exit(91);
  FILE* const stream = popen("grep SigBlk /proc/self/status", "r");
  char line[256];
  while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) fputs(line, stdout);
  if (stream == NULL || pclose(stream) != 0) exit(92);
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
}

// Prints what an image inherits that is not traced.
static void Exec(int rounds) {
  for (int i = 0; i < 3; ++i) signal((const int[]){SIGTRAP, SIGSEGV, SIGBUS}[i], SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
  char* const none[] = {NULL};
  if (execle("/none", "none", NULL, none) != -1) exit(96);
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
  execle("/bin/grep", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status", NULL, none);
}

static const int shared[] = {SIGTRAP, SIGSEGV, SIGBUS};

// Prints what a traced child inherits, and passes on.
static void ShowIgnored(int depth) {
  for (int i = 0; i < 3; ++i) {
    struct sigaction found;
    if (sigaction(shared[i], NULL, &found) != 0) exit(93);
    printf(" %s", found.sa_handler == SIG_IGN ? "ignored" : "other");
  }
  puts("");
  fflush(stdout);
  if (depth > 0 && execl("/proc/self/exe", "signals", "inherited", "0", NULL) != 0) exit(94);
}

static void SpawnSelf(const posix_spawnattr_t* attributes) {
  char* const words[] = {"signals", "inherited", "1", NULL};
  pid_t child;
  if (posix_spawn(&child, "/proc/self/exe", NULL, attributes, words, environ) != 0) exit(90);
  waitpid(child, NULL, 0);
}

static void SpawnIgnoring(int rounds, const char* self) {
  signal(SIGTRAP, SIG_IGN);
  signal(SIGBUS, SIG_IGN);
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
  SpawnSelf(NULL);
  posix_spawnattr_t attributes;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigdefault(&attributes, &set);
  SpawnSelf(&attributes);
  char command[4200];
  snprintf(command, sizeof(command), "%s inherited 1; %s inherited 0", self, self);
  if (system(command) != 0) exit(91);
  FILE* const stream = popen(command, "r");
  char line[256];
  while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) fputs(line, stdout);
  if (stream == NULL || pclose(stream) != 0) exit(92);
  signal(SIGBUS, SIG_DFL);
  SpawnSelf(NULL);
  signal(SIGTRAP, SIG_DFL);
  SpawnSelf(NULL);
}

static uint64_t found_by_child;

static int SetHandlersInChild(void* rounds) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(SIGSEGV, &action, NULL);
  signal(SIGTRAP, SIG_DFL);
  uint64_t x = 1;
  for (int i = 0; i < *(int*)rounds; ++i) x = Mix(x);
  found_by_child = x;
  return 4;
}

// The process shares memory and handlers, as threads did before there were any.
static void Clone(int rounds) {
  enum { kStack = 65536 };
  char* const stack = malloc(kStack);
  if (stack == NULL) exit(90);
  const int flags = CLONE_VM | CLONE_SIGHAND | CLONE_FILES | CLONE_FS | SIGCHLD;
  const pid_t child = clone(&SetHandlersInChild, stack + kStack - 64, flags, &rounds);
  uint64_t x = 2;
  for (int i = 0; i < 2 * rounds; ++i) x = Mix(x);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) exit(90);
  printf("%x %lx %lx\n", (unsigned)status, (unsigned long)x, (unsigned long)found_by_child);
}

// Uses the older functions.
static void Ignore(int rounds) {
  sigignore(SIGTRAP);
  if (sigset(SIGTRAP, SIG_IGN) != SIG_IGN || sigset(SIGTRAP, SIG_HOLD) != SIG_IGN) exit(96);
  if (sigset(SIGTRAP, &Count) != SIG_HOLD || sigset(SIGTRAP, SIG_IGN) != &Count) exit(97);
  siginterrupt(SIGTRAP, 1);
  struct sigaction found;
  if (sigaction(SIGTRAP, NULL, &found) != 0 || (found.sa_flags & SA_RESTART)) exit(98);
  if (sighold(SIGTRAP) != 0 || sigrelse(SIGTRAP) != 0) exit(98);
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  raise(SIGTRAP);
  printf("%lx\n", (unsigned long)x);
}

// A signal that waits comes in the call that unblocks it.
static void Unblock(int rounds) {
  struct sigaction action = {.sa_handler = &CountInWait};
  sigaction(SIGTRAP, &action, NULL);
  sigset_t trap, before;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  for (int i = 0; i < rounds; ++i) {
    sigprocmask(SIG_BLOCK, &trap, &before);
    kill(getpid(), SIGTRAP);
    if (traps_in_wait != i) exit(95);
    if (i % 3 == 0) sigprocmask(SIG_UNBLOCK, &trap, NULL);
    if (i % 3 == 1) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (i % 3 == 2) sigsetmask(0);
    if (traps_in_wait != i + 1) exit(96);
  }
  printf("%d\n", traps_in_wait);
}

static void ShowMask(void) {
  struct sigaction action = {.sa_handler = &CountInWait};
  sigaction(SIGTRAP, &action, NULL);
  sigset_t set;
  sigprocmask(SIG_BLOCK, NULL, &set);
  raise(SIGTRAP);
  printf("%d %d %d\n", sigismember(&set, SIGTRAP), sigismember(&set, SIGUSR2), traps_in_wait);
}

// Shells and other programs start a child so, which then unblocks signals in one of four ways.
static void Vfork(int way, const char* self) {
  sigset_t all, before, other;
  sigfillset(&all);
  sigemptyset(&other);
  sigaddset(&other, SIGUSR2);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = vfork();
  if (child == 0) {
    if (way == 0) sigprocmask(SIG_SETMASK, &before, NULL);
    if (way == 1) sigsetmask(0);
    if (way == 2) sigprocmask(SIG_UNBLOCK, &other, NULL);
    execl(self, self, "masked", "1", NULL);
    _exit(96);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) exit(97);
}

static void VforkInAllWays(int rounds, const char* self) {
  enum { kWays = 4 };
  for (int i = 0; i < rounds * kWays; ++i) Vfork(i % kWays, self);
}

// A sample that comes between the call of exec and the next image must not end that.
static void ExecAgain(int rounds, char* self) {
  if (rounds == 0) {
    printf("done\n");
    return;
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  volatile uint64_t x = 1;
  for (int i = 0; i < 300000; ++i) x = Mix(x);
  char left[16];
  snprintf(left, sizeof(left), "%d", rounds - 1);
  execl(self, self, "again", left, NULL);
  exit(96);
}

static sigjmp_buf behind_handler;
static volatile sig_atomic_t traps_taken;

static void OnTrap(int signal_number) {
  (void)signal_number;
  ++traps_taken;
}

static void BlockAll(int signal_number) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  if (signal_number == SIGUSR2) siglongjmp(behind_handler, 1);
}

static void PrintMask(const char* behind) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("%s: SIGTRAP %d, SIGINT %d\n", behind, sigismember(&mask, SIGTRAP),
         sigismember(&mask, SIGINT));
  fflush(stdout);
}

static void PrintStatusOfTrappedShell(void) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "kill -TRAP $$; echo not ended", (char*)NULL);
    _exit(94);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) exit(93);
  printf("shell: signal %d\n", WTERMSIG(status));
}

// The kernel restores behind a handler what was blocked in front of it.
static void BlockInHandlers(int rounds) {
  const struct sigaction action = {.sa_handler = &BlockAll};
  if (sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGUSR2, &action, NULL) != 0) exit(95);
  if (signal(SIGTRAP, &OnTrap) == SIG_ERR) exit(95);
  uint64_t x = 1;
  for (int i = 0; i < rounds; ++i) x = Mix(x);
  if (x == 0) exit(95);
  raise(SIGUSR1);
  PrintMask("first handler");
  PrintStatusOfTrappedShell();
  sigset_t some, none;
  sigemptyset(&none);
  for (int blocks_traps = 0; blocks_traps < 2; ++blocks_traps) {
    sigemptyset(&some);
    sigaddset(&some, SIGINT);
    if (blocks_traps) sigaddset(&some, SIGTRAP);
    sigprocmask(SIG_SETMASK, &some, NULL);
    for (int round = 0; round < 10; ++round) {
      raise(SIGUSR1);
      PrintMask("handler");
      if (sigsetjmp(behind_handler, 1) == 0) raise(SIGUSR2);
      PrintMask("jump");
      raise(SIGTRAP);
      printf("%d of SIGTRAP\n", (int)traps_taken);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    PrintMask("none");
    printf("%d of SIGTRAP\n", (int)traps_taken);
  }
  raise(SIGUSR1);
  raise(SIGTRAP);
  printf("%d of SIGTRAP\n", (int)traps_taken);
}

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  const int rounds = atoi(argv[2]);
  if (strcmp(argv[1], "lazy") == 0) {
    MapLazily(rounds);
  } else if (strcmp(argv[1], "blocked") == 0) {
    FaultWithBlockedSignals(rounds);
  } else if (strcmp(argv[1], "storm") == 0) {
    Storm(rounds);
  } else if (strcmp(argv[1], "wait") == 0) {
    Wait(rounds);
  } else if (strcmp(argv[1], "masks") == 0) {
    WaitUnderMasks(rounds);
  } else if (strcmp(argv[1], "dispatch") == 0) {
    DispatchCalls(rounds);
  } else if (strcmp(argv[1], "broken_stacks") == 0) {
    BreakStacksInThreads(rounds);
  } else if (strcmp(argv[1], "descriptor") == 0) {
    WaitForDescriptor(rounds);
  } else if (strcmp(argv[1], "spawn") == 0) {
    Spawn(rounds);
  } else if (strcmp(argv[1], "ignoring") == 0) {
    SpawnIgnoring(rounds, argv[0]);
  } else if (strcmp(argv[1], "inherited") == 0) {
    ShowIgnored(rounds);
  } else if (strcmp(argv[1], "exec") == 0) {
    Exec(rounds);
  } else if (strcmp(argv[1], "clone") == 0) {
    Clone(rounds);
  } else if (strcmp(argv[1], "ignore") == 0) {
    Ignore(rounds);
  } else if (strcmp(argv[1], "unblock") == 0) {
    Unblock(rounds);
  } else if (strcmp(argv[1], "masked") == 0) {
    ShowMask();
  } else if (strcmp(argv[1], "vforks") == 0) {
    VforkInAllWays(rounds, argv[0]);
  } else if (strcmp(argv[1], "again") == 0) {
    ExecAgain(rounds, argv[0]);
  } else if (strcmp(argv[1], "handlers") == 0) {
    BlockInHandlers(rounds);
  } else if (strcmp(argv[1], "timer") == 0) {
    EndWithRunningTimer(rounds);
  } else {
    return 99;
  }
  return 0;
}
