// refuse_perf ERRNO [--ptrace] CMD ARG...: runs a command that may not call perf_event_open, or
// ptrace; that fails with ERRNO, or kills with 0. Status 77 if this kernel has no such filters.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const int is_ptrace = strcmp(argv[2], "--ptrace") == 0;
  char** const command = argv + (is_ptrace ? 3 : 2);
  const unsigned error_number = (unsigned)atoi(argv[1]);
  const unsigned action =
      error_number == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | error_number;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, is_ptrace ? SYS_ptrace : SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return 77;
  }
  execvp(command[0], command);
  return 98;
}
