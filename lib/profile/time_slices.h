// Slices of time of equal width, in bounded number and memory: when there are too many, neighbours
// become one and the width doubles.
#ifndef HBBP_LIB_PROFILE_TIME_SLICES_H_
#define HBBP_LIB_PROFILE_TIME_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hbbp {

// Of a count: nobody knows when, or slices are not kept.
inline constexpr uint32_t kNoSlice = UINT32_MAX;

// What ProfileData says of them. Slice i is [i, i + 1) * width_ns after the start of the profile.
struct TimeSlices {
  uint64_t width_ns = 0;  // 0: no slices are kept
  uint32_t count = 0;

  // Of a slice, after the start of the profile; UINT64_MAX where that is later than can be told.
  uint64_t StartOf(uint32_t slice) const {
    uint64_t start_ns;
    return __builtin_mul_overflow(width_ns, uint64_t{slice}, &start_ns) ? UINT64_MAX : start_ns;
  }
  uint64_t EndOf(uint32_t slice) const {
    uint64_t end_ns;
    return __builtin_add_overflow(StartOf(slice), width_ns, &end_ns) ? UINT64_MAX : end_ns;
  }
  bool operator==(const TimeSlices&) const = default;
};

class SliceClock {
 public:
  static constexpr uint32_t kMostSlices = 1024;
  // Of all counts together. Those of a program that takes more without slices may take twice that.
  static constexpr size_t kMostBytes = size_t{256} << 20;

  explicit SliceClock(uint64_t width_ns = 0) : slices_{width_ns, 0} {}

  bool is_on() const { return slices_.width_ns != 0; }
  const TimeSlices& slices() const { return slices_; }

  // The first call tells when the first slice begins.
  void Begin(uint64_t time_ns) {
    if (!has_begun_) begin_ns_ = time_ns;
    has_begun_ = true;
  }

  // Calls on_double() after the slices have become half as many, before it goes on.
  template <typename OnDouble>
  uint32_t SliceAt(uint64_t time_ns, OnDouble&& on_double) {
    if (!is_on() || time_ns == 0) return kNoSlice;
    Begin(time_ns);
    const uint64_t since_ns = time_ns - std::min(begin_ns_, time_ns);
    while (since_ns / slices_.width_ns >= kMostSlices) {
      Double();
      on_double();
    }
    const auto slice = static_cast<uint32_t>(since_ns / slices_.width_ns);
    slices_.count = std::max(slices_.count, slice + 1);
    return slice;
  }

  // The same where counts take too many bytes, if fewer slices can help.
  // `bytes_without_slices()`, which may take its time, is what they would take if there were none.
  template <typename BytesWithoutSlices, typename OnDouble>
  void Bound(size_t bytes, BytesWithoutSlices&& bytes_without_slices, OnDouble&& on_double) {
    if (!is_on() || bytes <= allowed_bytes_ || slices_.count <= 1) return;
    allowed_bytes_ = std::max(kMostBytes, 2 * bytes_without_slices());
    if (bytes <= allowed_bytes_ || slices_.width_ns > UINT64_MAX / 2) return;
    Double();
    on_double();
  }

  // Makes them half as many; false if there are no two.
  template <typename OnDouble>
  bool Widen(OnDouble&& on_double) {
    if (!is_on() || slices_.count <= 1 || slices_.width_ns > UINT64_MAX / 2) return false;
    Double();
    on_double();
    return true;
  }

  // Of SliceAt: times in the same slice.
  uint64_t StartOf(uint32_t slice) const { return SinceBegin(slices_.StartOf(slice)); }
  uint64_t EndOf(uint32_t slice) const { return SinceBegin(slices_.EndOf(slice)); }

 private:
  uint64_t SinceBegin(uint64_t since_ns) const {
    uint64_t time_ns;
    return __builtin_add_overflow(begin_ns_, since_ns, &time_ns) ? UINT64_MAX : time_ns;
  }

  void Double() {
    slices_.width_ns *= 2;
    slices_.count = (slices_.count + 1) / 2;
  }

  TimeSlices slices_;
  bool has_begun_ = false;
  uint64_t begin_ns_ = 0;
  size_t allowed_bytes_ = kMostBytes;
};

// Of what Double did to a count.
inline uint32_t HalfOf(uint32_t slice) { return slice == kNoSlice ? kNoSlice : slice / 2; }

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_TIME_SLICES_H_
