// Defines the buckets of latencies, which are log-linear, four to each power of two, so that a
// latency is known to a quarter. 0 to 7 cycles have a bucket each, then come [8, 10), [10, 12),
// [12, 14), [14, 16), [16, 20), ... up to the 16 bits of the registers of IBS.
#ifndef HBBP_LIB_PROFILE_IBS_BUCKETS_H_
#define HBBP_LIB_PROFILE_IBS_BUCKETS_H_

#include <bit>
#include <cstdint>

namespace hbbp {

inline constexpr uint32_t kIbsBuckets = 60;

constexpr uint32_t IbsBucketOf(uint16_t cycles) {
  if (cycles < 4) return cycles;
  const auto power = static_cast<uint32_t>(std::bit_width(cycles)) - 1;
  return 4 * (power - 1) + ((uint32_t{cycles} >> (power - 2)) & 3);
}

// Returns the fewest cycles of a bucket; for kIbsBuckets, one more than any.
constexpr uint32_t IbsBucketStart(uint32_t bucket) {
  if (bucket < 4) return bucket;
  return (4 + bucket % 4) << (bucket / 4 - 1);
}

static_assert(IbsBucketOf(UINT16_MAX) == kIbsBuckets - 1);
static_assert(IbsBucketStart(kIbsBuckets) == UINT16_MAX + 1);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_IBS_BUCKETS_H_
