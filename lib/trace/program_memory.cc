#include "trace/program_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "trace/raw_syscall.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kPageBytes = 4096;

// rt_sigprocmask copies the set before it looks at what to do with it.
bool IsReadable(uint64_t address) {
  constexpr long kNoSuchOperation = -1;
  constexpr long kSetBytes = 8;
  if (address < kPageBytes) return false;
  return RawSyscall(SYS_rt_sigprocmask, kNoSuchOperation, static_cast<long>(address & ~7ull), 0,
                    kSetBytes) == -EINVAL;
}

}  // namespace

bool ReadProgramMemory(uint64_t address, void* destination, size_t size) {
  iovec local = {destination, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  const long copied =
      RawSyscall(SYS_process_vm_readv, RawSyscall(SYS_getpid), reinterpret_cast<long>(&local), 1,
                 reinterpret_cast<long>(&remote), 1, 0);
  if (copied >= 0 || copied == -EFAULT) return copied == static_cast<long>(size);
  // A seccomp profile refuses it. What another thread unmaps right now is lost then.
  if (!IsReadable(address) || !IsReadable(address + size - 1)) return false;
  __builtin_memcpy(destination, reinterpret_cast<const void*>(address), size);
  return true;
}

}  // namespace hbbp::trace
