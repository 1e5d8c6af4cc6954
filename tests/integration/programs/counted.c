// counted WHAT: runs Loop a known number of times, in threads, children and signal handlers.
//
// Loop(n) executes its two instructions of the loop n times each. Prints nothing.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled, trapped, faulted;
static sigjmp_buf after_fault;

#ifdef __clang__
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

ONE_COPY static void Loop(long n) {
  __asm__ volatile(
      "mov %0, %%rcx\n"
      ".globl loop\n"
      "loop:\n"
      "  dec %%rcx\n"
      "  jnz loop\n" ::"r"(n)
      : "rcx", "cc");
}

__attribute__((noinline)) static void Handler(int number) {
  if (number == SIGTRAP) {
    trapped++;
  } else {
    handled++;
  }
}

static void OnFault(int number) {
  (void)number;
  faulted++;
  siglongjmp(after_fault, 1);
}

static void* Thread(void* unused) {
  Loop(500);
  return unused;
}

static int Threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, Thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}

static int Forks(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    Loop(70);
    _exit(3);
  }
  Loop(30);
  waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 3 ? 0 : 1;
}

static void* ExecThread(void* self) {
  Loop(30);
  execl(self, self, "loop", (char*)NULL);
  return NULL;
}

// The other threads end, and the program continues with the id of the first.
static int ThreadExecs(char* self) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, Thread, NULL);
  pthread_join(threads[0], NULL);
  pthread_create(&threads[1], NULL, ExecThread, self);
  pause();
  return 1;
}

static int Stops(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    Loop(70);
    _exit(3);
  }
  waitpid(child, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) return 1;
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 3 ? 0 : 1;
}

static int Execs(const char* self) {
  int status = 0;
  const pid_t child = vfork();
  if (child == 0) {
    execl(self, self, "loop", (char*)NULL);
    _exit(127);
  }
  waitpid(child, &status, 0);
  if (status != 0) return 1;
  Loop(30);
  execl(self, self, "loop", (char*)NULL);
  return 1;
}

static int Signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = Handler;
  // All signals are blocked in the handler, SIGTRAP too.
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGTRAP, &action, NULL);
  signal(SIGSEGV, OnFault);
  for (int i = 0; i < 7; i++) raise(SIGUSR1);
  raise(SIGTRAP);
  __asm__ volatile("int3");
  if (sigsetjmp(after_fault, 1) == 0) __asm__ volatile("mov %eax, 8");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  raise(SIGUSR1);
  Loop(30);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  raise(SIGTRAP);
  unsigned long flags;
  __asm__ volatile("pushfq; pop %0" : "=r"(flags));
  return handled == 8 && trapped == 3 && faulted == 1 && (flags & 0x100) == 0 ? 0 : 1;
}

// The code is inc %eax; ret, then another program at the same address: inc %eax; inc %eax; ret.
static int Generated(void) {
  static const unsigned char kFirst[] = {0xff, 0xc0, 0xc3};
  static const unsigned char kSecond[] = {0xff, 0xc0, 0xff, 0xc0, 0xc3};
  void* const memory =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  void (*function)(void);
  memcpy(&function, &memory, sizeof(function));
  memcpy(memory, kFirst, sizeof(kFirst));
  for (int i = 0; i < 10; i++) function();
  memcpy(memory, kSecond, sizeof(kSecond));
  for (int i = 0; i < 10; i++) function();
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  const char* const what = argv[1];
  if (strcmp(what, "threads") == 0) return Threads();
  if (strcmp(what, "forks") == 0) return Forks();
  if (strcmp(what, "execs") == 0) return Execs(argv[0]);
  if (strcmp(what, "thread_execs") == 0) return ThreadExecs(argv[0]);
  if (strcmp(what, "stops") == 0) return Stops();
  if (strcmp(what, "signals") == 0) return Signals();
  if (strcmp(what, "generated") == 0) return Generated();
  if (strcmp(what, "killed") == 0) return raise(SIGKILL);
  if (strcmp(what, "loop") == 0) Loop(100);
  return 0;
}
