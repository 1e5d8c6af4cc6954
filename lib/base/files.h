// Whole files: read them, replace them atomically, map them.
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

// Reads to end of file, whatever size the file claims to have (files of /proc claim 0).
// kBadFormat if there is more than `limit`.
StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t limit = 1ull << 32);
StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit = 1ull << 32);

// A regular file of this user or of root, for reading: what others write into /tmp is not to be
// believed. kPermission if it is not one.
StatusOr<UniqueFd> OpenOwnFile(const std::string& path);
StatusOr<std::string> ReadOwnTextFile(const std::string& path, uint64_t limit = 1ull << 32);

// The rule of the kernel's fs.protected_symlinks and protected_fifos: kPermission if `path` is a
// link or a pipe of another user in a directory like /tmp, where it may lead to files of this user.
Status CheckNotPlanted(const std::string& path);

// Replaces `path` by rename from a temporary file beside it, so that a reader sees the old
// content or the new one, never a part. No fsync: a power loss may lose both. What is no regular
// file (/dev/stdout, a pipe) is written to instead, and a symbolic link is followed, unless
// CheckNotPlanted refuses it. The umask takes its share of `mode`.
Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> bytes,
                           mode_t mode = 0666);

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
