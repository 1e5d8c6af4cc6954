#include "estimate/count_interval.h"

#include <algorithm>
#include <cmath>

namespace hbbp {
namespace {

// How much further the largest burst reaches than the mean one.
constexpr double kWeightOfNext = 3;

// One end of an interval: the probability below it, and where that is in a normal distribution.
struct End {
  double probability;
  double normal;
};
constexpr End kLow = {0.025, -1.959963984540054};
constexpr End kHigh = {0.975, 1.959963984540054};

// Of Newton's method.
constexpr int kMaxSteps = 100;
constexpr double kSmallStep = 1e-10;

// The regularized lower incomplete gamma function P(a, x), and its derivative by x.
struct Gamma {
  double probability;
  double density;
};

// Sums up the series of the function, of which x + 30 terms or so count.
Gamma GammaAt(double a, double x) {
  const double density = std::exp((a - 1) * std::log(x) - x - std::lgamma(a));
  double term = 1 / a;
  double sum = term;
  for (double k = a + 1; term > 1e-17 * sum; ++k) sum += term *= x / k;
  return {std::min(density * x * sum, 1.0), density};
}

// Returns the x at which P(a, x) is the probability of this end: half of where the chi-squared
// distribution with 2 a degrees of freedom has it.
double GammaQuantile(const End& end, double a) {
  // The cube root is nearly normal (Wilson and Hilferty, 1931), for many to 1e-4 of the value.
  constexpr double kMany = 100;
  const double variance = 1 / (9 * a);
  const double root = 1 - variance + end.normal * std::sqrt(variance);
  const double first = a * root * root * root;
  if (a > kMany) return first;
  // Newton's method, in the logarithm of x, begins there or, near 0, where P is a power.
  constexpr double kNearZero = 0.1;
  double x =
      root > kNearZero ? first : std::exp((std::log(end.probability) + std::lgamma(a + 1)) / a);
  for (int i = 0; i < kMaxSteps; ++i) {
    const Gamma gamma = GammaAt(a, x);
    const double step = (end.probability - gamma.probability) / (gamma.density * x);
    x *= std::exp(std::clamp(step, -1.0, 1.0));
    if (std::abs(step) < kSmallStep) break;
  }
  return x;
}

// Returns the x at which P(a, x) is that of the lower end of what is above P(1, x), the probability
// of an event or more; 0 if a <= 1.
double LowerQuantileOfSeen(double a) {
  // Of many, none is never seen.
  constexpr double kMany = 30;
  if (a <= 1) return 0;
  double x = GammaQuantile(kLow, a);
  for (int i = 0; i < kMaxSteps && a < kMany && x > 0; ++i) {
    const Gamma gamma = GammaAt(a, x);
    const double excess = std::log(gamma.probability / (kLow.probability * -std::expm1(-x)));
    const double slope = x * (gamma.density / gamma.probability - 1 / std::expm1(x));
    x *= std::exp(-excess / slope);
    if (std::abs(excess) < kSmallStep) break;
  }
  return x;
}

}  // namespace

CountInterval IntervalOf(const CountEstimate& estimate) {
  const double count = estimate.count;
  const double variance = estimate.standard_error * estimate.standard_error;
  if (!(count > 0) || !(variance > 0)) return {count, count};
  const double next = kWeightOfNext * variance / count;
  const double more = count + next;
  const double more_variance = variance + next * next;
  return {variance / count * LowerQuantileOfSeen(count * count / variance),
          more_variance / more * GammaQuantile(kHigh, more * more / more_variance)};
}

}  // namespace hbbp
