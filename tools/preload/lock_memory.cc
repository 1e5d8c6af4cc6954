// mlockall, for programs that may lock a limited amount only. The kernel compares that with the
// whole address space, most of which may be ours: tables that are reserved and an arena of the
// allocator for the worker. Where the kernel refuses, the program's memory is locked piece by
// piece, so that the program gets the result that it would get without us.
#include "preload/lock_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace hbbp::preload {

bool (*is_own_memory)(uint64_t address) = nullptr;

namespace {

// Reads lines of /proc/self/maps, one after another. Allocates nothing.
class MapsReader {
 public:
  MapsReader() : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (file_ >= 0) ::close(file_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool is_open() const { return file_ >= 0; }

  // Returns nullptr at the end. A long line is cut.
  const char* Next() {
    size_t size = 0;
    for (;;) {
      if (position_ == filled_ && !Fill()) return nullptr;
      const char next = buffer_[position_++];
      if (next == '\n') break;
      if (size < sizeof(line_) - 1) line_[size++] = next;
    }
    line_[size] = '\0';
    return line_;
  }

 private:
  bool Fill() {
    ssize_t size;
    do {
      size = ::read(file_, buffer_, sizeof(buffer_));
    } while (size < 0 && errno == EINTR);
    position_ = 0;
    filled_ = size > 0 ? static_cast<size_t>(size) : 0;
    return filled_ > 0;
  }

  int file_;
  size_t position_ = 0, filled_ = 0;
  char buffer_[4096];
  char line_[512];
};

uint64_t ParseHex(const char** text) {
  uint64_t value = 0;
  for (;; ++*text) {
    const char digit = **text;
    if (digit >= '0' && digit <= '9') {
      value = value * 16 + static_cast<uint64_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = value * 16 + static_cast<uint64_t>(digit - 'a' + 10);
    } else {
      return value;
    }
  }
}

bool IsOfProgram(uint64_t start, const char* rest) {
  if (std::strncmp(rest, " ---", 4) == 0) return false;
  for (const char* own : {"/libhbbp-preload", "anon_inode:[perf_event]", "/memfd:hbbp-stubs",
                          "[vvar", "[vdso]", "[vsyscall]"}) {
    if (std::strstr(rest, own) != nullptr) return false;
  }
  return is_own_memory == nullptr || !is_own_memory(start);
}

bool LockMappingsOfProgram(unsigned flags) {
  MapsReader maps;
  if (!maps.is_open()) return false;
  while (const char* line = maps.Next()) {
    const uint64_t start = ParseHex(&line);
    const uint64_t end = ParseHex(&++line);
    if (!IsOfProgram(start, line)) continue;
    // mlockall ignores failures to bring pages into memory, too.
    const bool is_locked = ::syscall(SYS_mlock2, start, end - start, flags) == 0;
    if (!is_locked && (errno == EAGAIN || errno == EPERM)) return false;
    if (!is_locked && errno == ENOMEM) {
      const bool is_over_limit = ::syscall(SYS_mlock2, start, end - start, MLOCK_ONFAULT) != 0;
      if (is_over_limit) return false;
    }
  }
  return true;
}

int LockInParts(int flags) {
  const unsigned how = (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0;
  if (!LockMappingsOfProgram(how)) {
    ::munlockall();
    errno = ENOMEM;
    return -1;
  }
  if ((flags & MCL_FUTURE) == 0) return 0;
  return static_cast<int>(::syscall(SYS_mlockall, flags & ~MCL_CURRENT));
}

}  // namespace
}  // namespace hbbp::preload

extern "C" HBBP_INTERPOSE int mlockall(int flags) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_mlockall, flags));
  const bool is_too_much = result != 0 && errno == ENOMEM && (flags & MCL_CURRENT) != 0;
  return is_too_much ? hbbp::preload::LockInParts(flags) : result;
}
