#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/unique_fd.h"

namespace hbbp {
namespace {

template <typename Container>
StatusOr<Container> ReadWhole(const std::string& path, uint64_t limit) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  Container content;
  size_t used = 0;
  struct stat status;
  size_t expected = ::fstat(fd.get(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
  content.resize(std::min<uint64_t>(expected, limit) + 4096);
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2);
    ssize_t got = ::read(fd.get(), content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > limit) {
      return MakeStatus(StatusCode::kBadFormat, "%s: larger than %llu bytes", path.c_str(),
                        static_cast<unsigned long long>(limit));
    }
  }
  content.resize(used);
  return content;
}

}  // namespace

StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t limit) {
  return ReadWhole<std::vector<uint8_t>>(path, limit);
}

StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit) {
  return ReadWhole<std::string>(path, limit);
}

Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> bytes) {
  static std::atomic<unsigned> serial{0};
  std::string temporary = path + "." + std::to_string(::getpid()) + "-" +
                          std::to_string(serial.fetch_add(1)) + ".tmp";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoStatus(errno, path + ": cannot create a file beside it");
  size_t written = 0;
  while (written < bytes.size()) {
    ssize_t put = ::write(fd.get(), bytes.data() + written, bytes.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      Status status = ErrnoStatus(errno, path + ": write failed");
      ::unlink(temporary.c_str());
      return status;
    }
    written += static_cast<size_t>(put);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = ErrnoStatus(errno, path + ": cannot put the new file in place");
    ::unlink(temporary.c_str());
    return status;
  }
  return OkStatus();
}

StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return FromFd(fd.get(), path);
}

StatusOr<MappedFile> MappedFile::FromFd(int fd, const std::string& name) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, name);
  if (!S_ISREG(status.st_mode)) {
    return MakeStatus(StatusCode::kBadFormat, "%s: not a regular file", name.c_str());
  }
  if (status.st_size == 0) return MappedFile(nullptr, 0);
  size_t size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, name + ": mmap");
  return MappedFile(static_cast<const uint8_t*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
}

}  // namespace hbbp
