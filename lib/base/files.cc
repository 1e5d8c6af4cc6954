// ReadWhole reads files of any kind, of which some do not say their size. WriteFile writes to a
// temporary file next to the path, which is then put in its place: by rename, or by an exchange for
// files that do not stay. MappedFile maps files for reading.
#include "base/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace hbbp {
namespace {

StatusOr<std::vector<uint8_t>> ReadWhole(const UniqueFd& fd, const std::string& path,
                                         uint64_t limit) {
  std::vector<uint8_t> content;
  size_t used = 0;
  struct stat status;
  const size_t expected = ::fstat(fd.get(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
  // One more byte lets the last read find the end of the file.
  content.resize(expected == 0 ? 4096 : std::min<uint64_t>(expected, limit) + 1);
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
  // The caller may keep the content, and files of /proc do not report their size.
  if (content.capacity() - used > used / 8) content.shrink_to_fit();
  return content;
}

StatusOr<std::vector<uint8_t>> ReadWhole(const std::string& path, uint64_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return ReadWhole(fd, path, limit);
}

StatusOr<std::string> TextOf(const StatusOr<std::vector<uint8_t>>& content) {
  HBBP_RETURN_IF_ERROR(content.status());
  return std::string(reinterpret_cast<const char*>(content->data()), content->size());
}

// Writing to the resolved path keeps a symbolic link a link.
std::string ResolveLinks(const std::string& path) {
  char real[PATH_MAX];
  return ::realpath(path.c_str(), real) == nullptr ? path : real;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status WriteAll(int fd, const std::string& path, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, path + ": write failed");
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return OkStatus();
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  char directory[PATH_MAX];
  if (::getcwd(directory, sizeof(directory)) == nullptr) return path;
  const std::string below = path.starts_with("./") ? path.substr(2) : path;
  return std::string(directory) + "/" + below;
}

StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t limit) {
  return ReadWhole(path, limit);
}

StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit) {
  return TextOf(ReadWhole(path, limit));
}

UniqueFd OpenRegularFile(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return UniqueFd();
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

StatusOr<UniqueFd> OpenOwnFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return MakeStatus(StatusCode::kPermission, "%s: not a file", path.c_str());
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return MakeStatus(StatusCode::kPermission,
                      "%s: a file of user %u, neither of this user nor of root: not believed",
                      path.c_str(), status.st_uid);
  }
  return fd;
}

StatusOr<std::string> ReadOwnTextFile(const std::string& path, uint64_t limit) {
  HBBP_ASSIGN_OR_RETURN(const UniqueFd fd, OpenOwnFile(path));
  return TextOf(ReadWhole(fd, path, limit));
}

Status CheckNotPlanted(const std::string& path) {
  struct stat found, directory;
  if (::lstat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode) ||
      found.st_uid == ::geteuid() || ::stat(DirectoryOf(path).c_str(), &directory) != 0 ||
      found.st_uid == directory.st_uid || (directory.st_mode & S_ISVTX) == 0 ||
      (directory.st_mode & S_IWOTH) == 0) {
    return OkStatus();
  }
  return MakeStatus(
      StatusCode::kPermission,
      "%s: a link or a pipe of user %u in a directory that everybody may write to: not written "
      "through; remove it, or name another file",
      path.c_str(), found.st_uid);
}

namespace {

// Returns false if there is no file to exchange it with, or the file system cannot do that.
bool Exchange(const std::string& temporary, const std::string& path) {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE, since Linux 3.15
  const char* const from = temporary.c_str();
  struct stat old;
  if (::lstat(path.c_str(), &old) != 0 || !S_ISREG(old.st_mode) ||
      ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, path.c_str(), kExchange) != 0) {
    return false;
  }
  (void)::unlink(from);
  return true;
}

Status WriteFile(const std::string& path, std::span<const uint8_t> bytes, mode_t mode,
                 bool exchanges) {
  HBBP_RETURN_IF_ERROR(CheckNotPlanted(path));
  struct stat link, old;
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if (::stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
    UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!device.valid()) return ErrnoStatus(errno, path);
    return WriteAll(device.get(), path, bytes);
  }
  static std::atomic<unsigned> serial{0};
  // A path that becomes a link after the lstat is replaced and not followed.
  const std::string target = is_link ? ResolveLinks(path) : path;
  const std::string temporary = target + "." + std::to_string(::getpid()) + "-" +
                                std::to_string(serial.fetch_add(1)) + ".tmp";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoStatus(errno, path + ": cannot create a file next to it");
  Status status = WriteAll(fd.get(), path, bytes);
  if (status.ok() && exchanges && Exchange(temporary, target)) return status;
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = ErrnoStatus(errno, path + ": cannot put the new file in place");
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> bytes, mode_t mode) {
  return WriteFile(path, bytes, mode, /*exchanges=*/false);
}

Status WriteBriefFile(const std::string& path, std::span<const uint8_t> bytes, mode_t mode) {
  return WriteFile(path, bytes, mode, /*exchanges=*/true);
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
