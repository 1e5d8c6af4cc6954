// Checks evaluates assertions on an analysed profile.
#ifndef HBBP_TOOLS_GATE_CHECKS_H_
#define HBBP_TOOLS_GATE_CHECKS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "gate/assertion.h"
#include "gate/decision.h"
#include "measured.h"

namespace hbbp::tools {

struct Check {
  enum Kind { kShare, kCount, kRatio };

  Assertion assertion;
  Kind kind = kShare;
  Measured measured;
  Interval interval;
  Outcome outcome = Outcome::kUndecided;
  std::vector<std::string> notes;
};

class Checks {
 public:
  // Both must outlive it. The taxonomy may be null.
  Checks(const hbbp::analysis& analysis, const hbbp::taxonomy* taxonomy);

  // Errors are those of Assertion::ErrorAt: an unknown name, a condition that cannot be read, or
  // what this profile has no number for.
  StatusOr<Check> Evaluate(const Assertion& assertion) const;

 private:
  StatusOr<std::string> ReadCondition(const Assertion& assertion, const TextPart& condition) const;
  StatusOr<Check> EvaluateShare(Check check) const;
  StatusOr<Check> EvaluateCount(Check check) const;
  StatusOr<Check> EvaluateEntries(Check check) const;
  StatusOr<Check> EvaluateRatio(Check check) const;
  Status CheckLimit(const Check& check) const;
  // Fails where counts are up to a factor.
  Status CheckHasTotals(const Assertion& assertion) const;
  // Sets the interval of a share of these instructions.
  void SetShare(const Measured& share, const Measured& whole, Check* check) const;
  // Sets the interval of a number of a value.
  void SetCount(const std::string& value, Measured measured, Check* check) const;
  static void AddNothingMatches(Check* check);
  Measured Sum(const std::string& value, const std::string& condition) const;

  const hbbp::analysis& analysis_;
  const hbbp::taxonomy* const taxonomy_;
  const std::vector<std::string> values_;
  Measured all_instructions_;
  uint64_t observations_ = 0;  // samples and bursts that count
  bool is_up_to_factor_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_GATE_CHECKS_H_
