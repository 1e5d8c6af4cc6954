// Compares reported errors with the scatter of many runs of one program.
#ifndef HBBP_TESTS_UNIT_MIX_MANY_RUNS_H_
#define HBBP_TESTS_UNIT_MIX_MANY_RUNS_H_

#include <cmath>
#include <cstdint>

#include "base/random_bits.h"

namespace hbbp {

// The values of many runs, with their reported errors.
class Repetition {
 public:
  void Add(double value, double error) {
    ++number_;
    sum_ += value;
    squares_ += value * value;
    variances_ += error * error;
  }
  double Scatter() const {
    const double mean = sum_ / number_;
    return std::sqrt(squares_ / number_ - mean * mean);
  }
  double ReportedError() const { return std::sqrt(variances_ / number_); }

 private:
  double number_ = 0, sum_ = 0, squares_ = 0, variances_ = 0;
};

inline uint32_t Poisson(double mean, RandomBits* random) {
  const double limit = std::exp(-mean);
  uint32_t count = 0;
  for (double product = random->NextFraction(); product > limit; ++count) {
    product *= random->NextFraction();
  }
  return count;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_MIX_MANY_RUNS_H_
