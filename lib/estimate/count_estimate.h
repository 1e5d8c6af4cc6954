// CountEstimate is an estimated number of executions with its standard error.
#ifndef HBBP_LIB_ESTIMATE_COUNT_ESTIMATE_H_
#define HBBP_LIB_ESTIMATE_COUNT_ESTIMATE_H_

namespace hbbp {

struct CountEstimate {
  double count = 0;
  double standard_error = 0;  // one sigma
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_COUNT_ESTIMATE_H_
