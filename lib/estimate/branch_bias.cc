#include "estimate/branch_bias.h"

#include <cmath>

namespace hbbp {

double ChanceOf(const BranchBias& bias) {
  const auto oldest = static_cast<double>(bias.oldest);
  if (oldest <= bias.expected) return 1;
  if (bias.expected <= 0) return 0;
  return std::exp(oldest - bias.expected + oldest * std::log(bias.expected / oldest));
}

bool IsSuspect(const BranchBias& bias, const BiasRule& rule) {
  return bias.oldest != 0 && static_cast<double>(bias.oldest) >= rule.ratio * bias.expected &&
         ChanceOf(bias) <= rule.chance;
}

}  // namespace hbbp
