// Tests SamplingGaps: first gaps, in which the kernel held sampling back, then samples that were
// lost, each with what a hostile recording may have, and last both without times and samples.
#include "perf/sampling_gaps.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kCounter = 7;

// Adds a sample of 100 each ms, and returns what they stand for.
uint64_t AddSamples(uint64_t first_ms, uint64_t last_ms, SamplingGaps* gaps) {
  uint64_t sum = 0;
  for (uint64_t ms = first_ms; ms <= last_ms; ++ms) {
    sum += gaps->AddSample(kCounter, ms * kMs, 100);
  }
  return sum;
}

void AddGap(uint64_t start_ms, uint64_t end_ms, SamplingGaps* gaps) {
  gaps->BeginGap(kCounter, start_ms * kMs);
  gaps->EndGap(kCounter, end_ms * kMs);
}

TEST_CASE("samples behind a gap make up for it") {
  SamplingGaps gaps;
  CHECK(AddSamples(1, 6, &gaps) == 600);
  CHECK(gaps.Factor() == 1);
  AddGap(6, 16, &gaps);
  // 500 in 5 ms are 1000 in 10 ms, and the next 500 make up for them.
  CHECK(gaps.AddSample(kCounter, 17 * kMs, 100) == 300);
  CHECK(AddSamples(18, 21, &gaps) == 1200);
  CHECK(AddSamples(22, 31, &gaps) == 1000);
  CHECK(gaps.Factor() == Approx(31.0 / 21));
  CHECK(gaps.MissingShare() == Approx(10.0 / 30));
}

