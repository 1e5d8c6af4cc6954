// Slices of time of equal width, in bounded number: when there are too many, neighbours become one
// and the width doubles.
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

  bool operator==(const TimeSlices&) const = default;
};

class SliceClock {
 public:
  static constexpr uint32_t kMostSlices = 1024;
  static constexpr uint64_t kWidestNs = uint64_t{1} << 54;
  // Of all counts with slices together; some hundred megabytes.
  static constexpr size_t kMostCounts = size_t{1} << 20;

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

  // The same where there are too many counts, if fewer slices can help.
  template <typename OnDouble>
  void Bound(size_t counts, OnDouble&& on_double) {
    if (!is_on() || counts <= kMostCounts || slices_.count <= 1) return;
    Double();
    on_double();
  }

  // Of SliceAt: times in the same slice.
  uint64_t StartOf(uint32_t slice) const { return begin_ns_ + slice * slices_.width_ns; }
  uint64_t EndOf(uint32_t slice) const { return StartOf(slice) + slices_.width_ns; }

 private:
  void Double() {
    slices_.width_ns *= 2;
    slices_.count = (slices_.count + 1) / 2;
  }

  TimeSlices slices_;
  bool has_begun_ = false;
  uint64_t begin_ns_ = 0;
};

// Of what Double did to a count.
inline uint32_t HalfOf(uint32_t slice) { return slice == kNoSlice ? kNoSlice : slice / 2; }

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_TIME_SLICES_H_
