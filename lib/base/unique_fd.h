// UniqueFd owns a file descriptor.
#ifndef HBBP_LIB_BASE_UNIQUE_FD_H_
#define HBBP_LIB_BASE_UNIQUE_FD_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hbbp {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  // Moves a descriptor that stays open in a program that does not know of it to a number above
  // those that programs choose themselves (a shell's `exec 5>log`) or assume to be free (after
  // close(0)). Returns false, and keeps the number, if none is free; the lowest numbers never are,
  // so that a program that may open but few files, and the writing of a profile, find some free.
  // Preserves errno.
  bool MoveUp() {
    constexpr rlim_t kMinFirstNumber = 8;
    constexpr rlim_t kMaxFirstNumber = 1000;
    rlimit limit;
    if (fd_ < 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    const auto min_number =
        static_cast<int>(std::clamp(limit.rlim_cur / 2, kMinFirstNumber, kMaxFirstNumber));
    if (fd_ >= min_number) return true;
    const int saved_errno = errno;
    UniqueFd moved(::fcntl(fd_, F_DUPFD_CLOEXEC, min_number));
    errno = saved_errno;
    if (!moved.valid()) return false;
    *this = std::move(moved);
    return true;
  }

 private:
  int fd_ = -1;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_UNIQUE_FD_H_
