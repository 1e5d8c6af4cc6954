#include "trace/program_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/linux_constants.h"
#include "base/raw_syscall.h"
#include "trace/interpreter/guarded_memory.h"

namespace hbbp::trace {
namespace {

bool MayBeRead(uint64_t address) { return address >= kPageBytes && IsReadable(address); }

}  // namespace

bool ReadProgramMemory(uint64_t address, void* destination, size_t size) {
  const uint64_t last = address + size - 1;
  const bool is_one_page = address / kPageBytes == last / kPageBytes;
  // The copy would wait for a missing page of userfaultfd.
  if (IsMissing(address) || (!is_one_page && IsMissing(last))) return false;
  iovec local = {destination, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  const long copied =
      RawSyscall(SYS_process_vm_readv, RawSyscall(SYS_getpid), reinterpret_cast<long>(&local), 1,
                 reinterpret_cast<long>(&remote), 1, 0);
  if (copied >= 0 || copied == -EFAULT) return copied == static_cast<long>(size);
  // A seccomp profile refuses the system call. The copy then faults if another thread unmaps the
  // page right now.
  if (!MayBeRead(address) || !MayBeRead(address + size - 1)) return false;
  __builtin_memcpy(destination, reinterpret_cast<const void*>(address), size);
  return true;
}

}  // namespace hbbp::trace
