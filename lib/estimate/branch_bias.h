// Detects bias of hardware branch stacks.
//
// If stacks are sampled at random, a branch is equally often in each of the N entries of a stack,
// and so 1/N of the times in the oldest. Hardware is known to leave some branches there far more
// often; the streams of their blocks are then unreliable (the bias flag of Nowak et al., "Hybrid
// Basic Block Profiling").
//
// A branch that was o times in the oldest entry, where e = sum of 1/N were expected, is suspect if
//
//   o >= ratio * e                     by default 2: far more often, and
//   P(Poisson(e) >= o) <= chance       by default 1e-6: not by chance,
//
// the second by its Chernoff bound exp(o - e) (e / o)^o. The number of times varies less than
// Poisson, since a stack has one oldest entry.
//
//   e = 10, o = 20: the bound is 0.021, no flag. e = 100, o = 200: 1.7e-17, a flag.
//   e = 0.06, o = 2 (a branch of two stacks): 0.0062, no flag.
#ifndef HBBP_LIB_ESTIMATE_BRANCH_BIAS_H_
#define HBBP_LIB_ESTIMATE_BRANCH_BIAS_H_

#include <cstdint>

namespace hbbp {

struct BranchBias {
  uint64_t oldest = 0;
  double expected = 0;

  void Add(const BranchBias& more) {
    oldest += more.oldest;
    expected += more.expected;
  }
};

struct BiasRule {
  double ratio = 2;
  double chance = 1e-6;
};

// Returns an upper bound of the probability of so many or more without bias; 1 if there are not
// more than expected.
double ChanceOf(const BranchBias& bias);

bool IsSuspect(const BranchBias& bias, const BiasRule& rule = {});

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_BRANCH_BIAS_H_
