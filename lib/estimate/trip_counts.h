// The average trip count of a loop, from what bursts of branches saw of it.
//
// Bursts of a clock begin in proportion to time. Of a loop that is entered and left N times and
// goes round T times, they see, where B iterations are as long as a burst, t_o and t_i are the time
// between branches around the loop and in it, and S begin in the loop:
//
//   entries E = N B t_o    seen by bursts that begin before the loop
//   exits   X = N B t_i    seen by bursts that begin in it, near its end
//   S = N T t_i
//
// as long as T >= B. E and X differ by as much as the speeds do, and iterations by entries would be
// wrong by that. But each burst in the loop sees B iterations, less (B + 1) / 2 on average if it
// sees it left, and one that sees it entered (B + 1) / 2 of them:
//
//   iterations I = S B + (E - X) (B + 1) / 2,   T = S B / X = (I + (X - E) (B + 1) / 2) / X
//
// If T < B, each burst that begins in the loop sees it left, each that ends in it entered, and both
// (T - 1) / 2 and (T + 1) / 2 iterations of it, the others whole visits. This is the same with T in
// place of B, whence
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
  // As long as a burst; infinite if bursts begin by executions, or nobody knows.
  double iterations_by_burst = 0;
  // Some of the branches of a burst are not in the loop, but called from it: the former is too
  // large by an unknown factor.
  bool has_calls = false;
};

struct TripCount {
  Ratio trips;              // 0: not known
  ReplicatedCount divisor;  // what it rests on: entries, exits, or both
};

TripCount CountTrips(const LoopFlow& flow);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_TRIP_COUNTS_H_
