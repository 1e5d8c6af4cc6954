// SourceWindow reads the bytes of a source in order, a block at a time, whatever the size of the
// source.
#ifndef HBBP_LIB_PERF_DATA_SOURCE_WINDOW_H_
#define HBBP_LIB_PERF_DATA_SOURCE_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "base/status.h"
#include "perf_data/byte_source.h"

namespace hbbp {

class SourceWindow {
 public:
  static constexpr size_t kBlockBytes = 256 << 10;

  // `position` is where the source stands; nothing is read from `end` on.
  SourceWindow(ByteSource* source, uint64_t position, uint64_t end);

  uint64_t position() const { return block_start_ + begin_; }

  // Returns the next `size` bytes, or fewer if there are no more. They are valid until the next
  // call.
  // Precondition: size <= kBlockBytes.
  std::span<const uint8_t> Peek(size_t size) {
    if (end_ - begin_ < size) Fill(size);
    return {block_.get() + begin_, std::min(size, end_ - begin_)};
  }

  // Returns how many bytes there were to skip.
  uint64_t Skip(uint64_t size);
  uint64_t SkipRest() { return Skip(std::numeric_limits<uint64_t>::max()); }

  // Says why reading stopped before the end.
  const Status& status() const { return status_; }

 private:
  void Fill(size_t size);

  ByteSource* source_;
  uint64_t end_of_source_;
  size_t block_bytes_;
  std::unique_ptr<uint8_t[]> block_;
  uint64_t block_start_;  // where block_[0] stands in the source
  size_t begin_ = 0;
  size_t end_ = 0;
  Status status_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_SOURCE_WINDOW_H_
