#include "session/worker_pace.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr int kIntervalMs = 400;
constexpr int kLongestMs = 1000;

// Returns the waits of a worker whose program uses so much CPU time in each of these seconds.
std::vector<int> FindWaits(const std::vector<uint64_t>& cpu_ms_a_second) {
  uint64_t now_ns = 5'000 * kMs, cpu_ns = 77 * kMs;
  WorkerPace pace(now_ns, cpu_ns);
  std::vector<int> waits;
  for (const uint64_t cpu_ms : cpu_ms_a_second) {
    now_ns += 1'000 * kMs;
    cpu_ns += cpu_ms * kMs;
    waits.push_back(pace.NextMs(kIntervalMs, kLongestMs, now_ns, cpu_ns));
  }
  return waits;
}

TEST_CASE("the worker of a program that uses a CPU or more waits for the interval") {
  CHECK(FindWaits({1'000, 1'000, 16'000}) == std::vector<int>{400, 400, 400});
}

TEST_CASE("it waits until the program has used as much CPU time, and not longer than it may") {
  CHECK(FindWaits({800, 500, 400, 250, 1, 0}) ==
        std::vector<int>{500, 800, 1000, 1000, 1000, 1000});
}

TEST_CASE("what a program did earlier does not matter") {
  CHECK(FindWaits({0, 0, 0, 1'000}) == std::vector<int>{1000, 1000, 1000, 400});
}

TEST_CASE("an interval that is the longest wait is kept, and no time since the last call is fine") {
  WorkerPace pace(7, 7);
  CHECK(pace.NextMs(200, 200, 7, 7) == 200);
  CHECK(pace.NextMs(200, 200, 1'000 * kMs, 7) == 200);
}

}  // namespace
}  // namespace hbbp
