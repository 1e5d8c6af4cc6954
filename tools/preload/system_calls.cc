// The functions of the C library that make any system call, or one of several: syscall, prctl and
// ptrace. By them a program sets a seccomp filter (libseccomp uses syscall), has its system calls
// sent to a handler of its own, asks for a tracer, or ends a thread with a status. They jump to the
// interposed function with all registers unchanged, since syscall may be used for clone and the
// like, which returns twice. What syscall does for a function that is interposed elsewhere goes
// there: the action of a signal to signals.h, and namespaces to interpose.cc.

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "preload/image_profile.h"
#include "preload/signals.h"

extern "C" {

[[gnu::visibility("hidden"), gnu::used]] void* HbbpNextSyscall;
[[gnu::visibility("hidden"), gnu::used]] void* HbbpNextPrctl;
[[gnu::visibility("hidden"), gnu::used]] void* HbbpNextPtrace;

// Gets the arguments of the interposed function.
[[gnu::visibility("hidden"), gnu::used]] void HbbpBeforeSyscall(long number, long a, long b,
                                                                long c) {
  const int saved_errno = errno;
  if (HbbpNextSyscall == nullptr) HbbpNextSyscall = ::dlsym(RTLD_NEXT, "syscall");
  if (number == SYS_exit) hbbp::preload::PrepareForEndOfThread(static_cast<int>(a));
  if (number == SYS_ptrace && a == PTRACE_TRACEME) hbbp::preload::PrepareForTracer();
  const bool is_prctl = number == SYS_prctl && a == PR_SET_SECCOMP;
  const bool is_strict = (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT) ||
                         (is_prctl && b == SECCOMP_MODE_STRICT);
  // Without a program, the call only asks whether the kernel has filters.
  const bool is_filter = ((number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER) ||
                          (is_prctl && b == SECCOMP_MODE_FILTER)) &&
                         c != 0;
  const bool is_of_all_threads =
      number == SYS_seccomp && (b & static_cast<long>(SECCOMP_FILTER_FLAG_TSYNC)) != 0;
  if (is_strict || is_filter) {
    hbbp::preload::PrepareForFilter(
        is_of_all_threads,
        "sampling ended early: the program set a seccomp filter, which may not allow what the "
        "profiler needs");
  }
  const bool is_dispatch =
      number == SYS_prctl && a == PR_SET_SYSCALL_USER_DISPATCH && b == PR_SYS_DISPATCH_ON;
  if (is_dispatch) {
    hbbp::preload::PrepareForFilter(
        false,
        "sampling ended early: the program handles system calls itself (PR_SET_SYSCALL_USER_"
        "DISPATCH), and would get those of the profiler");
  }
  errno = saved_errno;
}

[[gnu::visibility("hidden"), gnu::used]] long HbbpSetAction(long number, int signal,
                                                            const void* action, void* previous,
                                                            size_t set_bytes) {
  if (hbbp::preload::SetRawAction(signal, action, previous, set_bytes)) return 0;
  using Syscall = long(long, int, const void*, void*, size_t);
  if (HbbpNextSyscall == nullptr) HbbpNextSyscall = ::dlsym(RTLD_NEXT, "syscall");
  return reinterpret_cast<Syscall*>(HbbpNextSyscall)(number, signal, action, previous, set_bytes);
}

[[gnu::visibility("hidden"), gnu::used]] long HbbpUnshare(long, int flags) {
  return ::unshare(flags);
}

[[gnu::visibility("hidden"), gnu::used]] long HbbpSetNamespace(long, int fd, int type) {
  return ::setns(fd, type);
}

[[gnu::visibility("hidden"), gnu::used]] void HbbpBeforePrctl(int option, long a, long b) {
  const int saved_errno = errno;
  if (HbbpNextPrctl == nullptr) HbbpNextPrctl = ::dlsym(RTLD_NEXT, "prctl");
  errno = saved_errno;
  HbbpBeforeSyscall(SYS_prctl, option, a, b);
}

[[gnu::visibility("hidden"), gnu::used]] void HbbpBeforePtrace(int request) {
  const int saved_errno = errno;
  if (HbbpNextPtrace == nullptr) HbbpNextPtrace = ::dlsym(RTLD_NEXT, "ptrace");
  errno = saved_errno;
  HbbpBeforeSyscall(SYS_ptrace, request, 0, 0);
}

}  // extern "C"

namespace {

// The worker must not look them up: the program may be in the dynamic linker (libc_threads.h).
__attribute__((constructor(101))) void LookUpAll() {
  if (HbbpNextSyscall == nullptr) HbbpNextSyscall = ::dlsym(RTLD_NEXT, "syscall");
  if (HbbpNextPrctl == nullptr) HbbpNextPrctl = ::dlsym(RTLD_NEXT, "prctl");
}

}  // namespace

// SYS_rt_sigaction is 13, SYS_exit 60, SYS_ptrace 101, SYS_prctl 157, SYS_unshare 272, SYS_setns
// 308, SYS_seccomp 317, PTRACE_TRACEME 0, PR_SET_SECCOMP 22, PR_SET_SYSCALL_USER_DISPATCH 59. Seven
// registers are pushed, so the stack is aligned for the call.
asm(R"(
  .macro HBBP_INTERPOSED before, next
  pushq %rax
  .cfi_adjust_cfa_offset 8
  .irp register, rdi, rsi, rdx, rcx, r8, r9
  pushq %\register
  .cfi_adjust_cfa_offset 8
  .endr
  call \before
  .irp register, r9, r8, rcx, rdx, rsi, rdi
  popq %\register
  .cfi_adjust_cfa_offset -8
  .endr
  popq %rax
  .cfi_adjust_cfa_offset -8
  jmp *\next(%rip)
  .endm

  .text
  .globl syscall
  .type syscall, @function
syscall:
  .cfi_startproc
  cmpq $13, %rdi
  je HbbpSetAction
  cmpq $272, %rdi
  je HbbpUnshare
  cmpq $308, %rdi
  je HbbpSetNamespace
  cmpq $0, HbbpNextSyscall(%rip)
  je 1f
  cmpq $60, %rdi
  je 1f
  cmpq $101, %rdi
  je 1f
  cmpq $157, %rdi
  je 1f
  cmpq $317, %rdi
  je 1f
  jmp *HbbpNextSyscall(%rip)
1:
  HBBP_INTERPOSED HbbpBeforeSyscall, HbbpNextSyscall
  .cfi_endproc
  .size syscall, . - syscall

  .globl prctl
  .type prctl, @function
prctl:
  .cfi_startproc
  cmpq $0, HbbpNextPrctl(%rip)
  je 1f
  cmpl $22, %edi
  je 1f
  cmpl $59, %edi
  je 1f
  jmp *HbbpNextPrctl(%rip)
1:
  HBBP_INTERPOSED HbbpBeforePrctl, HbbpNextPrctl
  .cfi_endproc
  .size prctl, . - prctl

  .globl ptrace
  .type ptrace, @function
ptrace:
  .cfi_startproc
  cmpq $0, HbbpNextPtrace(%rip)
  je 1f
  testl %edi, %edi
  je 1f
  jmp *HbbpNextPtrace(%rip)
1:
  HBBP_INTERPOSED HbbpBeforePtrace, HbbpNextPtrace
  .cfi_endproc
  .size ptrace, . - ptrace
)");
