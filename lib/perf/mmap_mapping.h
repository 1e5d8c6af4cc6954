// Converts the record of a mapping to the form by which samples are located.
#ifndef HBBP_LIB_PERF_MMAP_MAPPING_H_
#define HBBP_LIB_PERF_MMAP_MAPPING_H_

#include <algorithm>
#include <cstdint>

#include "events/code_events.h"
#include "perf/records.h"

namespace hbbp {

// perf marks synthetic records with this time.
inline constexpr uint64_t kNoTime = UINT64_MAX;

inline MappingEvent MappingOf(const MmapRecord& mmap) {
  MappingEvent mapping;
  mapping.pid = mmap.pid;
  mapping.start = {mmap.address};
  mapping.end = {mmap.address + std::min(mmap.size, UINT64_MAX - mmap.address)};
  mapping.offset = {mmap.file_offset};
  mapping.device = mmap.device;
  mapping.inode = mmap.inode;
  mapping.build_id = mmap.build_id;
  mapping.path = mmap.path;
  mapping.time_ns = mmap.sample_id.time == kNoTime ? 0 : mmap.sample_id.time;
  return mapping;
}

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_MMAP_MAPPING_H_
