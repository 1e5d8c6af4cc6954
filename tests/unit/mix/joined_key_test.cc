#include "mix/joined_key.h"

#include <cmath>
#include <string>

#include "mix/pivot.h"
#include "support/catch.h"
#include "unit/mix/synthetic_pivot.h"

namespace hbbp {
namespace {

// Returns three blocks in functions of these numbers, which the same bursts observed.
PivotInput ThreeBlocks(const std::vector<uint32_t>& functions) {
  PivotInput input;
  for (const uint32_t function : functions) {
    AddTestBlock(0, function, {0, 1}, &input);
    const auto block = static_cast<uint32_t>(input.blocks.size() - 1);
    input.observations.push_back({block, kNoIndex, {160, 0}, block});
    ReplicateSums& sums = input.replicates.emplace_back();
    for (size_t i = 0; i < sums.sums.size(); ++i) sums.sums[i] = i % 2 == 0 ? 15 : 5;
  }
  return input;
}

double LineError(const PivotSums& sums, size_t line) { return sums.At(line, 0).StandardError(); }

TEST_CASE("values of one name are one line, whose error is that of the sum") {
  TestKey function = FunctionTestKey();
  function.texts = {"work", "work", "other"};
  JoinedKey name(&function);
  PivotAxis joined({&name}), apart({&function}), columns({});
  const PivotInput input = ThreeBlocks({0, 1, 2});
  const std::vector<PivotMeasure> measures = {PivotMeasure::kInstructions};
  const Pivot by_name = MakePivot(input, measures, nullptr, &joined, &columns);
  REQUIRE(joined.size() == 2);
  CHECK(name.LabelOf(0).text == "work");
  CHECK(name.LabelOf(0).index == 0);
  CHECK(name.LabelOf(1).text == "other");
  CHECK(by_name.rows.ValueAt(0, 0) == 640);

  // The result is the same as if both were one function.
  TestKey same = FunctionTestKey();
  PivotAxis one({&same});
  const Pivot of_one = MakePivot(ThreeBlocks({0, 0, 2}), measures, nullptr, &one, &columns);
  CHECK(LineError(by_name.rows, 0) == Approx(LineError(of_one.rows, 0)));
  const Pivot by_function = MakePivot(input, measures, nullptr, &apart, &columns);
  REQUIRE(apart.size() == 3);
  CHECK(LineError(by_name.rows, 0) == Approx(2 * LineError(by_function.rows, 0)));
}

TEST_CASE("code that is missing is joined like any") {
  PivotInput input;
  AddTestBlock(0, 0, {0}, &input);
  PivotBlock missing;
  missing.instruction_count = 1;
  input.blocks.push_back(missing);
  input.observations = {{0, 0, {10, 0}, kNoIndex}, {1, 0, {1000, 100}, kNoIndex}};
  TestKey module = ModuleTestKey();
  JoinedKey name(&module);
  PivotAxis rows({&name}), columns({});
  const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, nullptr, &rows, &columns);
  REQUIRE(rows.size() == 2);
  uint32_t value[1];
  rows.CopyValues(1, value);
  CHECK(value[0] == kNoCode);
}

}  // namespace
}  // namespace hbbp
