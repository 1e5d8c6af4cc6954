#include "events/period.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace hbbp {
namespace {

// `a` is less than the modulus, so that the quotient fits.
uint64_t MultiplyModulo(uint64_t a, uint64_t b, uint64_t modulus) {
  uint64_t low, high, rest;
  asm("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
  asm("divq %3" : "+a"(low), "=d"(rest) : "1"(high), "r"(modulus) : "cc");
  return rest;
}

uint64_t PowerModulo(uint64_t base, uint64_t exponent, uint64_t modulus) {
  uint64_t power = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) power = MultiplyModulo(power, base, modulus);
    base = MultiplyModulo(base, base, modulus);
  }
  return power;
}

// This is the Miller-Rabin test. With the first twelve primes as bases it is exact for all of 64
// bits (Sorenson and Webster, "Strong pseudoprimes to twelve prime bases"). Trial division would
// take seconds for the largest periods.
bool IsPrime(uint64_t n) {
  constexpr uint64_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  for (uint64_t base : kBases) {
    if (n % base == 0) return n == base;
  }
  if (n < 2) return false;
  const int halvings = std::countr_zero(n - 1);
  for (uint64_t base : kBases) {
    uint64_t power = PowerModulo(base, (n - 1) >> halvings, n);
    bool passes = power == 1 || power == n - 1;
    for (int i = 1; i < halvings && !passes; ++i) {
      power = MultiplyModulo(power, power, n);
      passes = power == n - 1;
    }
    if (!passes) return false;
  }
  return true;
}

}  // namespace

uint64_t LargestPrimeUpTo(uint64_t n) {
  if (n < 2) return 2;
  while (!IsPrime(n)) --n;
  return n;
}

uint64_t PeriodOutOfStep(uint64_t period, uint64_t other) {
  const uint64_t shorter = std::min(period, other);
  if (shorter == 0) return period;
  const uint64_t longer = std::max(period, other);
  const uint64_t multiple = (longer + shorter / 2) / shorter;
  const uint64_t nearest = multiple * shorter;
  const uint64_t drift = longer > nearest ? longer - nearest : nearest - longer;
  if (drift >= shorter / 128) return period;
  // `longer`, or the multiple of `shorter`, grows by so much.
  const uint64_t step = shorter / 64;
  return LargestPrimeUpTo(period + (period >= other ? step : step / multiple));
}

PeriodDraw PeriodDraw::SeededByTime() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return PeriodDraw(static_cast<uint64_t>(now.tv_nsec) << 20 ^ static_cast<uint64_t>(::getpid()));
}

uint64_t PeriodDraw::Next(uint64_t period) {
  const uint64_t reach = period / 8;
  return Between(period - reach, period + reach);
}

uint64_t PeriodDraw::Between(uint64_t first, uint64_t last) {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  const uint64_t random = state_ * 0x2545F4914F6CDD1Dull;
  return first + random % (last - first + 1);
}

}  // namespace hbbp
