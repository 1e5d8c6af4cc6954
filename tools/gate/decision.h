// Decides whether a measured number keeps a limit. Where the number is uncertain, so may be the
// answer: an interval that contains the limit does not decide.
#ifndef HBBP_TOOLS_GATE_DECISION_H_
#define HBBP_TOOLS_GATE_DECISION_H_

#include <cstdint>
#include <vector>

#include "measured.h"

namespace hbbp::tools {

enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

enum class Outcome { kHolds, kUndecided, kFails };

// Returns "holds", "undecided" or "fails".
const char* OutcomeName(Outcome outcome);

// It holds if it does at both ends of the interval, and fails if it does at neither.
Outcome Decide(const Interval& interval, Comparison comparison, double limit);

// Returns kFails if one fails, else kUndecided if one is undecided, else kHolds.
Outcome Worst(const std::vector<Outcome>& outcomes);

// Returns the exit status of a command. What is undecided is a failure only if `is_strict`.
int ExitStatus(Outcome outcome, bool is_strict);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_GATE_DECISION_H_
