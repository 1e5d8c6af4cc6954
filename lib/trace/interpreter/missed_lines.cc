#include "trace/interpreter/missed_lines.h"

namespace hbbp::trace {

bool MissedLines::Add(uint64_t line, uint64_t ticks, uint64_t now) {
  all_ += ticks;
  if (count_ == kMaxLines) {
    unwatched_ += ticks;
    return false;
  }
  slots_[SlotOf(line)] = static_cast<uint16_t>(count_);
  lines_[count_++] = {line, now - all_, static_cast<uint32_t>(ticks), Use::kOnce};
  return true;
}

bool MissedLines::RecordLoad(uint64_t line, uint64_t now, uint64_t reuse_ticks) {
  const unsigned index = Find(line);
  if (index == kNone) return false;
  if (now - all_ - lines_[index].missed_at < reuse_ticks) return true;
  lines_[index].use = Use::kAgain;
  return false;
}

void MissedLines::RecordStore(uint64_t line, uint64_t now, uint64_t reuse_ticks) {
  if (!RecordLoad(line, now, reuse_ticks)) return;
  lines_[Find(line)].use = Use::kUndecided;
}

MissTicks MissedLines::Sum(uint64_t begin, uint64_t end) const {
  const uint64_t half = (end - all_ - begin) / 2;
  MissTicks sum;
  sum.undecided = unwatched_;
  sum.lines = used_;
  for (unsigned i = 0; i < count_; ++i) {
    const Line& line = lines_[i];
    const bool is_late = line.missed_at - begin > half;
    uint64_t& ticks = is_late || line.use == Use::kUndecided ? sum.undecided
                      : line.use == Use::kAgain              ? sum.early_again
                                                             : sum.early;
    ticks += line.ticks;
  }
  return sum;
}

}  // namespace hbbp::trace
