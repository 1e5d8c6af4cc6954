#include "perf_data/source_window.h"

#include <cstring>

namespace hbbp {

SourceWindow::SourceWindow(ByteSource* source, uint64_t position, uint64_t end)
    : source_(source),
      end_of_source_(end),
      block_bytes_(static_cast<size_t>(std::min<uint64_t>(end - position, kBlockBytes))),
      block_(std::make_unique_for_overwrite<uint8_t[]>(block_bytes_)),
      block_start_(position) {}

void SourceWindow::Fill(size_t size) {
  std::memmove(block_.get(), block_.get() + begin_, end_ - begin_);
  block_start_ += begin_;
  end_ -= begin_;
  begin_ = 0;
  while (end_ < size && status_.ok()) {
    const uint64_t left = end_of_source_ - std::min(end_of_source_, block_start_ + end_);
    const size_t room = static_cast<size_t>(std::min<uint64_t>(left, block_bytes_ - end_));
    if (room == 0) return;
    StatusOr<size_t> got = source_->Read({block_.get() + end_, room});
    if (!got.ok()) {
      status_ = got.status();
      return;
    }
    if (*got == 0) {
      end_of_source_ = block_start_ + end_;
      return;
    }
    end_ += *got;
  }
}

uint64_t SourceWindow::Skip(uint64_t size) {
  uint64_t skipped = 0;
  while (skipped < size) {
    const size_t part =
        Peek(static_cast<size_t>(std::min<uint64_t>(size - skipped, kBlockBytes))).size();
    if (part == 0) break;
    begin_ += part;
    skipped += part;
  }
  return skipped;
}

}  // namespace hbbp
