// U64View is an array of 64-bit integers inside a record, of either byte order and any alignment.
#ifndef HBBP_LIB_PERF_U64_VIEW_H_
#define HBBP_LIB_PERF_U64_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "perf/byte_order.h"

namespace hbbp {

class U64View {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = uint64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const uint64_t*;
    using reference = uint64_t;

    Iterator(const U64View* view, size_t index) : view_(view), index_(index) {}
    uint64_t operator*() const { return (*view_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const U64View* view_;
    size_t index_;
  };

  U64View() = default;
  U64View(std::span<const uint8_t> bytes, ByteOrder order) : bytes_(bytes), order_(order) {}

  size_t size() const { return bytes_.size() / 8; }
  bool empty() const { return size() == 0; }
  // Precondition: index < size().
  uint64_t operator[](size_t index) const {
    return LoadNative<uint64_t>(bytes_.data() + 8 * index, order_);
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  std::span<const uint8_t> bytes_;
  ByteOrder order_ = ByteOrder::kNative;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_U64_VIEW_H_
