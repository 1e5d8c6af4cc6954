#include "measured.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hbbp::tools {
namespace {

constexpr double kNormal = 1.959963984540054;

double Variance(const Measured& measured) {
  return measured.standard_error * measured.standard_error;
}

}  // namespace

Measured ComputeShare(const Measured& part, const Measured& rest, const Measured& covered,
                      const Measured& whole) {
  // The library computes variances of streams in single precision.
  constexpr double kRounding = 1e-7;
  const double share = part.value / whole.value;
  if (!std::isfinite(part.standard_error) || !std::isfinite(whole.standard_error)) {
    return {share, std::numeric_limits<double>::infinity()};
  }
  const double covariance = (Variance(part) + Variance(covered) - Variance(rest)) / 2;
  const double sum = Variance(part) + share * share * Variance(whole);
  const double variance = sum - 2 * share * covariance;
  return {share, variance > kRounding * sum ? std::sqrt(variance) / whole.value : 0};
}

Measured ChangeOfWhole(const Measured& before, const Measured& after, const Measured& whole) {
  const double change = (after.value - before.value) / whole.value;
  const double of_before = before.standard_error + std::abs(change) * whole.standard_error;
  return {change, std::hypot(after.standard_error, of_before) / whole.value};
}

Interval NormalInterval(const Measured& measured) {
  const double reach = kNormal * measured.standard_error;
  return {measured.value - reach, measured.value + reach};
}

Interval MagnitudeInterval(const Measured& measured) {
  const Interval interval = NormalInterval({std::abs(measured.value), measured.standard_error});
  return {std::max(interval.low, 0.0), interval.high};
}

Interval ShareInterval(const Measured& share) {
  const auto [value, error] = share;
  if (error == 0) return {value, value};
  const double variance = value * (1 - value);
  if (!std::isfinite(error) || variance <= 0) return {0, 1};
  // The square of kNormal divided by the number of observations.
  const double inverse = kNormal * kNormal * error * error / variance;
  const double middle = (value + inverse / 2) / (1 + inverse);
  const double reach = std::sqrt(inverse * variance + inverse * inverse / 4) / (1 + inverse);
  return {std::max(middle - reach, 0.0), std::min(middle + reach, 1.0)};
}

double MaxUnseenShare(uint64_t observations) {
  if (observations == 0) return 1;
  return -std::expm1(std::log(0.025) / static_cast<double>(observations));
}

}  // namespace hbbp::tools
