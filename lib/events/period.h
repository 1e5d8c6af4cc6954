// Sampling periods that do not resonate with the program.
//
// A loop whose length divides the period is sampled at one instruction only. A prime period has
// no common divisor with it; a random one has no fixed relation at all (Nowak et al., "Establishing
// a Base of Trust with Performance Counters for Enterprise Workloads", 4.1).
#ifndef HBBP_LIB_EVENTS_PERIOD_H_
#define HBBP_LIB_EVENTS_PERIOD_H_

#include <cstdint>

namespace hbbp {

// Returns the largest prime <= n, or 2 for n < 2.
uint64_t LargestPrimeUpTo(uint64_t n);

// Returns `period`, or a prime up to 1/64 longer, so that where two samplers of one event are in a
// thread, one with this period and one with `other`, their samples do not keep a distance: each
// time it changes by at least 1/128 of the shorter period.
uint64_t PeriodOutOfStep(uint64_t period, uint64_t other);

// A small generator for period draws; not for secrets (xorshift64*).
class PeriodDraw {
 public:
  explicit PeriodDraw(uint64_t seed) : state_(seed | 1) {}
  // Draws otherwise in each run.
  static PeriodDraw SeededByTime();

  // Draws uniformly from [period - period / 8, period + period / 8], so that the mean stays the
  // period.
  uint64_t Next(uint64_t period);

  // Draws uniformly from [first, last].
  uint64_t Between(uint64_t first, uint64_t last);

 private:
  uint64_t state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_PERIOD_H_
