#include "image/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/linux_constants.h"
#include "base/unique_fd.h"

namespace hbbp {
namespace {

constexpr size_t kPagesPerCall = 64;

// The kernel promises partial transfers between elements, not inside one, so each element is one
// page.
ssize_t ReadPages(pid_t pid, RuntimeAddress address, std::span<uint8_t> buffer) {
  std::array<iovec, kPagesPerCall> remote;
  size_t pages = 0;
  size_t wanted = 0;
  while (wanted < buffer.size() && pages < remote.size()) {
    uint64_t at = address.value + wanted;
    size_t size = std::min<size_t>(kPageBytes - at % kPageBytes, buffer.size() - wanted);
    remote[pages++] = {reinterpret_cast<void*>(at), size};
    wanted += size;
  }
  iovec local = {buffer.data(), wanted};
  return ::process_vm_readv(pid, &local, 1, remote.data(), pages, 0);
}

// Is used where seccomp filters forbid process_vm_readv (older container runtimes).
ssize_t ReadMemFile(pid_t pid, RuntimeAddress address, std::span<uint8_t> buffer) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/mem", static_cast<int>(pid));
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return -1;
  return ::pread(fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(address.value));
}

}  // namespace

size_t ReadProcessMemory(pid_t pid, RuntimeAddress address, std::span<uint8_t> buffer) {
  // The process ID would be that of the main thread, which has no memory after it ended by
  // pthread_exit.
  if (pid == 0) pid = ::gettid();
  if (buffer.size() > ~address.value) buffer = buffer.first(~address.value);
  size_t copied = 0;
  while (copied < buffer.size()) {
    ssize_t got = ReadPages(pid, address + copied, buffer.subspan(copied));
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
      got = ReadMemFile(pid, address + copied, buffer.subspan(copied));
    }
    if (got <= 0) break;
    copied += static_cast<size_t>(got);
  }
  return copied;
}

}  // namespace hbbp
