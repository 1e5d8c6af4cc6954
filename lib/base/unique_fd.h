// UniqueFd: owns a file descriptor.
#ifndef HBBP_LIB_BASE_UNIQUE_FD_H_
#define HBBP_LIB_BASE_UNIQUE_FD_H_

#include <unistd.h>

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

 private:
  int fd_ = -1;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_UNIQUE_FD_H_
