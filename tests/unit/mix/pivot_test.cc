// Tests MakePivot(): sums of cells under every choice of keys, executions of blocks, missing code,
// filters, and the errors of counts and shares. Blocks and observations are synthetic.
// RandomInput() makes many for sums that the tests also compute directly; for errors, AddRun() and
// CheckErrors() compare the reported errors with the scatter of many runs.
#include "mix/pivot.h"

#include <cmath>
#include <map>
#include <tuple>

#include "base/random_bits.h"
#include "support/catch.h"
#include "unit/mix/many_runs.h"
#include "unit/mix/synthetic_pivot.h"

namespace hbbp {
namespace {

const std::vector<PivotMeasure> kAllMeasures = {PivotMeasure::kInstructions,
                                                PivotMeasure::kExecutions, PivotMeasure::kBytes};

// Returns blocks of random instructions in three modules, which three threads ran.
PivotInput RandomInput(uint64_t seed) {
  RandomBits random(seed);
  PivotInput input;
  for (uint32_t i = 0; i < 40; ++i) {
    std::vector<uint32_t> kinds(1 + random.Next() % 12);
    for (uint32_t& kind : kinds) kind = random.Next() % 5;
    AddTestBlock(i % 3, i / 4, kinds, &input);
    for (uint32_t thread = 0; thread < 3; ++thread) {
      if (random.Next() % 4 == 0) continue;
      PivotObservation observation{
          i, thread, {static_cast<double>(random.Next() % 1000), 10}, kNoIndex};
      if (random.Next() % 2 == 0) {
        observation.replicates = static_cast<uint32_t>(input.replicates.size());
        ReplicateSums& sums = input.replicates.emplace_back();
        for (float& sum : sums.sums) sum = static_cast<float>(random.Next() % 100);
      }
      input.observations.push_back(observation);
    }
  }
  return input;
}

double ValueAt(const PivotSums& sums, size_t line, size_t measure) {
  return sums.ValueAt(line, measure);
}

TEST_CASE("cells are what their instructions and observations add up to") {
  const PivotInput input = RandomInput(GENERATE(1, 2, 3));
  TestKey thread = ThreadTestKey(), module = ModuleTestKey(), function = FunctionTestKey();
  TestKey mnemonic = MnemonicTestKey(), offset = OffsetTestKey();
  const std::vector<PivotKey*> all = {&offset, &mnemonic, &thread, &function, &module};
  // Try every choice of keys for rows and for columns, in each order of levels.
  for (unsigned choice = 0; choice < 1024; ++choice) {
    const unsigned of_rows = choice & 31, of_columns = choice >> 5;
    if ((of_rows & of_columns) != 0) continue;
    CAPTURE(of_rows, of_columns);
    std::vector<PivotKey*> row_keys, column_keys;
    for (size_t i = 0; i < all.size(); ++i) {
      if ((of_rows >> i & 1) != 0) row_keys.push_back(all[i]);
      if ((of_columns >> i & 1) != 0) column_keys.push_back(all[i]);
    }
    PivotAxis rows(row_keys), columns(column_keys);
    const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, nullptr, &rows, &columns);

    using Values = std::vector<uint32_t>;
    std::map<std::pair<Values, Values>, double> expected;
    for (const PivotObservation& observation : input.observations) {
      const PivotBlock& block = input.blocks[observation.block];
      for (uint32_t i = 0; i < block.instruction_count; ++i) {
        const InstructionEntry& instruction = input.code->instructions[block.first_instruction + i];
        const PivotContext context = {&observation, &block, &input.code->kinds[instruction.kind],
                                      &instruction};
        Values row, column;
        for (PivotKey* key : row_keys) row.push_back(key->ValueOf(context));
        for (PivotKey* key : column_keys) column.push_back(key->ValueOf(context));
        expected[{row, column}] += observation.estimate.count;
      }
    }
    std::map<std::pair<Values, Values>, double> found;
    const auto values_of = [](const PivotAxis& axis, uint32_t line) {
      Values values(axis.keys().size());
      axis.CopyValues(line, values);
      return values;
    };
    for (size_t i = 0; i < pivot.cells.size(); ++i) {
      const PivotCell& cell = pivot.cells[i];
      found[{values_of(rows, cell.row), values_of(columns, cell.column)}] =
          ValueAt(pivot.cell_sums, i, 0);
    }
    if (column_keys.empty()) {
      REQUIRE(pivot.cells.empty());
      for (uint32_t row = 0; row < rows.size(); ++row) {
        found[{values_of(rows, row), {}}] = ValueAt(pivot.rows, row, 0);
      }
    }
    REQUIRE(found == expected);

    std::map<uint32_t, double> by_row, by_column;
    for (size_t i = 0; i < pivot.cells.size(); ++i) {
      by_row[pivot.cells[i].row] += ValueAt(pivot.cell_sums, i, 0);
      by_column[pivot.cells[i].column] += ValueAt(pivot.cell_sums, i, 0);
    }
    for (const auto& [row, sum] : by_row) REQUIRE(ValueAt(pivot.rows, row, 0) == Approx(sum));
    for (const auto& [column, sum] : by_column) {
      REQUIRE(ValueAt(pivot.columns, column, 0) == Approx(sum));
    }
  }
}

TEST_CASE("each instruction of a kind, block or thread is asked for its key once") {
  PivotInput input;
  AddTestBlock(0, 0, {0, 1, 0, 1, 0}, &input);
  AddTestBlock(0, 1, {1, 0}, &input);
  for (const uint32_t block : {0, 1}) {
    for (uint32_t thread = 0; thread < 10; ++thread) {
      input.observations.push_back({block, thread, {1, 1}, kNoIndex});
    }
  }
  TestKey function = FunctionTestKey(), mnemonic = MnemonicTestKey();
  PivotAxis rows({&function, &mnemonic}), columns({});
  const Pivot pivot = MakePivot(input, kAllMeasures, nullptr, &rows, &columns);
  CHECK(function.asked == 2);
  CHECK(mnemonic.asked == 2);
  CHECK(ValueAt(pivot.whole, 0, 0) == 70);
}

TEST_CASE("a block executes once however many of its instructions are in a cell") {
  PivotInput input;
  AddTestBlock(0, 0, {0, 0, 1}, &input);
  AddTestBlock(0, 0, {0}, &input);
  input.observations = {{0, kNoIndex, {10, 0}, kNoIndex}, {1, kNoIndex, {5, 0}, kNoIndex}};
  TestKey mnemonic = MnemonicTestKey();
  PivotAxis rows({&mnemonic}), columns({});
  const Pivot pivot = MakePivot(input, kAllMeasures, nullptr, &rows, &columns);
  REQUIRE(rows.size() == 2);
  for (uint32_t row = 0; row < 2; ++row) {
    uint32_t value[1];
    rows.CopyValues(row, value);
    const bool is_first = value[0] == 1;
    CHECK(ValueAt(pivot.rows, row, 0) == (is_first ? 25 : 10));
    CHECK(ValueAt(pivot.rows, row, 1) == (is_first ? 15 : 10));
    CHECK(ValueAt(pivot.rows, row, 2) == (is_first ? 100 : 40));
  }
  CHECK(ValueAt(pivot.whole, 0, 0) == 35);
  CHECK(ValueAt(pivot.whole, 0, 1) == 15);
  CHECK(ValueAt(pivot.whole, 0, 2) == 140);
}

TEST_CASE("code that is missing has instructions, and nothing else") {
  PivotInput input;
  AddTestBlock(0, 0, {0, 0}, &input);
  PivotBlock missing;
  missing.module = 1;
  missing.instruction_count = 1;
  input.blocks.push_back(missing);
  input.observations = {{0, 0, {10, 0}, kNoIndex}, {1, 0, {1000, 100}, kNoIndex}};
  // Whatever the keys depend on, all of it is in one row.
  TestKey module = ModuleTestKey(), mnemonic = MnemonicTestKey(), offset = OffsetTestKey();
  TestKey thread = ThreadTestKey();
  using Keys = std::vector<PivotKey*>;
  const Keys keys = GENERATE_REF(Keys{&module}, Keys{&mnemonic}, Keys{&offset, &thread},
                                 Keys{&module, &mnemonic, &offset});
  PivotAxis rows(keys), columns({});
  const Pivot pivot = MakePivot(input, kAllMeasures, nullptr, &rows, &columns);
  CHECK(ValueAt(pivot.whole, 0, 0) == 1020);
  CHECK(ValueAt(pivot.whole, 0, 1) == 10);
  CHECK(ValueAt(pivot.whole, 0, 2) == 80);
  std::vector<uint32_t> values(keys.size());
  double missing_code = 0;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    rows.CopyValues(row, values);
    if (values.front() == kNoCode) missing_code += ValueAt(pivot.rows, row, 0);
  }
  CHECK(missing_code == 1000);
}

