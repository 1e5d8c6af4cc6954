#include "estimate/branch_bias.h"

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("a branch that is the oldest far more often than by chance is suspect") {
  CHECK(ChanceOf({200, 100}) == Approx(1.7e-17).epsilon(0.05));
  CHECK(IsSuspect({200, 100}));
  CHECK(IsSuspect({30, 1}));
}

TEST_CASE("rare branches are not suspect, however they fell") {
  CHECK(ChanceOf({20, 10}) == Approx(0.021).epsilon(0.02));
  CHECK_FALSE(IsSuspect({20, 10}));
  CHECK(ChanceOf({2, 0.06}) == Approx(0.0062).epsilon(0.02));
  CHECK_FALSE(IsSuspect({2, 0.06}));
  CHECK_FALSE(IsSuspect({0, 0}));
}

TEST_CASE("nor are branches that are the oldest somewhat more often, however sure that is") {
  CHECK(ChanceOf({150'000, 100'000}) == 0);
  CHECK_FALSE(IsSuspect({150'000, 100'000}));
  CHECK(IsSuspect({150'000, 100'000}, {1.5, 1e-6}));
  CHECK_FALSE(IsSuspect({50, 100}));
  CHECK(ChanceOf({50, 100}) == 1);
}

TEST_CASE("thresholds are as strict as one likes") {
  CHECK(IsSuspect({20, 10}, {2, 0.05}));
  CHECK_FALSE(IsSuspect({200, 100}, {2.5, 1e-6}));
}

}  // namespace
}  // namespace hbbp
