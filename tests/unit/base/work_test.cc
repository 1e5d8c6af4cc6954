#include "base/work.h"

#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("work reports its progress and ends when its flag is set") {
  CancelFlag flag;
  std::vector<std::pair<uint64_t, uint64_t>> reports;
  const Work work = {[&](uint64_t done, uint64_t all) { reports.emplace_back(done, all); }, &flag};
  CHECK(work.Report(1, 2).ok());
  flag.Set(true);
  CHECK(work.Report(2, 2).code() == StatusCode::kCancelled);
  flag.Set(false);
  CHECK(work.Report(2, 2).ok());
  CHECK(reports == std::vector<std::pair<uint64_t, uint64_t>>{{1, 2}, {2, 2}, {2, 2}});
  CHECK(Work().Report(0, 0).ok());
}

TEST_CASE("a meter reports a few of many steps, and none after a cancellation") {
  CancelFlag flag;
  int reports = 0;
  uint64_t last = 0;
  const Work work = {[&](uint64_t done, uint64_t all) {
                       ++reports;
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
  CHECK(reports > 10);
  CHECK(reports < 1000);
  const int reports_before = reports;
  CHECK_FALSE(meter.Advance(100'000));
  CHECK(reports == reports_before);
  CHECK(meter.status().code() == StatusCode::kCancelled);
}

}  // namespace
}  // namespace hbbp
