// Defines what the perf ABI has and the <linux/perf_event.h> of older systems lacks.
#ifndef HBBP_LIB_PERF_PERF_ABI_H_
#define HBBP_LIB_PERF_PERF_ABI_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>

namespace hbbp {

inline constexpr uint64_t kSampleBranchCounters = 1u << 19;  // of branch_sample_type; Linux 6.8

// The perf command writes records of these types into its files, next to those of the kernel.
enum PerfUserRecord : uint32_t {
  kPerfHeaderAttr = 64,
  kPerfHeaderEventType = 65,
  kPerfHeaderTracingData = 66,
  kPerfHeaderBuildId = 67,
  kPerfFinishedRound = 68,
  kPerfAuxtrace = 71,
  kPerfEventUpdate = 78,
  kPerfHeaderFeature = 80,
  kPerfCompressed = 81,
  kPerfCompressed2 = 83,
};
inline constexpr uint32_t kPerfFirstUserRecord = 64;

// A record of type COMPRESSED2 begins with a header and the number of compressed bytes.
inline constexpr size_t kPerfCompressed2Bytes = sizeof(perf_event_header) + 8;

// This bit in the misc field of a build ID record says that the byte after the build ID is its
// size.
inline constexpr uint16_t kPerfMiscBuildIdSize = 1u << 15;

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_PERF_ABI_H_
