// filters ACTION FUNCTION END: sets a seccomp filter that allows what it needs itself, and
// continues to work.
// ACTION: kill, trap, errno, strict or all (kill, of all threads); FUNCTION, by which it is set:
// prctl, syscall, libc_prctl (prctl by syscall), kernel (by no function of libc); END: how it ends.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int* volatile nowhere = (int*)16;

static unsigned long Mix(unsigned long rounds) {
  unsigned long x = 1;
  for (unsigned long i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    if (x & 1) x += 3;
  }
  return x;
}

static long Call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

static void Print(unsigned long number) {
  char text[32];
  const int length = snprintf(text, sizeof(text), "%lx\n", number);
  if (Call(SYS_write, 1, (long)text, length) != length) Call(SYS_exit_group, 98, 0, 0);
}

static unsigned long found_in_thread;
static volatile int is_running;

// Ends by the last system call of libc's exit, without the calls before it that the filter would
// have to allow.
static void* MixInThread(void* rounds) {
  is_running = 1;
  found_in_thread = Mix((unsigned long)rounds);
  Call(SYS_exit, 0, 0, 0);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 99;
  const char *action = argv[1], *function = argv[2], *end = argv[3];
  const unsigned long rounds = 15000000;
  const unsigned long refusal = strcmp(action, "errno") == 0  ? SECCOMP_RET_ERRNO | EPERM
                                : strcmp(action, "trap") == 0 ? SECCOMP_RET_TRAP
                                                              : SECCOMP_RET_KILL_PROCESS;
  // The filter allows the program's own calls, execve, and the calls of the loader and libc in a
  // program that is started so.
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_read),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_exit),
      ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_brk),
      ALLOW(SYS_mmap),
      ALLOW(SYS_munmap),
      ALLOW(SYS_mprotect),
      ALLOW(SYS_newfstatat),
      ALLOW(SYS_futex),
      ALLOW(SYS_madvise),
      ALLOW(SYS_execve),
      ALLOW(SYS_access),
      ALLOW(SYS_openat),
      ALLOW(SYS_close),
      ALLOW(SYS_pread64),
      ALLOW(SYS_arch_prctl),
      ALLOW(SYS_set_tid_address),
      ALLOW(SYS_set_robust_list),
      ALLOW(SYS_rseq),
      ALLOW(SYS_prlimit64),
      ALLOW(SYS_getrandom),
      ALLOW(SYS_clone),
      ALLOW(SYS_wait4),
      ALLOW(SYS_lseek),
      ALLOW(SYS_fstat),
      ALLOW(SYS_readlink),
      BPF_STMT(BPF_RET | BPF_K, (unsigned)refusal)};
  const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
  Print(Mix(rounds));
  pthread_t thread;
  const int is_of_all = strcmp(action, "all") == 0;
  if (is_of_all && pthread_create(&thread, NULL, &MixInThread, (void*)(8 * rounds)) != 0) return 90;
  while (is_of_all && !is_running) {
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 90;
  // This call sets no filter.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT) return 77;
  const long flags = is_of_all ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  const int is_strict = strcmp(action, "strict") == 0;
  const long mode = is_strict ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER;
  const long operation = is_strict ? SECCOMP_SET_MODE_STRICT : SECCOMP_SET_MODE_FILTER;
  const long argument = is_strict ? 0 : (long)&program;
  long result = -1;
  if (strcmp(function, "prctl") == 0) result = prctl(PR_SET_SECCOMP, mode, argument);
  if (strcmp(function, "syscall") == 0) result = syscall(SYS_seccomp, operation, flags, argument);
  if (strcmp(function, "libc_prctl") == 0) {
    result = syscall(SYS_prctl, PR_SET_SECCOMP, mode, argument);
  }
  if (strcmp(function, "kernel") == 0) result = Call(SYS_seccomp, operation, flags, argument);
  if (result != 0) Call(SYS_exit_group, 91, 0, 0);
  Print(Mix(8 * rounds));
  if (is_of_all) {
    pthread_join(thread, NULL);
    Print(found_in_thread);
  }
  if (strcmp(end, "exit") == 0) exit(5);
  if (strcmp(end, "_exit") == 0) _exit(6);
  if (strcmp(end, "thread") == 0) Call(SYS_exit, 7, 0, 0);
  if (strcmp(end, "fault") == 0) *nowhere = 1;
  if (strcmp(end, "exec") == 0) execl("/bin/echo", "echo", "from a new image", NULL);
  return 97;
}
