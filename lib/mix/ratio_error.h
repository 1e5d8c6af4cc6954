// Computes the error of a ratio r = x / y of correlated sums.
#ifndef HBBP_LIB_MIX_RATIO_ERROR_H_
#define HBBP_LIB_MIX_RATIO_ERROR_H_

namespace hbbp {

// Returns the variance of x - r y from those of x and y and their covariance. A result that may be
// rounding is 0: a part that is all of the whole, or always the same share of it, is certain.
inline double VarianceOfDifference(double of_x, double covariance, double of_y, double r) {
  constexpr double kRounding = 1e-12;
  const double sum = of_x + r * r * of_y;
  const double variance = sum - 2 * r * covariance;
  return variance > kRounding * sum ? variance : 0;
}

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_RATIO_ERROR_H_
