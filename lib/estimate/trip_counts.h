// Estimates the average trip count of a loop from bursts of branches.
//
// Bursts of a clock begin in proportion to time. Let a loop be entered and left N times and iterate
// T times for each, let B iterations be as long as a burst, let t_o and t_i be the time between
// branches around the loop and in it, and let S bursts begin in the loop. Then they observe
//
//   entries E = N B t_o    by bursts that begin before the loop
//   exits   X = N B t_i    by bursts that begin in it, near its end
//   S = N T t_i
//
// as long as T >= B. E and X differ by as much as the speeds do, and iterations by entries would be
// wrong by that factor. But each burst in the loop observes B iterations, minus (B + 1) / 2 on
// average if it observes the exit, and one that observes the entry (B + 1) / 2 of them:
//
//   iterations I = S B + (E - X) (B + 1) / 2,   T = S B / X = (I + (X - E) (B + 1) / 2) / X
//
// If T < B, each burst that begins in the loop observes the exit, each that ends in it the entry,
// and both (T - 1) / 2 and (T + 1) / 2 of its iterations, the others whole visits. This is the same
// with T instead of B, so
//
//   T = (2 I + X - E) / (X + E)
//
// Where bursts begin by executions, E and X differ by chance, and this holds for all T.
//
//   Bursts of 100 iterations, T = 1000, twice as slow within as around: E = 100, X = 200,
//   S = 2000: I = 2000 * 100 - 100 * 50.5 = 194950; T = (194950 + 5050) / 200 = 1000, while
//   I / E = 1950.
#ifndef HBBP_LIB_ESTIMATE_TRIP_COUNTS_H_
#define HBBP_LIB_ESTIMATE_TRIP_COUNTS_H_

#include "estimate/edge_counts.h"

namespace hbbp {

struct LoopFlow {
  ReplicatedCount iterations;
  ReplicatedCount entries;
  ReplicatedCount exits;
  // The number of iterations that are as long as a burst; infinite if bursts begin by executions,
  // or if it is unknown.
  double iterations_by_burst = 0;
  // Some of the branches of a burst are not in the loop, but called from it, so iterations_by_burst
  // is too large by an unknown factor.
  bool has_calls = false;
};

struct TripCount {
  Ratio trips;              // 0: unknown
  ReplicatedCount divisor;  // the count that it was divided by: entries, exits, or both
};

TripCount CountTrips(const LoopFlow& flow);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_TRIP_COUNTS_H_
