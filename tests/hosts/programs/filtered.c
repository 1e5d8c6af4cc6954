// filtered kill|trap|errno|strict ROUNDS: works, then forbids itself all system calls except those
// that it needs, and continues to work. Prints its results before and after.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#define ALLOW(NUMBER) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static unsigned ActionNamed(const char* name) {
  if (strcmp(name, "trap") == 0) return SECCOMP_RET_TRAP;
  if (strcmp(name, "errno") == 0) return SECCOMP_RET_ERRNO | EPERM;
  return SECCOMP_RET_KILL_PROCESS;
}

static int InstallFilter(unsigned action) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_read),
      ALLOW(SYS_write),
      ALLOW(SYS_exit),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_brk),
      ALLOW(SYS_mmap),
      ALLOW(SYS_munmap),
      ALLOW(SYS_futex),
      BPF_STMT(BPF_RET | BPF_K, action),
  };
  const struct sock_fprog filter = {sizeof(program) / sizeof(*program), program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const long rounds = Argument(argc, argv, 2, 50000000);
  Print("before", Spin(1, rounds));
  fflush(stdout);
  const int result = strcmp(argv[1], "strict") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                                                    : InstallFilter(ActionNamed(argv[1]));
  if (result != 0) return kSkipped;
  char line[40];
  const int length =
      snprintf(line, sizeof(line), "after %llx\n", (unsigned long long)Spin(2, 2 * rounds));
  const ssize_t written = write(1, line, (size_t)length);
  const int status = written == length ? 0 : kHarmed;
  // Strict mode allows no exit_group.
  if (strcmp(argv[1], "strict") == 0) syscall(SYS_exit, status);
  _exit(status);
}
