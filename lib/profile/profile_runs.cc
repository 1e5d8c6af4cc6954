#include "profile/profile_runs.h"

#include <algorithm>
#include <numeric>

namespace hbbp {
namespace {

// This is the longest gap between two images of a process; process ids are reused, but not so soon.
constexpr uint64_t kLongestExecNs = 1'000'000'000;

// Returns the end of the profile, which is at least the start of its last slice.
uint64_t EndOf(const RunTimes& profile) {
  const TimeSlices& slices = profile.slices;
  const uint64_t in_slices =
      slices.count == 0 ? 0 : slices.EndOf(slices.count - 1) - slices.width_ns;
  return AddUpTo(UINT64_MAX, profile.start_time_ns, std::max(profile.duration_ns, in_slices));
}

struct OfRun {
  size_t profile;  // its index
  uint64_t run_start_ns;
};

// Returns the profiles by their starts, and so by runs.
std::vector<OfRun> SortByRuns(std::span<const RunTimes> profiles) {
  std::vector<size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profiles[a].start_time_ns < profiles[b].start_time_ns;
  });
  std::vector<OfRun> sorted;
  sorted.reserve(profiles.size());
  uint64_t run_start_ns = 0, run_end_ns = 0;
  const RunTimes* last = nullptr;
  for (const size_t i : order) {
    const RunTimes& profile = profiles[i];
    const bool may_be_next_image =
        last != nullptr && last->pid == profile.pid && profile.pid != 0 &&
        profile.start_time_ns <= AddUpTo(UINT64_MAX, EndOf(*last), kLongestExecNs);
    const bool is_of_run =
        last != nullptr && (profile.start_time_ns < run_end_ns || may_be_next_image);
    if (!is_of_run) {
      run_start_ns = profile.start_time_ns;
      run_end_ns = 0;
    }
    sorted.push_back({i, run_start_ns});
    run_end_ns = std::max(run_end_ns, EndOf(profile));
    last = &profile;
  }
  return sorted;
}

}  // namespace

RunTimes TimesOf(const ProfileData& profile) {
  return {profile.pid, profile.start_time_ns, profile.duration_ns, profile.slices};
}

std::vector<uint64_t> StartsOfRuns(std::span<const RunTimes> profiles) {
  std::vector<uint64_t> starts(profiles.size());
  for (const OfRun& each : SortByRuns(profiles)) starts[each.profile] = each.run_start_ns;
  return starts;
}

uint64_t DurationOfRuns(std::span<const RunTimes> profiles) {
  uint64_t duration_ns = 0;
  const std::vector<OfRun> sorted = SortByRuns(profiles);
  for (size_t i = 0; i < sorted.size();) {
    const uint64_t start_ns = sorted[i].run_start_ns;
    const uint32_t pid = profiles[sorted[i].profile].pid;
    uint64_t end_ns = 0, sum_ns = 0;
    bool has_several_processes = false;
    for (; i < sorted.size() && sorted[i].run_start_ns == start_ns; ++i) {
      const RunTimes& profile = profiles[sorted[i].profile];
      has_several_processes |= profile.pid != pid;
      sum_ns = AddUpTo(UINT64_MAX, sum_ns, profile.duration_ns);
      end_ns = std::max(end_ns, AddUpTo(UINT64_MAX, profile.start_time_ns, profile.duration_ns));
    }
    duration_ns =
        AddUpTo(UINT64_MAX, duration_ns, has_several_processes ? end_ns - start_ns : sum_ns);
  }
  return duration_ns;
}

}  // namespace hbbp
