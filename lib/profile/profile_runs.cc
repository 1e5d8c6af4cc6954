#include "profile/profile_runs.h"

#include <algorithm>
#include <map>
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

}  // namespace

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

uint64_t DurationOfRuns(std::span<const ProfileData* const> profiles) {
  struct Run {
    uint64_t end_ns = 0;
    uint64_t sum_ns = 0;
    uint32_t pid = 0;
    bool has_several_processes = false;
  };
  const std::vector<uint64_t> starts = StartsOfRuns(profiles);
  std::map<uint64_t, Run> runs;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const ProfileData& profile = *profiles[i];
    const auto [entry, is_new] = runs.try_emplace(starts[i]);
    Run& run = entry->second;
    if (is_new) run.pid = profile.pid;
    run.has_several_processes |= run.pid != profile.pid;
    run.sum_ns = AddUpTo(UINT64_MAX, run.sum_ns, profile.duration_ns);
    run.end_ns =
        std::max(run.end_ns, AddUpTo(UINT64_MAX, profile.start_time_ns, profile.duration_ns));
  }
  uint64_t duration_ns = 0;
  for (const auto& [start_ns, run] : runs) {
    const uint64_t run_ns = run.has_several_processes ? run.end_ns - start_ns : run.sum_ns;
    duration_ns = AddUpTo(UINT64_MAX, duration_ns, run_ns);
  }
  return duration_ns;
}

}  // namespace hbbp
