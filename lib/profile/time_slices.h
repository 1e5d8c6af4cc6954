// Divides time into slices of equal width, in bounded number and memory: when there are too many,
// neighbours are merged and the width doubles.
#ifndef HBBP_LIB_PROFILE_TIME_SLICES_H_
#define HBBP_LIB_PROFILE_TIME_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hbbp {

// The slice of a count is this if its time is unknown, or slices are not kept.
inline constexpr uint32_t kNoSlice = UINT32_MAX;

// The slices of a ProfileData. Slice i is [i, i + 1) * width_ns after the start of the profile.
struct TimeSlices {
  uint64_t width_ns = 0;  // 0: no slices are kept
  uint32_t count = 0;

  // Both return times after the start of the profile, and UINT64_MAX if that would overflow.
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
  static constexpr uint32_t kMaxSlices = 1024;
  // Bounds the bytes of all counts together. A program whose counts take more without slices may
  // use twice that.
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  explicit SliceClock(uint64_t width_ns = 0) : slices_{width_ns, 0} {}

  bool is_on() const { return slices_.width_ns != 0; }
  const TimeSlices& slices() const { return slices_; }

  // The first call sets the start of the first slice.
  void Begin(uint64_t time_ns) {
    if (!has_begun_) begin_ns_ = time_ns;
    has_begun_ = true;
  }

  // Calls on_double() each time after the number of slices was halved, before it continues.
  template <typename OnDouble>
  uint32_t SliceAt(uint64_t time_ns, OnDouble&& on_double) {
    if (!is_on() || time_ns == 0) return kNoSlice;
    Begin(time_ns);
    const uint64_t since_ns = time_ns - std::min(begin_ns_, time_ns);
    while (since_ns / slices_.width_ns >= kMaxSlices) {
      Double();
      on_double();
    }
    const auto slice = static_cast<uint32_t>(since_ns / slices_.width_ns);
    slices_.count = std::max(slices_.count, slice + 1);
    return slice;
  }

  // Halves the number of slices if counts take too many bytes and fewer slices can help.
  // `bytes_without_slices()`, which may be slow, returns what they would take without slices.
  template <typename BytesWithoutSlices, typename OnDouble>
  void Bound(size_t bytes, BytesWithoutSlices&& bytes_without_slices, OnDouble&& on_double) {
    if (!is_on() || bytes <= allowed_bytes_ || slices_.count <= 1) return;
    allowed_bytes_ = std::max(kMaxBytes, 2 * bytes_without_slices());
    if (bytes <= allowed_bytes_ || slices_.width_ns > UINT64_MAX / 2) return;
    Double();
    on_double();
  }

  // Halves the number of slices. Returns false if there are fewer than two.
  template <typename OnDouble>
  bool Widen(OnDouble&& on_double) {
    if (!is_on() || slices_.count <= 1 || slices_.width_ns > UINT64_MAX / 2) return false;
    Double();
    on_double();
    return true;
  }

  // Both return times of the clock that SliceAt takes.
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
  size_t allowed_bytes_ = kMaxBytes;
};

// Returns the slice of a count after Double.
inline uint32_t CoarserSlice(uint32_t slice) { return slice == kNoSlice ? kNoSlice : slice / 2; }

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_TIME_SLICES_H_
