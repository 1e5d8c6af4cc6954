#include "profile/slice_merger.h"

#include <algorithm>
#include <numeric>

namespace hbbp {
namespace {

// This is the longest gap between two images of a process; process ids are reused, but not so soon.
constexpr uint64_t kLongestExecNs = 1'000'000'000;

uint64_t AddUpTo(uint64_t limit, uint64_t a, uint64_t b) { return b > limit - a ? limit : a + b; }

// Returns the end of the profile, which is at least the start of its last slice.
uint64_t EndOf(const ProfileData& profile) {
  const TimeSlices& slices = profile.slices;
  const uint64_t in_slices =
      slices.count == 0 ? 0 : slices.EndOf(slices.count - 1) - slices.width_ns;
  return AddUpTo(UINT64_MAX, profile.start_time_ns, std::max(profile.duration_ns, in_slices));
}

// Returns, for each profile, the start of the run that it belongs to.
std::vector<uint64_t> StartsOfRuns(std::span<const ProfileData* const> profiles) {
  std::vector<size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profiles[a]->start_time_ns < profiles[b]->start_time_ns;
  });
  std::vector<uint64_t> starts(profiles.size());
  uint64_t run_start_ns = 0, run_end_ns = 0;
  const ProfileData* last = nullptr;
  for (const size_t i : order) {
    const ProfileData& profile = *profiles[i];
    const bool may_be_next_image =
        last != nullptr && last->pid == profile.pid && profile.pid != 0 &&
        profile.start_time_ns <= AddUpTo(UINT64_MAX, EndOf(*last), kLongestExecNs);
    const bool is_of_run =
        last != nullptr && (profile.start_time_ns < run_end_ns || may_be_next_image);
    if (!is_of_run) {
      run_start_ns = profile.start_time_ns;
      run_end_ns = 0;
    }
    starts[i] = run_start_ns;
    run_end_ns = std::max(run_end_ns, EndOf(profile));
    last = &profile;
  }
  return starts;
}

}  // namespace

SliceMerger::SliceMerger(std::span<const ProfileData* const> profiles) {
  const std::vector<uint64_t> starts = StartsOfRuns(profiles);
  for (size_t i = 0; i < profiles.size(); ++i) {
    widths_ns_.push_back(profiles[i]->slices.width_ns);
    delays_ns_.push_back(profiles[i]->start_time_ns - starts[i]);
    merged_.width_ns = std::max(merged_.width_ns, widths_ns_.back());
  }
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i]->slices.count == 0) continue;
    while (MappedPosition(i, profiles[i]->slices.count - 1) >= SliceClock::kMaxSlices) {
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
