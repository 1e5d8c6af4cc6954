#include "profile/slice_merger.h"

#include <algorithm>

namespace hbbp {

SliceMerger::SliceMerger(std::span<const RunTimes> profiles) {
  const std::vector<uint64_t> starts = StartsOfRuns(profiles);
  for (size_t i = 0; i < profiles.size(); ++i) {
    widths_ns_.push_back(profiles[i].slices.width_ns);
    delays_ns_.push_back(profiles[i].start_time_ns - starts[i]);
    merged_.width_ns = std::max(merged_.width_ns, widths_ns_.back());
  }
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].slices.count == 0) continue;
    while (MappedPosition(i, profiles[i].slices.count - 1) >= SliceClock::kMaxSlices) {
      merged_.width_ns *= 2;
    }
  }
}

uint32_t SliceMerger::Map(size_t index, uint32_t slice) {
  if (slice == kNoSlice) return kNoSlice;
  const auto mapped = static_cast<uint32_t>(MappedPosition(index, slice));
  merged_.count = std::max(merged_.count, mapped + 1);
  return mapped;
}

double SliceMerger::MappedPosition(size_t index, uint32_t slice) const {
  const double middle_ns = (slice + 0.5) * static_cast<double>(widths_ns_[index]);
  return (static_cast<double>(delays_ns_[index]) + middle_ns) /
         static_cast<double>(merged_.width_ns);
}

}  // namespace hbbp
