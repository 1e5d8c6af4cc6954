#include "gate/assertion.h"

#include <string>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

Assertion Parse(std::string_view text) {
  const StatusOr<Assertion> assertion = ParseAssertion(text);
  INFO(assertion.status().message());
  REQUIRE(assertion.ok());
  return *assertion;
}

// Returns the message without the assertion in front.
std::string Problem(const std::string& text) {
  const StatusOr<Assertion> assertion = ParseAssertion(text);
  REQUIRE_FALSE(assertion.ok());
  const std::string start = "'" + text + "': ";
  const std::string& message = assertion.status().message();
  REQUIRE(message.substr(0, start.size()) == start);
  return message.substr(start.size());
}

TEST_CASE("parts of an assertion know where they are") {
  const Assertion assertion = Parse("share( vector-bits >= 256 ) of (function = f) >= 20%");
  CHECK(assertion.name.text == "share");
  CHECK(assertion.condition.text == "vector-bits >= 256");
  CHECK(assertion.condition.offset == 7);
  REQUIRE(assertion.of);
  CHECK(assertion.of->text == "function = f");
  CHECK(assertion.of->offset == 32);
  CHECK(assertion.comparison == Comparison::kGreaterOrEqual);
  CHECK(assertion.comparison_text == ">=");
  CHECK(assertion.limit == 0.2);
  CHECK(assertion.limit_text.text == "20%");
}

TEST_CASE("comparisons") {
  CHECK(Parse("flops < 1").comparison == Comparison::kLess);
  CHECK(Parse("flops<=1").comparison == Comparison::kLessOrEqual);
  CHECK(Parse("flops > 1").comparison == Comparison::kGreater);
  CHECK(Parse("flops>=1").comparison == Comparison::kGreaterOrEqual);
}

TEST_CASE("limits have units") {
  CHECK(Parse("instructions <= 0.5").limit == 0.5);
  CHECK(Parse("instructions <= 250k").limit == 250'000);
  CHECK(Parse("instructions <= 1.5M").limit == 1'500'000);
  CHECK(Parse("instructions <= 2G").limit == 2e9);
  CHECK(Parse("instructions <= 1e6").limit == 1e6);
  CHECK(Parse("share(x = y) <= 7%").limit == 0.07);
  CHECK(Parse("share(x = y) <= 7 % ").limit == 0.07);
  CHECK(Parse("share(x = y) <= 7 %").is_percent);
}

TEST_CASE("everything is meant without a condition") {
  CHECK(Parse("instructions <= 2G").condition.text.empty());
  CHECK(Parse(" instructions ( ) <= 2G ").condition.text.empty());
  CHECK(Parse(" instructions ( ) <= 2G ").text == "instructions ( ) <= 2G");
}

TEST_CASE("a condition ends where its parentheses and quotes end") {
  CHECK(Parse("share((a = b or c = d) and e in (f, g)) > 0").condition.text ==
        "(a = b or c = d) and e in (f, g)");
  CHECK(Parse("share(function = 'f)' and a = \"\\\")\") > 0").condition.text ==
        "function = 'f)' and a = \"\\\")\"");
  CHECK(Parse("entries(function = f(int, char)) > 0").condition.text == "function = f(int, char)");
}

TEST_CASE("errors say what was expected, and where") {
  CHECK(Problem("") == "column 1: a name such as 'share' must stand here, not the end");
  CHECK(Problem("> 3") == "column 1: a name such as 'share' must stand here, not '>'");
  CHECK(Problem("share x") == "column 7: '(', <, <=, > or >= must stand here, not 'x'");
  CHECK(Problem("share(a = b") == "column 6: ')' is missing for this '('");
  CHECK(Problem("share(a = \"b)") == "column 6: a quote after this '(' does not end");
  CHECK(Problem("share(a = 'b\\") == "column 6: a quote after this '(' does not end");
  CHECK(Problem("share(a = b) = 3") == "column 14: 'of', <, <=, > or >= must stand here, not '='");
  CHECK(Problem("share(a = b)") == "column 13: 'of', <, <=, > or >= must stand here, not the end");
  CHECK(Problem("share(a = b) of c > 3") == "column 17: '(' must follow 'of', not 'c'");
  CHECK(Problem("share(a = b) of () > 3") == "column 18: a condition must stand here");
  CHECK(Problem("share(a = b) of (c = d) 3") ==
        "column 25: <, <=, > or >= must stand here, not '3'");
  const std::string number = "a number such as 0.2, 20%, 1.5M or 2G must stand here, not ";
  CHECK(Problem("flops >") == "column 8: " + number + "the end");
  CHECK(Problem("flops > 20x") == "column 9: " + number + "'20x'");
  CHECK(Problem("flops > 20 k%") == "column 9: " + number + "'20'");
  CHECK(Problem("flops > 20% and") == "column 9: " + number + "'20%'");
  CHECK(Problem("flops > nan") == "column 9: " + number + "'nan'");
  CHECK(Problem("flops > -1") == "column 9: a limit of 0 or more must stand here, not '-1'");
}

}  // namespace
}  // namespace hbbp::tools
