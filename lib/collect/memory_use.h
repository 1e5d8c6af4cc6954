// Constants for the memory that collecting may take: the sizes that are charged for records, and
// the shares of the limit above which something is done.
#ifndef HBBP_LIB_COLLECT_MEMORY_USE_H_
#define HBBP_LIB_COLLECT_MEMORY_USE_H_

#include <cstdint>

namespace hbbp {

// Approximate sizes of records and nodes of maps without their text.
inline constexpr uint64_t kModuleBytes = 512;
inline constexpr uint64_t kThreadBytes = 256;
inline constexpr uint64_t kIntervalBytes = 128;

// Shares of the limit above which tables are compacted, slices widened and periods lengthened.
// They are below half, because tables grow by doubling.
inline constexpr double kCompactAbove = 0.35;
inline constexpr double kWidenAbove = 0.4;
inline constexpr double kLengthenAbove = 0.5;

// The share of a limit that kept bursts may take is one in this many.
inline constexpr uint64_t kBurstsInMemory = 8;

// Numbers of samples and mappings that were dropped for want of memory.
struct MemoryLosses {
  uint64_t samples = 0;
  uint64_t mappings = 0;  // their samples are unmapped

  uint64_t all() const { return samples + mappings; }
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_MEMORY_USE_H_
