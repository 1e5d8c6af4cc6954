#include "probe/lackey_trace.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

// Feeds the text in parts of the size.
std::vector<LackeyTrace::Step> ReadSteps(const std::string& text, size_t part,
                                         std::string* message = nullptr) {
  std::vector<LackeyTrace::Step> steps;
  LackeyTrace trace([&steps](const LackeyTrace::Step& step) { steps.push_back(step); });
  for (size_t begin = 0; begin < text.size(); begin += part) trace.Feed(text.substr(begin, part));
  trace.Finish();
  if (message != nullptr) *message = trace.last_message();
  return steps;
}

TEST_CASE("lackey: instructions with their first access, however the text is divided") {
  const std::string text =
      "I  0401ab70,3\nI  0401ab73,5\n S 1fff0006c8,8\nI  0401b770,1\n L 1000,4\n S 2000,4\n"
      "I  00001000,2\n M 3000,16\n";
  for (const size_t part : {1, 2, 3, 7, 20, 1000}) {
    const std::vector<LackeyTrace::Step> steps = ReadSteps(text, part);
    REQUIRE(steps.size() == 4);
    CHECK(steps[0].pc == 0x401ab70);
    CHECK(steps[0].next == 0x401ab73);
    CHECK(steps[0].size == 0);
    CHECK(steps[1].address == 0x1fff0006c8);
    CHECK(steps[1].size == 8);
    CHECK(steps[2].address == 0x1000);
    CHECK(steps[2].next == 0x1000);
    CHECK(steps[3].size == 16);
    CHECK(steps[3].next == 0);
  }
}

TEST_CASE("lackey: other lines are messages") {
  std::string message;
  CHECK(
      ReadSteps("==1== hello\nI  zz,3\nI  10\nI  10,\nI  10,3x\n L\n\nvalgrind: no\n", 5, &message)
          .empty());
  CHECK(message == "valgrind: no");
  CHECK(ReadSteps("", 1).empty());
}

}  // namespace
}  // namespace hbbp::tools
