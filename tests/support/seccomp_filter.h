// Installs a seccomp filter for the rest of the process, or of a child of the test.
#ifndef HBBP_TESTS_SUPPORT_SECCOMP_FILTER_H_
#define HBBP_TESTS_SUPPORT_SECCOMP_FILTER_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace hbbp {

// Makes that system call fail with EPERM in the calling thread. Returns false if there are no
// filters here.
inline bool RefuseSystemCall(uint32_t number) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_SECCOMP_FILTER_H_
