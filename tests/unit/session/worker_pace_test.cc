#include "session/worker_pace.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr int kIntervalMs = 400;
constexpr int kIdleMs = 10'000;

// Returns the waits of a worker whose program uses so much CPU time in each second.
std::vector<int> FindWaits(uint64_t cpu_ms_a_second, size_t count) {
  uint64_t now_ns = 5'000 * kMs, cpu_ns = 77 * kMs;
  WorkerPace pace(now_ns, cpu_ns);
  now_ns += kMs;
  cpu_ns += cpu_ms_a_second * kMs / 1000;
  std::vector<int> waits;
  while (waits.size() < count) {
    waits.push_back(pace.NextMs(kIntervalMs, kIdleMs, now_ns, cpu_ns));
    now_ns += static_cast<uint64_t>(waits.back()) * kMs;
    cpu_ns += static_cast<uint64_t>(waits.back()) * cpu_ms_a_second * kMs / 1000;
  }
  return waits;
}

TEST_CASE("the worker of a program that uses a CPU or more waits for the interval") {
  CHECK(FindWaits(1000, 4) == std::vector<int>{400, 400, 400, 400});
  CHECK(FindWaits(16'000, 3) == std::vector<int>{400, 400, 400});
}

TEST_CASE("it waits until the program has used as much CPU time, and a second at most") {
  CHECK(FindWaits(800, 4) == std::vector<int>{400, 500, 500, 500});
  CHECK(FindWaits(300, 5) == std::vector<int>{400, 800, 1000, 1000, 1000});
  CHECK(FindWaits(500, 4) == std::vector<int>{400, 800, 800, 800});
}

TEST_CASE("waits get longer and longer while the program waits, and are short when it does not") {
  CHECK(FindWaits(0, 7) == std::vector<int>{400, 800, 1600, 3200, 6400, 10'000, 10'000});
  uint64_t now_ns = 0;
  WorkerPace pace(0, 0);
  for (int i = 0; i < 8; ++i) {
    now_ns += 1'000 * kMs;
    (void)pace.NextMs(kIntervalMs, kIdleMs, now_ns, 0);
  }
  CHECK(pace.is_idle());
  SECTION("it has reported that") {
    pace.Restart();
    CHECK(pace.NextMs(kIntervalMs, kIdleMs, now_ns + kMs, kMs / 2) == kIntervalMs);
  }
  SECTION("the worker has found it out") {
    CHECK(pace.NextMs(kIntervalMs, kIdleMs, now_ns + 1'000 * kMs, 1'000 * kMs) == kIntervalMs);
    CHECK_FALSE(pace.is_idle());
  }
}

TEST_CASE("an interval that is the longest wait is kept, and no time since the last call is fine") {
  WorkerPace pace(7, 7);
  CHECK(pace.NextMs(200, 200, 7, 7) == 200);
  CHECK(pace.NextMs(200, 200, 1'000 * kMs, 7) == 200);
}

}  // namespace
}  // namespace hbbp
