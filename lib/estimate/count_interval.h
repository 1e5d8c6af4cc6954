// The interval that has the true count with a probability of 95 %.
//
// Counts of few bursts are skewed: two standard errors to both sides reach below 0, and not high
// enough: of blocks that one burst had seen, the true counts were between 0.02 and 18 times the
// estimate (cc1, 95 % of them). For weighted sums y of Poisson counts with the variance v, Fay and
// Feuer, "Confidence intervals for directly standardized rates: a method based on the gamma
// distribution" (Statistics in Medicine 16, 1997), have
//
//   low    v / y * x with P(y^2 / v, x) = 2.5 %
//   high   (v + w^2) / (y + w) * x with P((y + w)^2 / (v + w^2), x) = 97.5 %
//
// where P(a, x) is the regularized lower incomplete gamma function, which of an integer a is the
// probability of a events or more where x are expected, and w the weight of the one event that
// might have been seen in addition. Two things are different here.
//
// If all weigh the same, w = v / y, and the ends are the exact ones of Poisson (Garwood, 1936).
// Bursts do not: a block that was crossed once by one of them is crossed fifty times by another.
// w is taken as 3 v / y, three times the mean weight of what was seen.
//
// Blocks that no burst saw are not in a profile, and of the many that hardly ever run some are
// seen. So the low end is that of those that are seen: P(y^2 / v, x) = 2.5 % of 1 - exp(-x). It is
// 0 for one burst.
//
// docs/internals/method.md says how often intervals have the true count.
//
//   y = 100, v = 100^2 (one burst)         0 to 1,215
//   y = 100, v = 10^2 (a hundred)          81.4 to 124.4
#ifndef HBBP_LIB_ESTIMATE_COUNT_INTERVAL_H_
#define HBBP_LIB_ESTIMATE_COUNT_INTERVAL_H_

#include "estimate/count_estimate.h"

namespace hbbp {

struct CountInterval {
  double low = 0;
  double high = 0;

  bool Contains(double count) const { return low <= count && count <= high; }
};

// Without an error, the interval is the count itself.
CountInterval IntervalOf(const CountEstimate& estimate);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_COUNT_INTERVAL_H_
