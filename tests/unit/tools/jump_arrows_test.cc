#include "annotate/jump_arrows.h"

#include <algorithm>
#include <string>
#include <vector>

#include "format.h"
#include "support/catch.h"

namespace hbbp::tools {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("no jumps draw nothing") {
  CHECK(DrawJumps({}, 3) == Lines{"", "", ""});
  CHECK(DrawJumps({}, 0).empty());
  CHECK(DrawJumps({{1, 1}}, 3) == Lines{"", "", ""});
}

TEST_CASE("a jump leads from its line to its target") {
  CHECK(DrawJumps({{2, 0}}, 4) == Lines{"╭→", "│ ", "╰─", "  "});
  CHECK(DrawJumps({{0, 2}}, 3) == Lines{"╭─", "│ ", "╰→"});
}

TEST_CASE("jumps to one line share an arrow") {
  CHECK(DrawJumps({{1, 0}, {3, 0}}, 4) == Lines{"╭→", "├─", "│ ", "╰─"});
  CHECK(DrawJumps({{0, 1}, {2, 1}}, 3) == Lines{"╭─", "├→", "╰─"});
}

TEST_CASE("an arrow inside another is nearer to the code") {
  CHECK(DrawJumps({{4, 0}, {3, 1}}, 5) == Lines{"╭─→", "│╭→", "││ ", "│╰─", "╰──"});
}

TEST_CASE("arrows that overlap cross") {
  CHECK(DrawJumps({{2, 0}, {1, 3}}, 4) == Lines{" ╭→", "╭┼─", "│╰─", "╰─→"});
}

TEST_CASE("arrows that find no room are left out, and all lines are as wide") {
  std::vector<Jump> jumps;
  constexpr size_t kLines = 40;
  for (size_t i = 0; i < kLines / 2; ++i) jumps.push_back({kLines - 1 - i, i});
  const Lines drawn = DrawJumps(jumps, kLines);
  for (const std::string& line : drawn) CHECK(DisplayWidth(line) == DisplayWidth(drawn.front()));
  const auto heads = std::count_if(drawn.begin(), drawn.end(),
                                   [](const std::string& line) { return line.ends_with("→"); });
  CHECK(heads == 8);
  CHECK(drawn[19].ends_with("→"));  // the shortest one
  CHECK(drawn[0].find("→") == std::string::npos);
}

}  // namespace
}  // namespace hbbp::tools
