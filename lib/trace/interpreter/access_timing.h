// AccessTiming says which loads are cache misses, and MemoryUse what a burst had of them, and of
// other things that follow from values alone.
//
// Contract: plain data.
#ifndef HBBP_LIB_TRACE_INTERPRETER_ACCESS_TIMING_H_
#define HBBP_LIB_TRACE_INTERPRETER_ACCESS_TIMING_H_

#include <cstdint>

namespace hbbp::trace {

// These are ticks of the time stamp counter. It is aligned so that it can be stored at once.
struct alignas(sizeof(uint64_t)) AccessTiming {
  uint16_t hit = 0;       // mean of lines in the nearest cache; 0: loads are not timed
  uint16_t min_miss = 0;  // a miss takes at least so much more than a hit,
  uint16_t max_miss = 0;  // and at most so much: what takes longer is an interrupt or a page fault
  // What the first load of a page takes more than another hit, if the kernel discards translations
  // of addresses whenever it is entered, and so in front of a burst.
  uint16_t page_walk = 0;

  bool operator==(const AccessTiming&) const = default;
};

static_assert(sizeof(AccessTiming) == sizeof(uint64_t));

struct MemoryUse {
  uint64_t miss_ticks = 0;        // of all loads that missed, beyond hits
  uint64_t store_miss_ticks = 0;  // the same of lines whose first access is a store
  uint64_t lines = 0;             // that were used behind none of their neighbours, missed or not
  uint64_t streamed_lines = 0;    // hits in pages of which other lines miss
  uint64_t page_faults = 0;       // of first accesses to pages
  uint64_t empty_repeats = 0;     // repeated string instructions of no words

  void Add(const MemoryUse& more) {
    miss_ticks += more.miss_ticks;
    store_miss_ticks += more.store_miss_ticks;
    lines += more.lines;
    streamed_lines += more.streamed_lines;
    page_faults += more.page_faults;
    empty_repeats += more.empty_repeats;
  }
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_ACCESS_TIMING_H_
