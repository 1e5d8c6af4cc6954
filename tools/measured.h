// Measured is an estimated number with its standard error, and Interval the range that has the true
// number with a probability of 95 %.
//
// A share is a part of a whole, both of which are uncertain together. Pivots have the variances of
// sums and not their covariances, but variances of three sums give the covariance of two: with the
// part x, the rest z of what is covered, and y = x + z,
//
//   covariance of x and y = (variance of x + variance of y - variance of z) / 2
//
// and the delta method gives the variance of r = x / w, w being the whole:
//
//   (variance of x - 2 r covariance of x and y + r^2 variance of w) / w^2
//
// The whole is what is covered and code that is missing, whose error is independent.
//
//   A block that ran 100 +- 10 times has 3 loads among 6 instructions, another that ran 50 +- 5
//   times has none among 4: x = 300 +- 30, z = 500 +- sqrt(30^2 + 20^2), w = y = 800 +-
//   sqrt(60^2 + 20^2), and the share of loads is 0.375 +- 0.0133.
#ifndef HBBP_TOOLS_MEASURED_H_
#define HBBP_TOOLS_MEASURED_H_

#include <cstdint>

namespace hbbp::tools {

struct Measured {
  double value = 0;
  double standard_error = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

// `part` and `rest` together are `covered`, which is all of `whole` whose code could be read. The
// whole must not be 0.
Measured ComputeShare(const Measured& part, const Measured& rest, const Measured& covered,
                      const Measured& whole);

// Returns the change from `before` to `after` as a part of `whole`, which is a sum that `before`
// belongs to and which is not 0. How the errors of these two go together is not known: the error of
// the change is the largest possible.
Measured ChangeOfWhole(const Measured& before, const Measured& after, const Measured& whole);

// Returns 1.96 standard errors to both sides.
Interval NormalInterval(const Measured& measured);

// Returns the same of a number without its sign.
Interval MagnitudeInterval(const Measured& measured);

// Returns Wilson's interval ("Probable inference, the law of succession, and statistical
// inference", 1927), for as many observations as the standard error of the share stands for. It
// stays between 0 and 1. Without an error, both ends are the share.
Interval ShareInterval(const Measured& share);

// Returns the share that may be there although none of so many independent observations saw it: it
// would not be seen with a probability of 2.5 %.
double MaxUnseenShare(uint64_t observations);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_MEASURED_H_
