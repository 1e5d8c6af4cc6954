#include "image/file_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hbbp {
namespace {

constexpr uint64_t kChunkSize = 64 * 1024;
// Larger files keep the descriptor that they have.
constexpr uint64_t kMaxReadAtOnce = 64 << 20;

}  // namespace

StatusOr<std::unique_ptr<FileBytes>> FileBytes::FromFd(UniqueFd fd, const std::string& name) {
  return FromSharedFd(std::make_shared<const UniqueFd>(std::move(fd)), name);
}

StatusOr<std::unique_ptr<FileBytes>> FileBytes::FromSharedFd(std::shared_ptr<const UniqueFd> fd,
                                                             const std::string& name) {
  struct stat status;
  if (::fstat(fd->get(), &status) != 0) return ErrnoStatus(errno, name);
  if (!S_ISREG(status.st_mode)) {
    return MakeStatus(StatusCode::kBadFormat, "%s: not a regular file", name.c_str());
  }
  std::unique_ptr<FileBytes> bytes(new FileBytes);
  bytes->fd_ = std::move(fd);
  bytes->size_ = static_cast<uint64_t>(status.st_size);
  if (bytes->size_ == 0) return bytes;
  void* data = ::mmap(nullptr, bytes->size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, name + ": cannot reserve memory");
  bytes->data_ = static_cast<uint8_t*>(data);
  bytes->reserved_ = bytes->size_;
  bytes->filled_.resize((bytes->size_ + kChunkSize - 1) / kChunkSize);
  return bytes;
}

StatusOr<std::unique_ptr<FileBytes>> FileBytes::FromFdToKeep(UniqueFd fd, const std::string& name) {
  const bool is_out_of_the_way = fd.MoveUp();
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FromFd(std::move(fd), name));
  if (is_out_of_the_way || bytes->size() > kMaxReadAtOnce) return bytes;
  const std::span<const uint8_t> all = bytes->Span({0}, bytes->size());
  return FromMemory({all.begin(), all.end()});
}

std::unique_ptr<FileBytes> FileBytes::FromMemory(std::vector<uint8_t> memory) {
  std::unique_ptr<FileBytes> bytes(new FileBytes);
  bytes->memory_ = std::move(memory);
  bytes->data_ = bytes->memory_.data();
  bytes->size_ = bytes->memory_.size();
  return bytes;
}

FileBytes::~FileBytes() {
  if (reserved_ != 0) ::munmap(data_, reserved_);
}

std::span<const uint8_t> FileBytes::Span(FileOffset offset, uint64_t size) const {
  if (offset.value >= size_ || size == 0) return {};
  size = std::min(size, size_ - offset.value);
  if (reserved_ != 0) {
    uint64_t last = (offset.value + size - 1) / kChunkSize;
    for (uint64_t chunk = offset.value / kChunkSize; chunk <= last; ++chunk) {
      if (!filled_[chunk]) Fill(chunk);
    }
    if (offset.value >= size_) return {};
    size = std::min(size, size_ - offset.value);
  }
  return {data_ + offset.value, static_cast<size_t>(size)};
}

void FileBytes::Fill(uint64_t chunk) const {
  uint64_t at = chunk * kChunkSize;
  uint64_t end = std::min(at + kChunkSize, reserved_);
  while (at < end) {
    ssize_t got = ::pread(fd_->get(), data_ + at, end - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      size_ = std::min(size_, at);
      break;
    }
    at += static_cast<uint64_t>(got);
  }
  filled_[chunk] = true;
}

}  // namespace hbbp
