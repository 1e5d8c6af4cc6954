// Tests reuse distances against a list of lines in the order of their last accesses.
#include "probes/reuse_distances.h"

#include <algorithm>
#include <random>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("reuse: the number of different lines in between") {
  ReuseDistances distances;
  CHECK(distances.Access(7) == ReuseDistances::kFirst);
  CHECK(distances.Access(7) == 0);
  CHECK(distances.Access(8) == ReuseDistances::kFirst);
  CHECK(distances.Access(9) == ReuseDistances::kFirst);
  CHECK(distances.Access(8) == 1);
  CHECK(distances.Access(8) == 0);
  CHECK(distances.Access(9) == 1);
  CHECK(distances.Access(7) == 2);
  CHECK(distances.lines() == 3);
}

TEST_CASE("reuse: a loop over n lines has the distance n - 1") {
  ReuseDistances distances;
  constexpr uint64_t kLines = 5000;
  for (int pass = 0; pass < 4; ++pass) {
    for (uint64_t line = 0; line < kLines; ++line) {
      CHECK(distances.Access(line) == (pass == 0 ? ReuseDistances::kFirst : kLines - 1));
    }
  }
}

TEST_CASE("reuse: as in a list by last access") {
  ReuseDistances distances;
  std::vector<uint64_t> recent;  // the last one at the end
  std::mt19937_64 random(1);
  for (int i = 0; i < 30000; ++i) {
    // Lines nearby are frequent; the more accesses, the more lines.
    const uint64_t range = i % 3 == 0 ? 2 + i / 10 : 20;
    const uint64_t line = random() % range;
    const auto found = std::find(recent.begin(), recent.end(), line);
    uint64_t expected = ReuseDistances::kFirst;
    if (found != recent.end()) {
      expected = static_cast<uint64_t>(recent.end() - found - 1);
      recent.erase(found);
    }
    recent.push_back(line);
    REQUIRE(distances.Access(line) == expected);
  }
  CHECK(distances.lines() == recent.size());
}

}  // namespace
}  // namespace hbbp
