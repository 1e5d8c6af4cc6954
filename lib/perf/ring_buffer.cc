#include "perf/ring_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hbbp {

StatusOr<RingBuffer> RingBuffer::Map(int fd, size_t data_bytes) {
  const size_t page_size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t pages = std::bit_ceil(std::max<size_t>(1, (data_bytes + page_size - 1) / page_size));
  for (;; pages /= 2) {
    void* memory =
        ::mmap(nullptr, (pages + 1) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      return RingBuffer(static_cast<perf_event_mmap_page*>(memory), pages * page_size);
    }
    bool short_of_memory = errno == EPERM || errno == ENOMEM || errno == EAGAIN;
    if (!short_of_memory || pages == 1) break;
  }
  if (errno == EPERM) {
    return MakeStatus(StatusCode::kBusy,
                      "mmap of a perf ring buffer: EPERM; locked memory is used up: raise "
                      "kernel.perf_event_mlock_kb or ulimit -l");
  }
  return ErrnoStatus(errno, "mmap of a perf ring buffer");
}

RingBuffer::RingBuffer(RingBuffer&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)),
      data_bytes_(other.data_bytes_),
      wrapped_(std::move(other.wrapped_)) {}

RingBuffer& RingBuffer::operator=(RingBuffer&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(data_bytes_, other.data_bytes_);
  std::swap(wrapped_, other.wrapped_);
  return *this;
}

RingBuffer::~RingBuffer() {
  if (page_ == nullptr) return;
  ::munmap(page_, data_bytes_ + static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
}

std::span<const uint8_t> RingBuffer::RecordAt(uint64_t position, uint64_t available) {
  // Records are multiples of 8 bytes, so a header never wraps.
  const uint8_t* data = reinterpret_cast<const uint8_t*>(page_) + page_->data_offset;
  const size_t offset = position & (data_bytes_ - 1);
  perf_event_header header;
  std::memcpy(&header, data + offset, sizeof(header));
  if (header.size < sizeof(header) || header.size > available) return {};
  if (offset + header.size <= data_bytes_) return {data + offset, header.size};
  const size_t first = data_bytes_ - offset;
  wrapped_.resize(header.size);
  std::memcpy(wrapped_.data(), data + offset, first);
  std::memcpy(wrapped_.data() + first, data, header.size - first);
  return wrapped_;
}

}  // namespace hbbp
