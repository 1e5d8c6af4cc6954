// Reads, atomically replaces and maps whole files.
#ifndef HBBP_LIB_BASE_FILES_H_
#define HBBP_LIB_BASE_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

// Read to the end of the file, whatever size the file claims to have (files of /proc claim 0).
// A file of more than `limit` bytes is kBadFormat.
StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t limit = 1ull << 32);
StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit = 1ull << 32);

// Returns the path from the root, which leads to the file from any directory.
std::string AbsolutePath(const std::string& path);

// Opens a regular file for reading; devices and FIFOs may do something when they are opened, and
// are not. Returns an invalid descriptor if there is none.
UniqueFd OpenRegularFile(const std::string& path);

// Opens a regular file of this user or of root for reading; any other file, such as one that
// another user wrote to /tmp, is kPermission.
StatusOr<UniqueFd> OpenOwnFile(const std::string& path);
StatusOr<std::string> ReadOwnTextFile(const std::string& path, uint64_t limit = 1ull << 32);

// Applies the rule of the kernel's fs.protected_symlinks and protected_fifos: `path` is kPermission
// if it is a link or a pipe of another user in a directory like /tmp, where it may lead to files of
// this user.
Status CheckNotPlanted(const std::string& path);

// Replaces `path` by rename from a temporary file next to it, so that a reader sees the old content
// or the new one, never a part. It does not fsync: a power loss may lose both. A path that is not a
// regular file (/dev/stdout, a pipe) is written to instead, and a symbolic link is followed, unless
// CheckNotPlanted refuses it. The umask applies to `mode`.
Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> bytes,
                           mode_t mode = 0666);
// Does the same for a file that is replaced or removed soon: it is exchanged with the old one.
// Where a file is replaced by rename, ext4 writes it to the disk, and removing it takes
// milliseconds then.
Status WriteBriefFile(const std::string& path, std::span<const uint8_t> bytes, mode_t mode);

// A file mapped read-only.
class MappedFile {
 public:
  static StatusOr<MappedFile> Open(const std::string& path);
  // Maps the open file `fd`, which the caller keeps; `name` is for messages.
  static StatusOr<MappedFile> FromFd(int fd, const std::string& name);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_FILES_H_
