#include "estimate/ebs_replicates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/random_bits.h"

namespace hbbp {
namespace {

// From here on the normal distribution is a good approximation.
constexpr uint64_t kManySamples = 4096;

uint64_t CountOfRandomBits(uint64_t bits, RandomBits* random) {
  uint64_t count = 0;
  for (; bits >= 64; bits -= 64) count += static_cast<uint64_t>(std::popcount(random->Next()));
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  return count + static_cast<uint64_t>(std::popcount(random->Next() & mask));
}

// Returns a sample of Binomial(n, 1/2). For many, the deviation is that of kManySamples bits,
// stretched.
uint64_t RandomHalf(uint64_t n, RandomBits* random) {
  if (n <= kManySamples) return CountOfRandomBits(n, random);
  const double deviation =
      static_cast<double>(CountOfRandomBits(kManySamples, random)) - kManySamples / 2.0;
  const double stretched = deviation * std::sqrt(static_cast<double>(n) / kManySamples);
  return n / 2 + static_cast<uint64_t>(static_cast<int64_t>(stretched));
}

void Assign(uint64_t samples, std::span<uint64_t> assigned, RandomBits* random) {
  if (samples == 0) return;
  if (assigned.size() == 1) {
    assigned[0] = samples;
    return;
  }
  const uint64_t first = RandomHalf(samples, random);
  const size_t half = assigned.size() / 2;
  Assign(first, assigned.first(half), random);
  Assign(samples - first, assigned.subspan(half), random);
}

}  // namespace

ReplicateSums AssignReplicates(uint64_t samples, double period_sum, double period_squares,
                               uint64_t seed) {
  static_assert(std::has_single_bit(kReplicates));
  ReplicateSums sums;
  if (samples == 0 || !(period_sum > 0)) return sums;
  std::array<uint64_t, kReplicates> assigned{};
  RandomBits random(seed);
  Assign(samples, assigned, &random);
  const double n = static_cast<double>(samples);
  const double stretch = std::sqrt(std::max(period_squares, 0.0) * n) / period_sum;
  const double mean = period_sum / kReplicates;
  for (size_t i = 0; i < kReplicates; ++i) {
    const double sum = period_sum / n * static_cast<double>(assigned[i]);
    sums.sums[i] = static_cast<float>(mean + (sum - mean) * stretch);
  }
  return sums;
}

}  // namespace hbbp
