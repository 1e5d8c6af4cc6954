// What the perf ABI has and the <linux/perf_event.h> of older systems lacks.
#ifndef HBBP_LIB_PERF_PERF_ABI_H_
#define HBBP_LIB_PERF_PERF_ABI_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>

namespace hbbp {

inline constexpr uint64_t kSampleBranchCounters = 1u << 19;  // of branch_sample_type; Linux 6.8

// Types of records that the perf command writes into its files, next to those of the kernel.
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

// Of a record of type COMPRESSED2: the header, and the number of compressed bytes.
inline constexpr size_t kPerfCompressed2Bytes = sizeof(perf_event_header) + 8;

// In the misc field of a build ID record: the byte after the build ID is its size.
inline constexpr uint16_t kPerfMiscBuildIdSize = 1u << 15;

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_PERF_ABI_H_
