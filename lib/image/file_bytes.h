// FileBytes gives the bytes of a file at stable addresses, and reads them on demand.
//
// A mapping of the file would be simpler, but a read beyond the end of a file that was truncated
// after it was mapped raises SIGBUS, and a replaced file changes under the reader. FileBytes
// reserves memory for the whole file (which costs address space only) and fills it in chunks by
// pread.
#ifndef HBBP_LIB_IMAGE_FILE_BYTES_H_
#define HBBP_LIB_IMAGE_FILE_BYTES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

// This class is not thread-safe, because Span reads lazily.
class FileBytes {
 public:
  // Returns kBadFormat if `fd` is not a regular file, and kNoMemory if there is not enough address
  // space.
  static StatusOr<std::unique_ptr<FileBytes>> FromFd(UniqueFd fd, const std::string& name);
  // Reads by a descriptor that others use too, so that one is enough for all of them.
  static StatusOr<std::unique_ptr<FileBytes>> FromSharedFd(std::shared_ptr<const UniqueFd> fd,
                                                           const std::string& name);
  // Opens a file that stays open as long as a profile. Its descriptor is moved out of the program's
  // way (UniqueFd::MoveUp); where no number is free for that, the file is read completely and
  // closed.
  static StatusOr<std::unique_ptr<FileBytes>> FromFdToKeep(UniqueFd fd, const std::string& name);
  static std::unique_ptr<FileBytes> FromMemory(std::vector<uint8_t> memory);
  ~FileBytes();

  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // Returns the size when the file was opened, or less once a read has found an earlier end.
  uint64_t size() const { return size_; }
  // Returns -1 if this is memory.
  int fd() const { return fd_ == nullptr ? -1 : fd_->get(); }
  // Returns everything if this is memory, otherwise nothing.
  std::span<const uint8_t> memory() const { return memory_; }

  // Returns `size` bytes from `offset` on, or fewer where the file ends or cannot be read. They are
  // valid for the life of this object.
  std::span<const uint8_t> Span(FileOffset offset, uint64_t size) const;

 private:
  FileBytes() = default;
  void Fill(uint64_t chunk) const;

  std::shared_ptr<const UniqueFd> fd_;  // null if this is memory
  std::vector<uint8_t> memory_;
  uint8_t* data_ = nullptr;
  uint64_t reserved_ = 0;
  mutable uint64_t size_ = 0;
  mutable std::vector<bool> filled_;  // by chunk
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_FILE_BYTES_H_