TEST_CASE("a program that is held back in each tick has the sum that it would have without") {
  SamplingGaps gaps;
  uint64_t sum = AddSamples(1, 1, &gaps);
  for (uint64_t tick = 0; tick < 1000; ++tick) {
    sum += AddSamples(4 * tick + 2, 4 * tick + 2, &gaps);
    AddGap(4 * tick + 2, 4 * tick + 5, &gaps);
  }
  CHECK(sum == Approx(400'000).epsilon(0.002));
  CHECK(gaps.MissingShare() == Approx(0.75).epsilon(0.002));
}

TEST_CASE("parts of an event that rounding leaves are added later") {
  SamplingGaps gaps;
  uint64_t sum = 0;
  for (uint64_t us = 1; us <= 1001; ++us) sum += gaps.AddSample(kCounter, us * 1000, 1);
  gaps.BeginGap(kCounter, 1001 * 1000);
  gaps.EndGap(kCounter, 1251 * 1000);
  for (uint64_t us = 1252; us <= 2252; ++us) sum += gaps.AddSample(kCounter, us * 1000, 1);
  CHECK(sum == 1001 + 1001 + 250);
}

TEST_CASE("a gap is no longer than a tick") {
  SamplingGaps gaps;
  AddSamples(1, 6, &gaps);
  AddGap(6, 5006, &gaps);
  CHECK(AddSamples(5007, 5100, &gaps) == 9400 + 1000);
}

TEST_CASE("the time before a burst of samples does not make it less dense") {
  SamplingGaps gaps;
  AddSamples(1, 2, &gaps);
  // It slept for a second; 500 in 5 ms follow, of which the first is of the sleep.
  AddSamples(1000, 1005, &gaps);
  AddGap(1005, 1015, &gaps);
  CHECK(AddSamples(1016, 1030, &gaps) == 1500 + 1000);
}

TEST_CASE("a thread that does not run behind each gap has the sum of the time that it runs") {
  constexpr uint64_t kTicks = 500, kUs = 1000;
  SamplingGaps gaps;
  // Each 8 ms it runs for 4: four samples, and the gap. Then another thread runs.
  uint64_t sum = 0;
  for (uint64_t tick = 0; tick < kTicks; ++tick) {
    const uint64_t begin_us = 8000 * tick;
    for (uint64_t i = 1; i <= 4; ++i) {
      sum += gaps.AddSample(kCounter, (begin_us + 100 * i) * kUs, 100 * kUs);
    }
    gaps.BeginGap(kCounter, (begin_us + 400) * kUs);
    gaps.EndGap(kCounter, (begin_us + 4000) * kUs);
  }
  CHECK(static_cast<double>(sum) == Approx(4.0 * kMs * kTicks).epsilon(0.005));
}

TEST_CASE("the counters of an event have gaps of their own") {
  SamplingGaps gaps;
  AddSamples(1, 6, &gaps);
  for (uint64_t ms = 1; ms <= 6; ++ms) gaps.AddSample(8, ms * kMs, 100);
  AddGap(6, 16, &gaps);
  CHECK(gaps.AddSample(8, 17 * kMs, 100) == 100);
  CHECK(gaps.AddSample(kCounter, 17 * kMs, 100) == 300);
}

TEST_CASE("gaps of any number of counters take no more memory") {
  SamplingGaps gaps;
  constexpr uint64_t kMaxCounters = 1 << 18;
  AddSamples(1, 6, &gaps);
  for (uint64_t i = 1; i < kMaxCounters; ++i) gaps.AddSample(kCounter + i, kMs, 100);
  const uint64_t beyond = kCounter + kMaxCounters;
  for (uint64_t ms = 1; ms <= 6; ++ms) CHECK(gaps.AddSample(beyond, ms * kMs, 100) == 100);
  AddGap(6, 16, &gaps);
  gaps.BeginGap(beyond, 6 * kMs);
  gaps.EndGap(beyond, 16 * kMs);
  CHECK(gaps.AddSample(beyond, 17 * kMs, 100) == 100);
  CHECK(gaps.AddSample(kCounter, 17 * kMs, 100) == 300);
}

TEST_CASE("periods of a hostile recording stay in their range") {
  SamplingGaps gaps;
  gaps.AddSample(kCounter, 1 * kMs, 1);
  gaps.AddSample(kCounter, 1 * kMs + 1, UINT64_MAX);
  gaps.BeginGap(kCounter, 1 * kMs + 2);
  gaps.EndGap(kCounter, 9 * kMs);
  CHECK(gaps.AddSample(kCounter, 10 * kMs, UINT64_MAX) == UINT64_MAX);
  CHECK(gaps.AddSample(kCounter, 11 * kMs, 1000) > 1000);
}

TEST_CASE("samples behind lost ones make up for them") {
  SamplingGaps gaps;
  AddSamples(1, 10, &gaps);
  gaps.AddLost(30);
  // Ten samples came before the loss, and ten make up for it.
  CHECK(AddSamples(11, 20, &gaps) == 1000 + 3000);
  CHECK(AddSamples(21, 30, &gaps) == 1000);
  CHECK(gaps.Factor() == Approx(60.0 / 30));
  // A few that are lost weigh on as few.
  gaps.AddLost(2);
  CHECK(AddSamples(31, 32, &gaps) == 200 + 200);
  CHECK(AddSamples(33, 40, &gaps) == 800);
}

TEST_CASE("losses that follow each other without a sample are one") {
  SamplingGaps gaps;
  AddSamples(1, 10, &gaps);
  gaps.AddLost(10);
  gaps.AddLost(10);
  CHECK(gaps.AddSample(kCounter, 11 * kMs, 100) == 300);
  CHECK(AddSamples(12, 20, &gaps) == 900 + 1800);
  CHECK(AddSamples(21, 30, &gaps) == 1000);
}

TEST_CASE("what is lost again and again is given back in full") {
  SamplingGaps gaps;
  uint64_t sum = 0;
  for (uint64_t round = 0; round < 1000; ++round) {
    sum += AddSamples(10 * round + 1, 10 * round + 10, &gaps);
    gaps.AddLost(90);
  }
  CHECK(sum == 100 * 100 * 1000 - 9000);
}

TEST_CASE("lost samples have the mean period, and times do not matter") {
  SamplingGaps gaps;
  CHECK(gaps.AddSample(kCounter, 0, 100) == 100);
  CHECK(gaps.AddSample(kCounter, 0, 300) == 300);
  gaps.AddLost(1);
  CHECK(gaps.AddSample(kCounter, 0, 100) == 200);
  CHECK(gaps.AddSample(kCounter + 1, 0, 300) == 400);
  CHECK(gaps.AddSample(kCounter, 0, 100) == 100);
}

TEST_CASE("counters may begin anew, and what was lost is still given back") {
  SamplingGaps gaps;
  AddSamples(1, 6, &gaps);
  AddGap(6, 16, &gaps);
  gaps.AddLost(2);
  gaps.Restart();
  CHECK(AddSamples(17, 20, &gaps) == 400 + 200);
  AddGap(20, 24, &gaps);
  CHECK(AddSamples(25, 34, &gaps) == 1000 + 400);
}

TEST_CASE("losses of a hostile recording stay in their range") {
  SamplingGaps gaps;
  gaps.AddLost(UINT64_MAX);
  CHECK(gaps.AddSample(kCounter, kMs, UINT64_MAX) == UINT64_MAX);
  gaps.AddLost(UINT64_MAX);
  gaps.AddLost(UINT64_MAX);
  CHECK(gaps.AddSample(kCounter, 2 * kMs, UINT64_MAX) == UINT64_MAX);
  CHECK(gaps.AddSample(kCounter, 3 * kMs, 1000) > 1000);
}

TEST_CASE("without times and without samples nothing is corrected") {
  SamplingGaps gaps;
  CHECK(gaps.MissingShare() == 0);
  CHECK(gaps.Factor() == 1);
  AddGap(1, 5, &gaps);
  gaps.EndGap(kCounter, 9 * kMs);
  CHECK(gaps.AddSample(kCounter, 0, 100) == 100);
  CHECK(gaps.AddSample(kCounter, 10 * kMs, 100) == 100);
  AddGap(10, 20, &gaps);
  CHECK(gaps.AddSample(kCounter, 21 * kMs, 100) == 100);
}

}  // namespace
}  // namespace hbbp
