// RawSyscall makes system calls without libc: it does not touch errno, is not a cancellation point
// and cannot be interposed.
//
// Contract: async-signal-safe, from any thread.
#ifndef HBBP_LIB_BASE_RAW_SYSCALL_H_
#define HBBP_LIB_BASE_RAW_SYSCALL_H_

#include <type_traits>

namespace hbbp::trace {

template <typename T>
long SyscallArgument(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else {
    return static_cast<long>(value);
  }
}

// Returns what the kernel returns: -errno if the call failed.
template <typename A = long, typename B = long, typename C = long, typename D = long,
          typename E = long, typename F = long>
long RawSyscall(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) {
  register long r10 asm("r10") = SyscallArgument(d);
  register long r8 asm("r8") = SyscallArgument(e);
  register long r9 asm("r9") = SyscallArgument(f);
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(SyscallArgument(a)), "S"(SyscallArgument(b)),
                 "d"(SyscallArgument(c)), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_BASE_RAW_SYSCALL_H_
