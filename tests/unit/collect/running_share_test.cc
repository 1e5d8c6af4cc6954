#include "collect/running_share.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace hbbp {
namespace {

CounterValues Times(uint64_t enabled, uint64_t running) {
  CounterValues values;
  values.time_enabled = enabled;
  values.time_running = running;
  return values;
}

TEST_CASE("a sample stands for the time that its counter did not run") {
  RunningShare share;
  CHECK(share.Share() == 1);
  CHECK(share.Advance(7, 0, Times(10, 10)) == 1);
  CHECK(share.Advance(7, 0, Times(30, 15)) == 4);
  CHECK(share.Share() == 0.5);
}

TEST_CASE("counters and threads have times of their own") {
  RunningShare share;
  CHECK(share.Advance(7, 1, Times(100, 50)) == 2);
  CHECK(share.Advance(7, 2, Times(30, 10)) == 3);
  CHECK(share.Advance(8, 1, Times(20, 20)) == 1);
}

TEST_CASE("times of any number of counters take no more memory") {
  RunningShare share;
  constexpr uint64_t kMaxCounters = 1 << 20;
  for (uint64_t counter = 0; counter < kMaxCounters; ++counter) {
    REQUIRE(share.Advance(counter, 0, Times(20, 10)) == 2);
  }
  CHECK(share.Advance(kMaxCounters, 0, Times(20, 10)) == 1);
  CHECK(share.Advance(0, 0, Times(50, 20)) == 3);
}

TEST_CASE("times that cannot be change nothing") {
  RunningShare share;
  CHECK(share.Advance(7, 0, Times(0, 0)) == 1);
  CHECK(share.Advance(7, 0, Times(5, 10)) == 1);
  CHECK(share.Advance(7, 0, Times(20, 10)) == 2);
  CHECK(share.Advance(7, 0, Times(15, 12)) == 1);
  CHECK(share.Advance(7, 0, Times(21, 14)) == 1);
  CHECK(share.Share() < 1);
}

}  // namespace
}  // namespace hbbp
