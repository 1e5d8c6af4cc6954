#include "preload/own_process.h"

#include <linux/kcmp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/seccomp_filter.h"

namespace hbbp::preload {
namespace {

std::atomic<pid_t> own{0};  // 0 until the constructor has run

// A seccomp filter may forbid getpid().
void SetOwn() {
  if (!HasFilterFromTheStart()) own = ::getpid();
}

__attribute__((constructor(101))) void OnLoad() {
  SetOwn();
  ::pthread_atfork(nullptr, nullptr, &SetOwn);
}

}  // namespace

bool IsOwnProcess() { return own == 0 || HasFilter() || own == ::getpid(); }

bool HasOwnHandlers() {
  if (IsOwnProcess()) return true;
  const int saved_errno = errno;
  const bool is_shared = ::syscall(SYS_kcmp, own.load(), ::getpid(), KCMP_SIGHAND, 0, 0) == 0;
  errno = saved_errno;
  return is_shared;
}

}  // namespace hbbp::preload
