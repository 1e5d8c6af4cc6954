#include "gate/decision.h"

#include <algorithm>

#include "command.h"

namespace hbbp::tools {
namespace {

bool Holds(double value, Comparison comparison, double limit) {
  switch (comparison) {
    case Comparison::kLess:
      return value < limit;
    case Comparison::kLessOrEqual:
      return value <= limit;
    case Comparison::kGreater:
      return value > limit;
    case Comparison::kGreaterOrEqual:
      return value >= limit;
  }
  return false;
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return "holds";
    case Outcome::kUndecided:
      return "undecided";
    case Outcome::kFails:
      break;
  }
  return "fails";
}

Outcome Decide(const Interval& interval, Comparison comparison, double limit) {
  const bool at_low = Holds(interval.low, comparison, limit);
  const bool at_high = Holds(interval.high, comparison, limit);
  if (at_low != at_high) return Outcome::kUndecided;
  return at_low ? Outcome::kHolds : Outcome::kFails;
}

Outcome Worst(const std::vector<Outcome>& outcomes) {
  const auto worst = std::max_element(outcomes.begin(), outcomes.end());
  return worst == outcomes.end() ? Outcome::kHolds : *worst;
}

int ExitStatus(Outcome outcome, bool is_strict) {
  if (outcome == Outcome::kFails) return kExitLimitBroken;
  return outcome == Outcome::kUndecided && is_strict ? kExitUndecided : kExitSuccess;
}

}  // namespace hbbp::tools
