// Sums the errors of blocks.
#ifndef HBBP_TOOLS_EXPORT_ERROR_SUM_H_
#define HBBP_TOOLS_EXPORT_ERROR_SUM_H_

#include <hbbp/samples.h>

#include <cmath>

namespace hbbp::tools {

// Samples fall into blocks independently of each other, so their errors add in squares. The streams
// of a burst are correlated: the sum of their errors is the maximum of the error.
class ErrorSum {
 public:
  void Add(hbbp_source_kind source, double error) {
    if (source == HBBP_SOURCE_EBS) {
      variance_ += error * error;
    } else {
      bound_ += error;
    }
  }
  double Value() const { return std::sqrt(variance_) + bound_; }

 private:
  double variance_ = 0;
  double bound_ = 0;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_ERROR_SUM_H_
