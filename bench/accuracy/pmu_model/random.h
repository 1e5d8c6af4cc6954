// Generates numbers that are the same in every run (splitmix64).
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_RANDOM_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_RANDOM_H_

#include <cmath>
#include <cstdint>

namespace hbbp::simulation {

constexpr uint64_t Mix(uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

// Returns a number in [0, 1).
constexpr double Fraction(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

class Random {
 public:
  explicit Random(uint64_t seed) : state_(Mix(seed)) {}

  uint64_t Bits() { return Mix(state_++); }
  bool Chance(double chance) { return chance > 0 && Fraction(Bits()) < chance; }
  double Exponential(double mean) { return -mean * std::log1p(-Fraction(Bits())); }

 private:
  uint64_t state_;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_RANDOM_H_
