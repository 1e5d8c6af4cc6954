// What collecting takes of the memory that a host allows, and what is done as it fills up.
#ifndef HBBP_LIB_COLLECT_MEMORY_USE_H_
#define HBBP_LIB_COLLECT_MEMORY_USE_H_

#include <cstdint>

namespace hbbp {

// What records and nodes of maps take besides their text, about.
inline constexpr uint64_t kModuleBytes = 512;
inline constexpr uint64_t kThreadBytes = 256;
inline constexpr uint64_t kIntervalBytes = 128;

// Parts of what is allowed. Tables grow by doubling, so that half of it may be needed at once.
inline constexpr double kCompactAbove = 0.35;
inline constexpr double kWidenAbove = 0.4;
inline constexpr double kLengthenAbove = 0.5;

// What was left out because there was no memory for it.
struct MemoryLosses {
  uint64_t samples = 0;
  uint64_t mappings = 0;  // their samples are unmapped

  uint64_t all() const { return samples + mappings; }
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_MEMORY_USE_H_