// Keeps one mnemonic, in one thread only.
class OneMnemonicOfOneThread : public PivotFilter {
 public:
  bool NeedsInstructions() const override { return true; }
  bool DoesWithoutCode() const override { return false; }
  uint32_t ClassOf(const PivotObservation& observation) override { return observation.thread == 1; }
  bool Keeps(uint32_t observation_class, const PivotContext& context) override {
    return observation_class == 1 && context.kind->mnemonic == Mnemonic{2};
  }
};

TEST_CASE("a filter keeps instructions by thread") {
  PivotInput input;
  AddTestBlock(0, 0, {0, 1, 1}, &input);
  input.observations = {{0, 0, {10, 0}, kNoIndex}, {0, 1, {100, 0}, kNoIndex}};
  OneMnemonicOfOneThread filter;
  TestKey module = ModuleTestKey(), mnemonic = MnemonicTestKey();
  PivotAxis rows({&module}), columns({&mnemonic});
  const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, &filter, &rows, &columns);
  CHECK(ValueAt(pivot.whole, 0, 0) == 200);
  REQUIRE(pivot.cells.size() == 1);
  CHECK(rows.size() == 1);
  CHECK(columns.size() == 1);
}

struct Repetitions {
  Repetition cell, cell_share, row, row_share, whole;
};

