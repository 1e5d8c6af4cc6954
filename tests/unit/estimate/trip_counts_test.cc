#include "estimate/trip_counts.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

ReplicatedCount CountOf(double count) {
  ReplicatedCount result;
  result.count = count;
  for (float& sum : result.replicates.sums) sum = static_cast<float>(count / kReplicates);
  return result;
}

// Simulates a program that repeatedly iterates a loop `trips` times and then takes `around`
// branches elsewhere. Returns what bursts observe that begin before each of its branches, in
// proportion to the time before it.
LoopFlow WhatBurstsSee(int64_t trips, int64_t around, int64_t burst, double time_in,
                       double time_around) {
  const int64_t cycle = trips + around;
  // Counts, of branches [0, end), those that enter, iterate and leave.
  const auto whole_and_rest = [&](int64_t end) {
    const int64_t cycles = end / cycle;
    const int64_t rest = end % cycle;
    struct {
      int64_t entries, iterations, exits;
    } seen = {cycles + (rest > 0), cycles * trips + std::min(rest, trips), cycles + (rest > trips)};
    return seen;
  };
  double entries = 0, iterations = 0, exits = 0;
  for (int64_t first = 0; first < cycle; ++first) {
    const double time = first >= 1 && first <= trips ? time_in : time_around;
    const auto before = whole_and_rest(first);
    const auto after = whole_and_rest(first + burst);
    entries += time * static_cast<double>(after.entries - before.entries);
    iterations += time * static_cast<double>(after.iterations - before.iterations);
    exits += time * static_cast<double>(after.exits - before.exits);
  }
  LoopFlow flow;
  flow.entries = CountOf(entries);
  flow.iterations = CountOf(iterations);
  flow.exits = CountOf(exits);
  flow.iterations_by_burst = static_cast<double>(burst);
  return flow;
}

TEST_CASE("trip counts are right at any speed of the loop and of what is around it") {
  const int64_t trips = GENERATE(1, 3, 20, 90, 110, 150, 1000, 100'000);
  const int64_t around = GENERATE(1, 150, 5000);
  const double time_in = GENERATE(1, 20, 400);
  const double time_around = GENERATE(1, 20);
  CAPTURE(trips, around, time_in, time_around);
  const LoopFlow flow = WhatBurstsSee(trips, around, 100, time_in, time_around);
  const double expected = static_cast<double>(trips);
  // A burst that observes a loop left, and at once entered again, began in it.
  const double tolerance = around == 1 ? 0.1 : 0.02;
  CHECK(CountTrips(flow).trips.value == Approx(expected).epsilon(tolerance));
  if (trips >= 1000 && around == 5000 && time_in == 400 && time_around == 1) {
    CHECK(flow.iterations.count / flow.entries.count > 100 * expected);
  }
}

TEST_CASE("where bursts begin by executions, ways in and out are one") {
  LoopFlow flow = WhatBurstsSee(1000, 5000, 100, 1, 1);
  flow.iterations_by_burst = kForever;
  const TripCount count = CountTrips(flow);
  CHECK(count.trips.value == Approx(1000).epsilon(0.01));
  CHECK(count.trips.standard_error < 0.01);
  CHECK(count.divisor.count == Approx(flow.entries.count));
}

TEST_CASE("a correction is not exact, less so if a loop calls") {
  LoopFlow flow = WhatBurstsSee(1000, 5000, 100, 1, 20);
  const Ratio alone = CountTrips(flow).trips;
  flow.has_calls = true;
  const Ratio with_calls = CountTrips(flow).trips;
  CHECK(with_calls.value == alone.value);
  // The 19 missing exits stand for 50.5 iterations each.
  CHECK(alone.standard_error == Approx(0.1 * 19 * 50.5).epsilon(0.01));
  CHECK(with_calls.standard_error == Approx(0.5 * 19 * 50.5).epsilon(0.01));
}

TEST_CASE("a loop that no burst saw left, or entered") {
  LoopFlow flow;
  flow.iterations = CountOf(500);
  flow.iterations_by_burst = 100;
  CHECK(CountTrips(flow).trips.value == 0);
  flow.entries = CountOf(2);
  const Ratio entered = CountTrips(flow).trips;
  CHECK(entered.value == Approx(250));
  CHECK(entered.standard_error >= 250);
  flow.entries = {};
  flow.exits = CountOf(2);
  CHECK(CountTrips(flow).trips.value == Approx(250 + 50.5));
}

TEST_CASE("a loop that no burst saw iterate") {
  LoopFlow flow;
  flow.exits = CountOf(10);
  // The last is the quotient for infinitely long bursts and no iterations.
  for (const double by_burst : {0.0, 8.0, kForever, std::nan("")}) {
    CAPTURE(by_burst);
    flow.iterations_by_burst = by_burst;
    CHECK(CountTrips(flow).trips.value == 0);
    CHECK(CountTrips(flow).trips.standard_error == 0);
  }
}

TEST_CASE("what rounding leaves of ways in and out is none") {
  LoopFlow flow;
  flow.iterations = CountOf(40'000);
  flow.entries = CountOf(4e-9);
  flow.exits = CountOf(-3e-9);
  flow.iterations_by_burst = 255;
  CHECK(CountTrips(flow).trips.value == 0);
  flow.exits = CountOf(3e-9);
  CHECK(CountTrips(flow).trips.value == 0);
}

TEST_CASE("one burst does not show how sure it is") {
  LoopFlow flow;
  flow.iterations_by_burst = 100;
  const auto burst = [](float count) {
    ReplicatedCount in_one;
    in_one.count = count;
    in_one.replicates.sums[3] = count;
    return in_one;
  };
  flow.iterations = burst(60);
  flow.entries = flow.exits = burst(5);
  const Ratio trips = CountTrips(flow).trips;
  CHECK(trips.value == Approx(12));
  CHECK(trips.standard_error == Approx(12));
}

}  // namespace
}  // namespace hbbp
