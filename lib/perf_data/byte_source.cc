#include "perf_data/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace hbbp {
namespace {

Status WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, "temporary file for a recording");
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return OkStatus();
}

// Reads bytes that were taken from a pipe, and then the rest of it.
class PeekedSource : public ByteSource {
 public:
  PeekedSource(std::vector<uint8_t> beginning, std::unique_ptr<ByteSource> rest)
      : beginning_(std::move(beginning)), rest_(std::move(rest)) {}

  StatusOr<size_t> Read(std::span<uint8_t> into) override {
    const size_t size = std::min(into.size(), beginning_.size() - position_);
    if (size == 0) return rest_->Read(into);
    std::copy_n(beginning_.begin() + static_cast<std::ptrdiff_t>(position_), size, into.begin());
    position_ += size;
    return size;
  }
  std::optional<uint64_t> size() const override { return std::nullopt; }
  Status Seek(uint64_t offset) override { return rest_->Seek(offset); }

 private:
  const std::vector<uint8_t> beginning_;
  const std::unique_ptr<ByteSource> rest_;
  size_t position_ = 0;
};

}  // namespace

StatusOr<std::vector<uint8_t>> PeekBytes(size_t size, std::unique_ptr<ByteSource>* source) {
  std::vector<uint8_t> bytes(size);
  size_t used = 0;
  while (used < size) {
    HBBP_ASSIGN_OR_RETURN(const size_t got, (*source)->Read(std::span(bytes).subspan(used)));
    if (got == 0) break;
    used += got;
  }
  bytes.resize(used);
  if ((*source)->size().has_value()) {
    HBBP_RETURN_IF_ERROR((*source)->Seek(0));
  } else {
    *source = std::make_unique<PeekedSource>(bytes, std::move(*source));
  }
  return bytes;
}

StatusOr<std::unique_ptr<ByteSource>> FileSource::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat status;
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    struct stat header;
    if (::stat((path + "/data").c_str(), &header) == 0) {
      return MakeStatus(
          StatusCode::kUnsupported,
          "%s: a directory, as perf record --threads writes it; record without --threads",
          path.c_str());
    }
    return MakeStatus(StatusCode::kBadFormat, "%s: a directory and not a recording; name the file",
                      path.c_str());
  }
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(std::move(fd), path));
}

FileSource::FileSource(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {
  struct stat status;
  if (::fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
  }
}

StatusOr<size_t> FileSource::Read(std::span<uint8_t> into) {
  for (;;) {
    const ssize_t got = ::read(fd_.get(), into.data(), into.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return ErrnoStatus(errno, name_);
  }
}

Status FileSource::Seek(uint64_t offset) {
  if (::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_SET) < 0)
    return ErrnoStatus(errno, name_);
  return OkStatus();
}

StatusOr<size_t> MemorySource::Read(std::span<uint8_t> into) {
  const size_t size = std::min(into.size(), bytes_.size() - position_);
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), size, into.begin());
  position_ += size;
  return size;
}

std::optional<uint64_t> MemorySource::size() const {
  if (kind_ == Kind::kPipe) return std::nullopt;
  return bytes_.size();
}

Status MemorySource::Seek(uint64_t offset) {
  position_ = std::min<uint64_t>(offset, bytes_.size());
  return OkStatus();
}

StatusOr<std::unique_ptr<ByteSource>> SpoolToFile(std::span<const uint8_t> beginning,
                                                  ByteSource* source) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, "temporary file for a recording");
  UniqueFd fd(::fcntl(::fileno(file.get()), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "temporary file for a recording");
  HBBP_RETURN_IF_ERROR(WriteAll(fd.get(), beginning));
  std::vector<uint8_t> block(1 << 20);
  for (;;) {
    HBBP_ASSIGN_OR_RETURN(const size_t got, source->Read(block));
    if (got == 0) break;
    HBBP_RETURN_IF_ERROR(WriteAll(fd.get(), {block.data(), got}));
  }
  auto spooled = std::make_unique<FileSource>(std::move(fd), "temporary file for a recording");
  HBBP_RETURN_IF_ERROR(spooled->Seek(0));
  return std::unique_ptr<ByteSource>(std::move(spooled));
}

}  // namespace hbbp
