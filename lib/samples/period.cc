#include "samples/period.h"

namespace hbbp {
namespace {

bool IsPrime(uint64_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0 || n % 3 == 0) return false;
  for (uint64_t divisor = 5; divisor <= n / divisor; divisor += 6) {
    if (n % divisor == 0 || n % (divisor + 2) == 0) return false;
  }
  return true;
}

}  // namespace

uint64_t LargestPrimeUpTo(uint64_t n) {
  if (n < 2) return 2;
  while (!IsPrime(n)) --n;
  return n;
}

uint64_t PeriodDraw::Next(uint64_t period) {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  const uint64_t random = state_ * 0x2545F4914F6CDD1Dull;
  const uint64_t reach = period / 8;
  return period - reach + random % (2 * reach + 1);
}

}  // namespace hbbp
