// RandomBits generates the same random numbers on every machine (splitmix64).
#ifndef HBBP_LIB_BASE_RANDOM_BITS_H_
#define HBBP_LIB_BASE_RANDOM_BITS_H_

#include <cstdint>

namespace hbbp {

class RandomBits {
 public:
  // Seeds that differ by this step give the same sequence, shifted by one.
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ull;

  explicit RandomBits(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += kStep;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
  }

  // The result is in [0, 1).
  double NextFraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_RANDOM_BITS_H_
