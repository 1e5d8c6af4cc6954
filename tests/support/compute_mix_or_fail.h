// Computes a mix, or fails the test.
#ifndef HBBP_TESTS_SUPPORT_COMPUTE_MIX_OR_FAIL_H_
#define HBBP_TESTS_SUPPORT_COMPUTE_MIX_OR_FAIL_H_

#include <utility>

#include "mix/mix.h"
#include "support/catch.h"

namespace hbbp {

inline Mix ComputeMixOrFail(const PivotSubject& subject, const MixKeys& keys) {
  StatusOr<Mix> mix = ComputeMix(subject, keys);
  INFO(mix.status().message());
  REQUIRE(mix.ok());
  return *std::move(mix);
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_COMPUTE_MIX_OR_FAIL_H_
