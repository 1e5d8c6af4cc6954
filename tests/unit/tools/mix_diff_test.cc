#include "commands/mix_diff.h"

#include <cmath>
#include <string>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

std::string Order(const MixDiff& diff, MixDiffOrder order) {
  std::string text;
  for (const MixDiffRow& row : diff.Sorted(order)) text += row.labels[0] + " ";
  return text;
}

TEST_CASE("what changed most comes first, whatever its sign") {
  MixDiff diff;
  diff.AddBefore({"same"}, {5, 1});
  diff.AddAfter({"same"}, {5, 1});
  diff.AddBefore({"less"}, {9, 3});
  diff.AddAfter({"less"}, {2, 4});
  diff.AddBefore({"more"}, {1, 0.1});
  diff.AddAfter({"more"}, {3, 0.1});
  CHECK(Order(diff, MixDiffOrder::kChange) == "less more same ");
  CHECK(Order(diff, MixDiffOrder::kSignificance) == "more less same ");
  const MixDiffRow less = diff.Sorted(MixDiffOrder::kChange)[0];
  CHECK(less.Change() == -7);
  CHECK(less.ChangeError() == 5);
  CHECK(less.Z() == Approx(-1.4));
  REQUIRE(less.P());
  CHECK(*less.P() == Approx(0.16151).epsilon(1e-4));
  CHECK(diff.Sorted(MixDiffOrder::kChange)[2].P() == 1);
}

TEST_CASE("rows of unknown probability come last by significance") {
  MixDiff diff;
  diff.AddBefore({"certain"}, {1, 0});
  diff.AddAfter({"certain"}, {2, 0});
  diff.AddBefore({"most"}, {1, 0});
  diff.AddAfter({"most"}, {9, 0});
  diff.AddBefore({"same"}, {5, 0});
  diff.AddAfter({"same"}, {5, 0});
  diff.AddBefore({"likely"}, {3, 2});
  diff.AddAfter({"likely"}, {4, 2});
  CHECK(Order(diff, MixDiffOrder::kChange) == "most certain likely same ");
  CHECK(Order(diff, MixDiffOrder::kSignificance) == "likely same most certain ");
}

TEST_CASE("rounding is not a change, and not an error") {
  MixDiff diff;
  diff.AddBefore({"same"}, {0.1 + 0.2, 0});
  diff.AddAfter({"same"}, {0.3, 1e-17});
  diff.AddBefore({"certain"}, {0.3, 1e-17});
  diff.AddAfter({"certain"}, {0.4, 0});
  const std::vector<MixDiffRow> rows = diff.Sorted(MixDiffOrder::kChange);
  CHECK(rows[0].labels[0] == "certain");
  CHECK(std::isinf(rows[0].Z()));
  CHECK_FALSE(rows[0].P());
  CHECK(rows[1].Z() == 0);
  CHECK(rows[1].P() == 1);
}

TEST_CASE("a row that one side lacks is 0 there") {
  MixDiff diff;
  diff.AddBefore({"static", "f"}, {3, 5});
  diff.AddAfter({"new", "g"}, {7, 0});
  const std::vector<MixDiffRow> rows = diff.Sorted(MixDiffOrder::kChange);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].labels[1] == "g");
  CHECK(rows[0].before.value == 0);
  CHECK(std::isinf(rows[0].Z()));
  CHECK_FALSE(rows[0].P());
  CHECK(rows[1].before.value == 3);
  CHECK(rows[1].before.standard_error == 5);
  CHECK(rows[1].Change() == -3);
}

}  // namespace
}  // namespace hbbp::tools
