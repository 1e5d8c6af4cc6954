// forks HOW MILLISECONDS [FILE]: runs processes that make others, and prints how much each of them
// worked.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "work.h"

static long milliseconds;

static void WaitForAll(void) {
  while (wait(NULL) > 0) {
  }
}

// Runs in the child; the parent continues.
static void Child(long work) {
  Work(work);
  Report();
  exit(0);
}

static int ChildOfClone(void* unused) {
  (void)unused;
  Work(milliseconds);
  syscall(SYS_exit, 0);
  return 0;
}

static void* ForkInThread(void* unused) {
  (void)unused;
  Work(milliseconds);
  const pid_t child = fork();
  if (child == 0) Child(milliseconds);
  waitpid(child, NULL, 0);
  return NULL;
}

static void Daemonize(const char* done_file) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  Work(milliseconds);
  close(open(done_file, O_WRONLY | O_CREAT, 0666));
  _exit(0);
}

static volatile int good_forks;
static int forks_prepared;
static int is_child;

static void Prepare(void) { ++forks_prepared; }
static void SetChild(void) { is_child = 1; }

// Every second child becomes another program.
static void ForkInHandler(int signal_number) {
  (void)signal_number;
  const pid_t child = fork();
  if (child == 0) {
    if (!is_child) _exit(80);
    if (good_forks % 2 != 0) execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
    _exit(3);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) _exit(81);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
    dprintf(2, "child %d of the handler ended with wait status %#x\n", good_forks, status);
    _exit(82);
  }
  ++good_forks;
}

// Sooner or later the handlers run while the allocator is in an intermediate state.
static void AllocateWhileHandlersFork(int forks, int flags) {
  pthread_atfork(&Prepare, NULL, &SetChild);
  const struct sigaction action = {.sa_handler = &ForkInHandler, .sa_flags = SA_RESTART | flags};
  sigaction(SIGALRM, &action, NULL);
  void* blocks[64] = {NULL};
  unsigned random = 1;
  for (int asked = 0; good_forks < forks;) {
    if (asked == good_forks) {
      const struct itimerval once = {{0, 0}, {0, 1000}};
      setitimer(ITIMER_REAL, &once, NULL);
      ++asked;
    }
    random = random * 1103515245 + 12345;
    const unsigned i = (random >> 16) % 64;
    free(blocks[i]);
    blocks[i] = malloc((random >> 8) % 70000);
  }
  if (forks_prepared != forks) _exit(83);
}

// Prints how a child that asks for a tracer and works stops, as its tracer sees it.
static void TraceChild(void) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    Work(milliseconds);
    _exit(7);
  }
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    printf("stopped by %d\n", WSTOPSIG(status));
    ptrace(PTRACE_CONT, child, NULL, NULL);
  }
  printf("ended with %#x\n", (unsigned)status);
}

// Prints what a system call answers that the kernel refuses to a process with several threads.
static void UnshareInChild(void) {
  fflush(stdout);
  if (fork() == 0) {
    const long result = syscall(SYS_unshare, CLONE_NEWUSER);
    printf("unshare: %ld, %d\n", result, result == 0 ? 0 : errno);
    exit(0);
  }
}

static void* DoNothing(void* unused) { return unused; }

// From then on, the C library changes the user of all threads that it knows of.
static void RunThread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, &DoNothing, NULL) == 0) pthread_join(thread, NULL);
}

static void ChangeUser(void) {
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(84);
}

// A process that advises the kernel of memory is killed: this one does not, nor does its child.
static void SetFilter(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = 4, .filter = filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 7 << 8) _exit(85);
}

static void LimitMemory(void) {
  const struct rlimit limit = {64 << 20, 64 << 20};
  setrlimit(RLIMIT_AS, &limit);
}

// The child gives something up before it does anything else.
static void WorkInChildAfter(void (*give_up)(void)) {
  if (fork() != 0) return;
  give_up();
  Child(milliseconds);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  milliseconds = atol(argv[2]);
  if (strcmp(how, "bomb") == 0) {
    for (int i = 0; i < 200; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(i % 8);
      int status = 0;
      if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != i % 8) return 90;
    }
  }
  Work(milliseconds);
  if (strcmp(how, "fork") == 0) {
    for (int i = 1; i <= 3; ++i) {
      if (fork() == 0) Child(i * milliseconds);
    }
  }
  if (strcmp(how, "grandchild") == 0 && fork() == 0) {
    if (fork() == 0) Child(milliseconds);
    WaitForAll();
    Child(milliseconds);
  }
  if (strcmp(how, "threads") == 0) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, &ForkInThread, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(how, "raw_fork") == 0 && syscall(SYS_fork) == 0) {
    Work(milliseconds);
    _exit(0);
  }
  if (strcmp(how, "raw_clone") == 0) {
    static _Alignas(16) char stack[65536];
    clone(&ChildOfClone, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
  }
  if (strcmp(how, "handler") == 0) AllocateWhileHandlersFork(150, 0);
  if (strcmp(how, "nodefer_handler") == 0) AllocateWhileHandlersFork(150, SA_NODEFER);
  if (strcmp(how, "traced") == 0) {
    TraceChild();
    return 0;
  }
  if (strcmp(how, "unshare") == 0) {
    UnshareInChild();
    WaitForAll();
    return 0;
  }
  if (strcmp(how, "user") == 0) {
    RunThread();
    WorkInChildAfter(&ChangeUser);
  }
  if (strcmp(how, "filter") == 0) WorkInChildAfter(&SetFilter);
  if (strcmp(how, "limit") == 0) WorkInChildAfter(&LimitMemory);
  if (strcmp(how, "daemon") == 0) Daemonize(argv[3]);
  WaitForAll();
  Work(milliseconds);
  Report();
  return 0;
}
