// MissedLines distinguishes the lines of memory that a program has to wait for from those that it
// would have found in a cache.
//
// A burst loads each line for the first time at some point, and some of these loads take long. But
// an interrupt started the burst, and the interpreter runs in between: both evict lines and address
// translations that the program was about to use. A line that is in use shows it: the burst comes
// back to it later. So a line that missed is watched, and if it is loaded again or stored to after
// a while, its miss was not the program's. If it is stored to at once, as by a counter in memory,
// it cannot be watched any further, because later loads find the copy.
//
//   sum += table[random()];      each line is loaded once: all misses are the program's
//   sum += small[i++ % 1000];    each line comes back: whatever misses was evicted by us
//
// A line that is loaded near the end has no time to come back either. So only some misses of the
// first half of a burst say which share is the program's; MissTicks keeps the others apart.
//
// Time is that of the interpreter without the misses, as it would otherwise pass faster where there
// are more of them.
//
// Contract: async-signal-safe; one thread at a time uses it; it may be in uninitialised memory
// before Reset.
#ifndef HBBP_LIB_TRACE_INTERPRETER_MISSED_LINES_H_
#define HBBP_LIB_TRACE_INTERPRETER_MISSED_LINES_H_

#include <cstdint>

namespace hbbp::trace {

// AccessTiming says which accesses are misses, in ticks of the time stamp counter.
struct AccessTiming {
  uint16_t hit = 0;       // mean of lines in the nearest cache; 0: accesses are not timed
  uint16_t min_miss = 0;  // a miss takes at least so much more than a hit,
  uint16_t max_miss = 0;  // and at most so much: what takes longer is an interrupt or a page fault
  uint16_t reuse = 0;     // loads of a line that are so far apart are separate uses of it

  bool operator==(const AccessTiming&) const = default;
};

// MissTicks is what misses took, in ticks beyond a hit.
struct MissTicks {
  uint64_t early = 0;        // in the first half of the burst, of lines that were not used again
  uint64_t early_again = 0;  // in the first half, of lines that were
  uint64_t undecided = 0;    // of all others
  uint64_t lines = 0;        // that the burst used, whether they missed or not

  void Add(const MissTicks& more) {
    lines += more.lines;
    early += more.early;
    early_again += more.early_again;
    undecided += more.undecided;
  }
};

class MissedLines {
 public:
  void Reset() {
    count_ = 0;
    used_ = 0;
    all_ = 0;
    unwatched_ = 0;
    for (uint64_t& bits : used_lines_) bits = 0;
  }

  // Counts a line that is used. Returns whether it is the first use in the burst, as far as a hash
  // of some hundred lines says.
  bool CountUse(uint64_t line) {
    const unsigned slot = SlotOf(line);
    uint64_t& bits = used_lines_[slot / 64];
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if ((bits & bit) != 0) return false;
    bits |= bit;
    ++used_;
    return true;
  }

  // Adds a line whose miss took so many ticks and ended `now`. Returns whether it is watched from
  // now on.
  bool Add(uint64_t line, uint64_t ticks, uint64_t now);
  bool IsWatched(uint64_t line) const { return Find(line) != kNone; }
  // Records that a watched line is loaded at `now`. Returns whether it is to be watched further.
  bool RecordLoad(uint64_t line, uint64_t now, uint64_t reuse_ticks);
  // Records that a watched line is stored to at `now`.
  void RecordStore(uint64_t line, uint64_t now, uint64_t reuse_ticks);

  // Returns what the misses took, if the burst began and ended at these ticks.
  MissTicks Sum(uint64_t begin, uint64_t end) const;

 private:
  static constexpr unsigned kMaxLines = 256;
  static constexpr unsigned kSlotBits = 13;
  static constexpr unsigned kSlots = 1 << kSlotBits;
  static constexpr unsigned kNone = kMaxLines;

  enum class Use : uint8_t { kOnce, kAgain, kUndecided };
  struct Line {
    uint64_t address;
    uint64_t missed_at;  // without the time of misses
    uint32_t ticks;
    Use use;
  };

  static unsigned SlotOf(uint64_t line) {
    return static_cast<unsigned>((line / 64 * 0x9e3779b97f4a7c15) >> (64 - kSlotBits));
  }
  // A slot that holds garbage names a line that is another, or none. Of two lines with the same
  // slot only the newer one is found.
  unsigned Find(uint64_t line) const {
    const unsigned index = slots_[SlotOf(line)];
    return index < count_ && lines_[index].address == line ? index : kNone;
  }

  uint32_t count_;
  uint32_t used_;
  uint64_t all_;        // ticks of all misses
  uint64_t unwatched_;  // of these, of lines that there was no room for
  Line lines_[kMaxLines];
  uint16_t slots_[kSlots];  // index into lines_
  uint64_t used_lines_[kSlots / 64];
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_MISSED_LINES_H_
