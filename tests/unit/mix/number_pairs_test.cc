#include "mix/number_pairs.h"

#include <map>
#include <utility>
#include <vector>

#include "base/random_bits.h"
#include "support/catch.h"

namespace hbbp {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// Combines all of them twice, and compares with a map.
void CheckAgainstMap(const Pairs& asked) {
  NumberPairs pairs;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> expected;
  for (int i = 0; i < 2; ++i) {
    for (const auto& [first, second] : asked) {
      const auto next = static_cast<uint32_t>(expected.size());
      REQUIRE(pairs.Combine(first, second) ==
              expected.try_emplace({first, second}, next).first->second);
    }
  }
  REQUIRE(pairs.size() == expected.size());
  for (const auto& [pair, number] : expected) REQUIRE(pairs.Parts(number) == pair);
}

TEST_CASE("pairs are numbered as they come up, whatever their order") {
  CheckAgainstMap({});
  CheckAgainstMap({{0, 0}});
  // The sequences are one run each, then again; alternating first numbers; a run that continues
  // later.
  CheckAgainstMap({{3, 4}, {3, 5}, {3, 4}, {7, 4}, {7, 5}});
  CheckAgainstMap({{0, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 2}, {1, 2}});
  CheckAgainstMap({{0, 1}, {0, 2}, {5, 1}, {0, 3}, {0, 1}, {6, 0}, {0, 4}, {0, 3}, {5, 2}});
}

TEST_CASE("second numbers may be large") {
  CheckAgainstMap({{0, 4095}, {0, 4096}, {0, UINT32_MAX}, {0, 4095}, {0, 4096}, {1, UINT32_MAX}});
  CheckAgainstMap({{2, 5}, {2, 100'000}, {2, 6}, {3, 100'000}, {2, 5}, {2, 6}, {2, 100'000}});
}

TEST_CASE("random pairs, in runs of any length") {
  RandomBits random(GENERATE(1, 2, 3));
  Pairs asked;
  for (int run = 0; run < 300; ++run) {
    const auto first = static_cast<uint32_t>(random.Next() % 40);
    for (uint64_t i = random.Next() % 20; i > 0; --i) {
      const uint64_t second = random.Next() % (random.Next() % 8 == 0 ? 10'000 : 30);
      asked.emplace_back(first, static_cast<uint32_t>(second));
    }
  }
  CheckAgainstMap(asked);
}

}  // namespace
}  // namespace hbbp