void AddRun(const PivotInput& input, Repetitions* all) {
  TestKey function = FunctionTestKey(), mnemonic = MnemonicTestKey();
  PivotAxis rows({&function}), columns({&mnemonic});
  const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, nullptr, &rows, &columns);
  const PivotSum& whole = pivot.whole.At(0, 0);
  const auto add = [&](const PivotSum& sum, Repetition* value, Repetition* share) {
    value->Add(sum.value, sum.StandardError());
    const CountEstimate of_whole = ComputeShare(sum, whole);
    share->Add(of_whole.count, of_whole.standard_error);
  };
  add(pivot.rows.At(0, 0), &all->row, &all->row_share);
  for (size_t i = 0; i < pivot.cells.size(); ++i) {
    if (pivot.cells[i].row != 0 || pivot.cells[i].column != 0) continue;
    add(pivot.cell_sums.At(i, 0), &all->cell, &all->cell_share);
  }
  all->whole.Add(whole.value, whole.StandardError());
}

void CheckErrors(const Repetitions& all) {
  CHECK(all.cell.ReportedError() == Approx(all.cell.Scatter()).epsilon(0.1));
  CHECK(all.row.ReportedError() == Approx(all.row.Scatter()).epsilon(0.1));
  CHECK(all.whole.ReportedError() == Approx(all.whole.Scatter()).epsilon(0.1));
  CHECK(all.cell_share.ReportedError() == Approx(all.cell_share.Scatter()).epsilon(0.1));
  CHECK(all.row_share.ReportedError() == Approx(all.row_share.Scatter()).epsilon(0.1));
}

// Returns four blocks in two functions; kind 0 is in each of them.
PivotInput FourBlocks() {
  PivotInput input;
  AddTestBlock(0, 0, {0, 0, 1}, &input);
  AddTestBlock(0, 0, {0, 1}, &input);
  AddTestBlock(0, 1, {0, 2, 2, 2}, &input);
  AddTestBlock(0, 1, {2, 2}, &input);
  return input;
}

TEST_CASE("errors of what IP samples counted are those of many runs") {
  RandomBits random(7);
  Repetitions all;
  PivotInput input = FourBlocks();
  for (int run = 0; run < 4000; ++run) {
    input.observations.clear();
    for (uint32_t block = 0; block < 4; ++block) {
      const uint32_t length = input.blocks[block].instruction_count;
      const uint32_t samples = Poisson(20.0 * (block + 1), &random);
      const double period = 1000;
      input.observations.push_back(
          {block,
           kNoIndex,
           {samples * period / length, std::sqrt(samples) * period / length},
           kNoIndex});
    }
    AddRun(input, &all);
  }
  CheckErrors(all);
}

TEST_CASE(
    "errors of what streams counted are those of many runs, blocks of a burst going together") {
  RandomBits random(11);
  Repetitions all;
  PivotInput input = FourBlocks();
  for (int run = 0; run < 4000; ++run) {
    input.observations.clear();
    input.replicates.assign(4, {});
    double counts[4] = {};
    // A burst stays in one function, and iterates over its blocks.
    const uint32_t bursts = Poisson(60, &random);
    for (uint32_t burst = 0; burst < bursts; ++burst) {
      const uint32_t function = random.Next() % 3 == 0 ? 1 : 0;
      const double rounds = static_cast<double>(1 + random.Next() % 8);
      const size_t replicate = random.Next() % kReplicates;
      for (const uint32_t block : {2 * function, 2 * function + 1}) {
        counts[block] += rounds;
        input.replicates[block].sums[replicate] += static_cast<float>(rounds);
      }
    }
    for (uint32_t block = 0; block < 4; ++block) {
      input.observations.push_back({block, kNoIndex, {counts[block], 0}, block});
    }
    AddRun(input, &all);
  }
  CheckErrors(all);
}

TEST_CASE("the share of everything is certain") {
  PivotInput input = FourBlocks();
  for (uint32_t block = 0; block < 4; ++block) {
    input.observations.push_back({block, kNoIndex, {100, 10}, kNoIndex});
  }
  TestKey module = ModuleTestKey();
  PivotAxis rows({&module}), columns({});
  const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, nullptr, &rows, &columns);
  const CountEstimate share = ComputeShare(pivot.rows.At(0, 0), pivot.whole.At(0, 0));
  CHECK(share.count == 1);
  CHECK(share.standard_error == Approx(0).margin(1e-9));
  CHECK(ComputeShare(PivotSum(), PivotSum()).count == 0);
}

}  // namespace
}  // namespace hbbp
