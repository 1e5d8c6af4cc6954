// Makes samples and bursts in one mapping, at any number of addresses, for tests of memory.
#ifndef HBBP_TESTS_SUPPORT_MADE_UP_SAMPLES_H_
#define HBBP_TESTS_SUPPORT_MADE_UP_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "events/samples.h"
#include "profile/profile_data.h"

namespace hbbp::test {

inline constexpr uint64_t kBase = 0x100000;
inline constexpr uint64_t kSpan = 0x4000000;
inline constexpr uint32_t kPid = 500;

// Returns times of fifty per millisecond.
inline uint64_t TimeOf(uint64_t number) { return 1'000'000 * (1 + number / 50); }

inline IpSample SampleAt(uint64_t number, uint64_t addresses) {
  IpSample sample;
  sample.ip = {kBase + number * 7919 % addresses * 16};
  sample.pid = sample.tid = kPid;
  sample.time_ns = TimeOf(number);
  sample.period = 100;
  return sample;
}

// Calls take(burst, number) with `count` bursts of 16 branches, the same in each run.
template <typename Take>
void MakeBursts(uint64_t count, uint64_t addresses, Take&& take) {
  std::vector<TakenBranch> branches(16);
  uint64_t next = 1;
  for (uint64_t i = 0; i < count; ++i) {
    for (TakenBranch& branch : branches) {
      next = next * 6364136223846793005u + 1442695040888963407u;
      branch.from = {kBase + (next >> 33) % addresses * 16};
      branch.to = {kBase + (next >> 40) % addresses * 16};
    }
    BurstSample burst;
    burst.pid = burst.tid = kPid;
    burst.time_ns = TimeOf(i);
    burst.period = 100;
    burst.branches = branches;
    take(burst, i);
  }
}

// Counts bursts by the one branch of each that has no stream.
inline uint64_t BurstsIn(const ProfileData& data) {
  uint64_t sum = 0;
  for (const BranchCount& branch : data.branches) {
    if (branch.stream_end == kNoStream) sum += branch.number;
  }
  return sum;
}

}  // namespace hbbp::test

#endif  // HBBP_TESTS_SUPPORT_MADE_UP_SAMPLES_H_
