// Bitmap holds a fixed number of bits and searches fast for the nearest set one.
#ifndef HBBP_LIB_BLOCKS_BITMAP_H_
#define HBBP_LIB_BLOCKS_BITMAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hbbp {

class Bitmap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  Bitmap() = default;
  explicit Bitmap(uint32_t size) : size_(size), words_((size + 63ull) / 64) {}

  uint32_t size() const { return size_; }

  // Positions beyond the end are never set.
  bool Test(uint64_t position) const {
    return position < size_ && (words_[position / 64] >> (position % 64) & 1) != 0;
  }
  void Set(uint64_t position) {
    if (position < size_) words_[position / 64] |= uint64_t{1} << (position % 64);
  }
  void And(const Bitmap& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }

  // Return the nearest set position, which may be `position` itself, or kNone.
  uint32_t FindAtOrBefore(uint32_t position) const {
    if (size_ == 0) return kNone;
    if (position >= size_) position = size_ - 1;
    size_t i = position / 64;
    uint64_t word = words_[i] & (~uint64_t{0} >> (63 - position % 64));
    while (word == 0) {
      if (i == 0) return kNone;
      word = words_[--i];
    }
    return static_cast<uint32_t>(i * 64 + 63 - static_cast<size_t>(std::countl_zero(word)));
  }
  uint32_t FindAtOrAfter(uint32_t position) const {
    if (position >= size_) return kNone;
    size_t i = position / 64;
    uint64_t word = words_[i] & (~uint64_t{0} << (position % 64));
    while (word == 0) {
      if (++i == words_.size()) return kNone;
      word = words_[i];
    }
    return static_cast<uint32_t>(i * 64 + static_cast<size_t>(std::countr_zero(word)));
  }

  // Counts the bits that are set in [first, last).
  uint32_t Count(uint32_t first, uint32_t last) const {
    if (last > size_) last = size_;
    if (first >= last) return 0;
    const size_t first_word = first / 64;
    const size_t last_word = (last - 1) / 64;
    const uint64_t head = ~uint64_t{0} << (first % 64);
    const uint64_t tail = ~uint64_t{0} >> (63 - (last - 1) % 64);
    if (first_word == last_word) return Ones(words_[first_word] & head & tail);
    uint32_t count = Ones(words_[first_word] & head) + Ones(words_[last_word] & tail);
    for (size_t i = first_word + 1; i < last_word; ++i) count += Ones(words_[i]);
    return count;
  }

 private:
  static uint32_t Ones(uint64_t word) { return static_cast<uint32_t>(std::popcount(word)); }

  uint32_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_BITMAP_H_
