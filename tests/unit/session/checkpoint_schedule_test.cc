#include "session/checkpoint_schedule.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Returns when checkpoints of this cost are taken, in milliseconds, of a program that uses one part
// in so many of a CPU.
std::vector<uint64_t> FindTimes(uint64_t cost_ns, size_t count, uint64_t part_of_cpu = 1) {
  constexpr uint64_t kStart = 12'345 * kMs;
  CheckpointSchedule schedule(kStart, 0);
  std::vector<uint64_t> times;
  for (uint64_t now = kStart; times.size() < count; now += kMs) {
    if (!schedule.IsDue(now, (now - kStart) / part_of_cpu)) continue;
    times.push_back((now - kStart) / kMs);
    schedule.Took(cost_ns, now, (now - kStart) / part_of_cpu);
  }
  return times;
}

TEST_CASE("checkpoints are frequent at first, and come each second later") {
  CHECK(FindTimes(kMs / 10, 9) ==
        std::vector<uint64_t>{20, 60, 140, 300, 620, 1260, 2260, 3260, 4260});
}

TEST_CASE("in a long run, checkpoints come after a tenth of its time, and each ten seconds") {
  CheckpointSchedule schedule(0, 0);
  constexpr uint64_t kMinute = 60'000 * kMs;
  schedule.Took(0, 20 * kMs, 0);
  for (int i = 0; i < 20; ++i) schedule.Took(0, kMinute / 2, 0);
  CHECK(schedule.NsUntilDue(kMinute / 2, 0) == 3'000 * kMs);
  for (int i = 0; i < 20; ++i) schedule.Took(0, 10 * kMinute, 0);
  CHECK(schedule.NsUntilDue(10 * kMinute, 0) == 10'000 * kMs);
}

TEST_CASE("checkpoints take two milliseconds and a thousandth of the time at most") {
  CHECK(FindTimes(kMs, 5) == std::vector<uint64_t>{20, 60, 140, 1000, 2000});
  CHECK(FindTimes(10 * kMs, 3) == std::vector<uint64_t>{20, 8000, 18000});
}

TEST_CASE("first checkpoints, close together, do not put off the next by the price of them all") {
  CheckpointSchedule schedule(0, 0);
  for (uint64_t now = 20 * kMs; now <= 100 * kMs; now += 20 * kMs)
    schedule.Took(kMs * 3 / 2, now, now);
  CHECK(schedule.NsUntilDue(100 * kMs, 100 * kMs) == 1'500 * kMs);
  CHECK(schedule.NsUntilDue(1'500 * kMs, 1'500 * kMs) == 100 * kMs);
  schedule.Took(0, 200 * kMs, 200 * kMs);
  CHECK(schedule.NsUntilDue(1'500 * kMs, 1'500 * kMs) == 100 * kMs);
}

TEST_CASE("a cheap checkpoint that is asked for does not make an expensive one before it cheaper") {
  CheckpointSchedule schedule(0, 0);
  schedule.Took(10 * kMs, 20 * kMs, 20 * kMs);
  schedule.Took(kMs / 10, 1'500 * kMs, 1'500 * kMs);
  CHECK(schedule.NsUntilDue(1'500 * kMs, 1'500 * kMs) == 6'600 * kMs);
}

TEST_CASE("checkpoints take a part of the CPU time that a program uses, and not of the time") {
  CHECK(FindTimes(10 * kMs, 2, 4) == std::vector<uint64_t>{20, 32000});
  CHECK(FindTimes(10 * kMs, 2, 1'000'000) == std::vector<uint64_t>{20, 64000});
}

TEST_CASE("a program that waited at first pays with what it uses then") {
  CheckpointSchedule schedule(0, 0);
  schedule.Took(5 * kMs, 20 * kMs, 0);
  CHECK(schedule.NsUntilDue(4'000 * kMs, 0) == 2'000 * kMs);
  CHECK(schedule.NsUntilDue(6'000 * kMs, 2'000 * kMs) == 1'000 * kMs);
  CHECK(schedule.IsDue(7'000 * kMs, 3'000 * kMs));
}

TEST_CASE("the time until the next checkpoint ends at none") {
  const CheckpointSchedule schedule(0, 0);
  CHECK(schedule.NsUntilDue(5 * kMs, 0) == 15 * kMs);
  CHECK(schedule.NsUntilDue(20 * kMs, 0) == 0);
  CHECK(schedule.NsUntilDue(21 * kMs, 0) == 0);
  CHECK_FALSE(schedule.IsDue(20 * kMs - 1, 0));
}

}  // namespace
}  // namespace hbbp
