#include "gate/decision.h"

#include "command.h"
#include "support/catch.h"

namespace hbbp::tools {
namespace {

using enum Comparison;
using enum Outcome;

TEST_CASE("an interval on one side of the limit decides") {
  const Interval interval = {1, 2};
  CHECK(Decide(interval, kGreaterOrEqual, 0.5) == kHolds);
  CHECK(Decide(interval, kGreaterOrEqual, 2.5) == kFails);
  CHECK(Decide(interval, kLess, 2.5) == kHolds);
  CHECK(Decide(interval, kLess, 0.5) == kFails);
}

TEST_CASE("an interval that contains the limit does not decide") {
  for (const Comparison comparison : {kLess, kLessOrEqual, kGreater, kGreaterOrEqual}) {
    CHECK(Decide({1, 2}, comparison, 1.5) == kUndecided);
  }
}

TEST_CASE("ends of the interval are in it") {
  CHECK(Decide({1, 2}, kGreaterOrEqual, 1) == kHolds);
  CHECK(Decide({1, 2}, kGreater, 1) == kUndecided);
  CHECK(Decide({1, 2}, kLessOrEqual, 2) == kHolds);
  CHECK(Decide({1, 2}, kLess, 2) == kUndecided);
  CHECK(Decide({1, 2}, kLess, 1) == kFails);
  CHECK(Decide({1, 2}, kLessOrEqual, 1) == kUndecided);
  CHECK(Decide({1, 2}, kGreater, 2) == kFails);
  CHECK(Decide({1, 2}, kGreaterOrEqual, 2) == kUndecided);
}

TEST_CASE("exact numbers always decide") {
  CHECK(Decide({1, 1}, kGreaterOrEqual, 1) == kHolds);
  CHECK(Decide({1, 1}, kLessOrEqual, 1) == kHolds);
  CHECK(Decide({1, 1}, kGreater, 1) == kFails);
  CHECK(Decide({1, 1}, kLess, 1) == kFails);
}

TEST_CASE("one that fails is what the command ends with") {
  CHECK(Worst({}) == kHolds);
  CHECK(Worst({kHolds, kUndecided}) == kUndecided);
  CHECK(Worst({kFails, kUndecided, kHolds}) == kFails);
}

TEST_CASE("what is undecided is a failure on request") {
  CHECK(ExitStatus(kHolds, true) == kExitSuccess);
  CHECK(ExitStatus(kUndecided, false) == kExitSuccess);
  CHECK(ExitStatus(kUndecided, true) == 3);
  CHECK(ExitStatus(kFails, false) == 1);
  CHECK(ExitStatus(kFails, true) == 1);
}

}  // namespace
}  // namespace hbbp::tools
