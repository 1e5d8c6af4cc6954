#include "base/work.h"

#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("work tells its progress and ends when its flag is set") {
  CancelFlag flag;
  std::vector<std::pair<uint64_t, uint64_t>> told;
  const Work work = {[&](uint64_t done, uint64_t all) { told.emplace_back(done, all); }, &flag};
  CHECK(work.Tell(1, 2).ok());
  flag.Set(true);
  CHECK(work.Tell(2, 2).code() == StatusCode::kCancelled);
  flag.Set(false);
  CHECK(work.Tell(2, 2).ok());
  CHECK(told == std::vector<std::pair<uint64_t, uint64_t>>{{1, 2}, {2, 2}, {2, 2}});
  CHECK(Work().Tell(0, 0).ok());
}

TEST_CASE("a meter tells of many steps now and then, and of no more once the work is to end") {
  CancelFlag flag;
  int told = 0;
  uint64_t last = 0;
  const Work work = {[&](uint64_t done, uint64_t all) {
                       ++told;
                       CHECK(done >= last);
                       CHECK(done <= all);
                       last = done;
                       if (done > 50'000) flag.Set(true);
                     },
                     &flag};
  WorkMeter meter(work, 100'000);
  int steps = 0;
  while (meter.Advance()) ++steps;
  CHECK(steps > 50'000);
  CHECK(steps < 51'000);
  CHECK(told > 10);
  CHECK(told < 1000);
  const int told_before = told;
  CHECK_FALSE(meter.Advance(100'000));
  CHECK(told == told_before);
  CHECK(meter.status().code() == StatusCode::kCancelled);
}

}  // namespace
}  // namespace hbbp
