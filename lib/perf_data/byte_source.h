// A ByteSource is where the bytes of a recording come from: a file, a pipe, memory.
#ifndef HBBP_LIB_PERF_DATA_BYTE_SOURCE_H_
#define HBBP_LIB_PERF_DATA_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads the next bytes, at least one, and returns their number, which is 0 at the end.
  virtual StatusOr<size_t> Read(std::span<uint8_t> into) = 0;
  // Returns nothing if the source can only be read from its beginning to its end.
  virtual std::optional<uint64_t> size() const = 0;
  // Precondition: it has a size.
  virtual Status Seek(uint64_t offset) = 0;
};

// FileSource reads a file, a pipe or a terminal.
class FileSource : public ByteSource {
 public:
  static StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);
  // `name` is for messages.
  FileSource(UniqueFd fd, std::string name);

  StatusOr<size_t> Read(std::span<uint8_t> into) override;
  std::optional<uint64_t> size() const override { return size_; }
  Status Seek(uint64_t offset) override;

 private:
  UniqueFd fd_;
  std::string name_;
  std::optional<uint64_t> size_;
};

// MemorySource reads bytes that the caller keeps.
class MemorySource : public ByteSource {
 public:
  enum class Kind { kFile, kPipe };
  explicit MemorySource(std::span<const uint8_t> bytes, Kind kind = Kind::kFile)
      : bytes_(bytes), kind_(kind) {}

  StatusOr<size_t> Read(std::span<uint8_t> into) override;
  std::optional<uint64_t> size() const override;
  Status Seek(uint64_t offset) override;

 private:
  std::span<const uint8_t> bytes_;
  Kind kind_;
  size_t position_ = 0;
};

// Returns the next bytes, up to `size`, and has `source` read them again.
StatusOr<std::vector<uint8_t>> PeekBytes(size_t size, std::unique_ptr<ByteSource>* source);

// Copies `beginning` and what `source` still has to a temporary file without a name.
StatusOr<std::unique_ptr<ByteSource>> SpoolToFile(std::span<const uint8_t> beginning,
                                                  ByteSource* source);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_BYTE_SOURCE_H_
