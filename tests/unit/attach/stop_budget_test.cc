#include "attach/stop_budget.h"

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr int kScans = 100;

StopBudget After(uint64_t cost_ns, uint64_t used_ns, uint64_t elapsed_ns) {
  StopBudget budget;
  for (int i = 0; i < kScans; ++i) budget.AddScan(cost_ns, used_ns, elapsed_ns);
  return budget;
}

TEST_CASE("a busy thread stands still for half a percent of its time") {
  CHECK(StopBudget().PeriodNs() == StopBudget::kMinPeriodNs);
  CHECK(After(200'000, 40 * kMs, 40 * kMs).PeriodNs() == 40 * kMs);
  CHECK(After(50'000, 20 * kMs, 20 * kMs).PeriodNs() == StopBudget::kMinPeriodNs);
  CHECK(After(5 * kMs, 20 * kMs, 20 * kMs).PeriodNs() == StopBudget::kMaxPeriodNs);
}

TEST_CASE("a process that uses a part of the CPU time is scanned so much less often") {
  // Each scan meets it and costs 100 us, which are half a percent of 20 ms: a quarter of 80 ms.
  CHECK(After(100'000, 10 * kMs, 40 * kMs).PeriodNs() == 80 * kMs);
  // Four threads on two CPUs, all of which are stopped.
  CHECK(After(400'000, 80 * kMs, 40 * kMs).PeriodNs() == 40 * kMs);
}

TEST_CASE("a process that does nothing is scanned ten times a second") {
  CHECK(After(10'000, 0, 100 * kMs).PeriodNs() == StopBudget::kIdlePeriodNs);
}

TEST_CASE("the period follows what the process does") {
  StopBudget budget = After(10'000, 0, 100 * kMs);
  for (int i = 0; i < kScans; ++i) budget.AddScan(200'000, 40 * kMs, 40 * kMs);
  CHECK(budget.PeriodNs() / kMs == 40);
  for (int i = 0; i < kScans; ++i) budget.AddScan(10'000, 0, 100 * kMs);
  CHECK(budget.PeriodNs() == StopBudget::kIdlePeriodNs);
}

}  // namespace
}  // namespace hbbp
