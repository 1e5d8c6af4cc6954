#include "trace/interpreter/missed_lines.h"

namespace hbbp::trace {

bool MissedLines::Add(uint64_t line, uint64_t ticks, uint64_t now) {
  all_ += ticks;
  if (count_ == kMaxLines) {
    unwatched_ += ticks;
    return false;
  }
  slots_[SlotOf(line)] = static_cast<uint16_t>(count_);
  lines_[count_++] = {line, now - all_, static_cast<uint32_t>(ticks), false};
  return true;
}

bool MissedLines::RecordLoad(uint64_t line, uint64_t now, uint64_t reuse_ticks) {
  const unsigned index = Find(line);
  if (index == kNone) return false;
  if (now - all_ - lines_[index].missed_at < reuse_ticks) return true;
  lines_[index].is_used_again = true;
  return false;
}

void MissedLines::RecordStore(uint64_t line) {
  const unsigned index = Find(line);
  if (index != kNone) lines_[index].is_used_again = true;
}

MissTicks MissedLines::Sum(uint64_t begin, uint64_t end) const {
  const uint64_t half = (end - all_ - begin) / 2;
  MissTicks sum;
  sum.late = unwatched_;
  sum.lines = used_;
  for (unsigned i = 0; i < count_; ++i) {
    const Line& line = lines_[i];
    uint64_t& ticks = line.missed_at - begin > half ? sum.late
                      : line.is_used_again          ? sum.early_again
                                                    : sum.early;
    ticks += line.ticks;
  }
  return sum;
}

}  // namespace hbbp::trace
