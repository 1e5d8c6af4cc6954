#include "export/call_costs.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

std::vector<double> Share(const std::vector<double>& own, std::vector<CallArc> arcs,
                          std::vector<double> unknown_calls = {}) {
  unknown_calls.resize(own.size());
  ShareCosts(own, unknown_calls, arcs);
  std::vector<double> costs;
  for (const CallArc& arc : arcs) costs.push_back(arc.cost);
  return costs;
}

TEST_CASE("a callee with what it calls is shared by numbers of calls") {
  // main 0, f 1, g 2, h 3.
  const std::vector<CallArc> arcs = {{0, 1, 10}, {0, 2, 1}, {2, 1, 30}, {1, 3, 7}};
  CHECK(Share({1, 1000, 50, 200}, arcs) == std::vector<double>{300, 950, 900, 200});
}

TEST_CASE("each call of a caller has its part") {
  CHECK(Share({0, 100}, {{0, 1, 1}, {0, 1, 3}}) == std::vector<double>{25, 75});
}

TEST_CASE("recursion costs nothing, and changes no share") {
  CHECK(Share({5, 5, 100}, {{0, 2, 1}, {2, 2, 1000}, {1, 2, 1}}) == std::vector<double>{50, 0, 50});
}

TEST_CASE("a cycle is shared as a whole by the calls from outside") {
  // 1 and 2 call each other, and 2 calls 3.
  const std::vector<CallArc> arcs = {{0, 1, 3}, {1, 2, 50}, {2, 1, 49}, {2, 3, 5}, {0, 2, 1}};
  CHECK(Share({1, 10, 20, 70}, arcs) == std::vector<double>{75, 0, 0, 70, 25});
  const std::vector<uint32_t> cycles = FindCycles(4, arcs);
  CHECK(cycles[1] == cycles[2]);
  CHECK(cycles[3] < cycles[1]);
  CHECK(cycles[1] < cycles[0]);
}

TEST_CASE("unknown calls have their share") {
  CHECK(Share({0, 100}, {{0, 1, 1}}, {0, 3}) == std::vector<double>{25});
}

TEST_CASE("a long chain of calls takes no stack") {
  constexpr uint32_t kFunctions = 200'000;
  std::vector<CallArc> arcs;
  for (uint32_t i = 1; i < kFunctions; ++i) arcs.push_back({i - 1, i, 2});
  CHECK(Share(std::vector<double>(kFunctions, 1), arcs).front() == kFunctions - 1);
}

}  // namespace
}  // namespace hbbp
