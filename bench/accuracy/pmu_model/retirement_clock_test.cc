#include "pmu_model/retirement_clock.h"

#include <vector>

#include "support/catch.h"

namespace hbbp::simulation {
namespace {

constexpr InstructionClass kSimple = InstructionClass::kSimple;
constexpr InstructionClass kDivide = InstructionClass::kDivide;

ClockParameters Narrow() {
  ClockParameters parameters;
  parameters.issue_width = 4;
  parameters.retire_width = 4;
  return parameters;
}

std::vector<uint64_t> Cycles(RetirementClock* clock, const std::vector<InstructionClass>& kinds) {
  std::vector<uint64_t> cycles;
  for (const InstructionClass kind : kinds) cycles.push_back(clock->Retire(kind));
  return cycles;
}

TEST_CASE("what stands behind a division retires in bursts") {
  RetirementClock clock(Narrow(), 1);
  const std::vector<InstructionClass> kinds = {kSimple, kDivide, kSimple, kSimple,
                                               kSimple, kSimple, kSimple, kSimple};
  CHECK(Cycles(&clock, kinds) == std::vector<uint64_t>{1, 18, 18, 18, 18, 19, 19, 19});
}

TEST_CASE("divisions follow each other, simple instructions overlap") {
  RetirementClock clock(Narrow(), 1);
  CHECK(Cycles(&clock, {kDivide, kDivide, kDivide}) == std::vector<uint64_t>{18, 36, 54});
  RetirementClock other(Narrow(), 1);
  const std::vector<InstructionClass> simple(12, kSimple);
  CHECK(Cycles(&other, simple) == std::vector<uint64_t>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
}

TEST_CASE("a full window waits for the oldest instruction") {
  ClockParameters parameters = Narrow();
  parameters.window = 2;
  RetirementClock clock(parameters, 1);
  // The third one starts when the division, in 18, has retired.
  CHECK(Cycles(&clock, {kDivide, kSimple, kSimple}) == std::vector<uint64_t>{18, 18, 19});
}

TEST_CASE("after a wrong prediction code starts late") {
  ClockParameters parameters = Narrow();
  parameters.misprediction_cycles = 15;
  RetirementClock clock(parameters, 1);
  CHECK(clock.Retire(kSimple) == 1);
  clock.Mispredicted();
  CHECK(clock.Retire(kSimple) == 17);  // starts in 1 + 15
}

TEST_CASE("loads miss as often as they shall") {
  ClockParameters parameters;
  parameters.window = 1;
  parameters.load_miss_chance = 0.25;
  RetirementClock clock(parameters, 1);
  int misses = 0;
  uint64_t before = 0;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t cycle = clock.Retire(InstructionClass::kLoad);
    if (cycle - before > 10) ++misses;
    before = cycle;
  }
  CHECK(misses == Approx(2500).epsilon(0.1));
}

TEST_CASE("widths of 0 are taken as 1") {
  ClockParameters parameters;
  parameters.issue_width = parameters.retire_width = parameters.window = 0;
  RetirementClock clock(parameters, 1);
  CHECK(Cycles(&clock, {kSimple, kSimple, kSimple}) == std::vector<uint64_t>{1, 2, 3});
}

}  // namespace
}  // namespace hbbp::simulation
