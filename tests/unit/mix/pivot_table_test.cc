#include "mix/pivot_table.h"

#include <string>

#include "support/catch.h"
#include "unit/mix/synthetic_pivot.h"

namespace hbbp {
namespace {

// Functions ran 2, 3, 3 and 1 times; each has a mnemonic of its own, and one that all have.
PivotInput FourFunctions() {
  PivotInput input;
  const double counts[] = {2, 3, 3, 1};
  for (uint32_t function = 0; function < 4; ++function) {
    AddTestBlock(0, function, {function + 1, 0}, &input);
    input.observations.push_back({function, 0, {counts[function], 4.0 - function}, kNoIndex});
  }
  return input;
}

std::string RowsOf(const PivotTable& table) {
  std::string text;
  for (size_t row = 0; row < table.row_count(); ++row) text += table.RowLabel(row, 0).text + " ";
  return text;
}

PivotTable MakeTable(TestKey* row, TestKey* column, const PivotOrder& order, size_t top) {
  PivotAxis rows({row});
  PivotAxis columns(column == nullptr ? std::vector<PivotKey*>() : std::vector<PivotKey*>{column});
  Pivot pivot = MakePivot(FourFunctions(), {PivotMeasure::kInstructions}, nullptr, &rows, &columns);
  return PivotTable(std::move(pivot), rows, columns, order, top);
}

TEST_CASE("rows are sorted by value, error or label, equal ones by label") {
  TestKey function = FunctionTestKey();
  CHECK(RowsOf(MakeTable(&function, nullptr, {}, 0)) == "1 2 0 3 ");
  CHECK(RowsOf(MakeTable(&function, nullptr, {PivotOrder::kError, 0}, 0)) == "0 1 2 3 ");
  CHECK(RowsOf(MakeTable(&function, nullptr, {PivotOrder::kLabels, 0}, 0)) == "0 1 2 3 ");
  function.texts = {"d", "c", "b", "a"};
  CHECK(RowsOf(MakeTable(&function, nullptr, {}, 0)) == "b c d a ");
  CHECK(RowsOf(MakeTable(&function, nullptr, {PivotOrder::kLabels, 0}, 0)) == "a b c d ");
}

TEST_CASE("rows that are not shown are part of totals") {
  TestKey function = FunctionTestKey(), mnemonic = MnemonicTestKey();
  const PivotTable table = MakeTable(&function, &mnemonic, {}, 2);
  CHECK(RowsOf(table) == "1 2 ");
  CHECK(table.rows_in_all() == 4);
  CHECK(table.Whole(0).value == 18);
  REQUIRE(table.column_count() == 5);
  CHECK(table.ColumnLabel(0, 0).number == 1);
  CHECK(table.At(PivotTable::kAll, 0, 0).value == 9);
  CHECK(table.At(PivotTable::kAll, 4, 0).value == 1);
  CHECK(table.At(0, PivotTable::kAll, 0).value == 6);
  CHECK(table.At(PivotTable::kAll, PivotTable::kAll, 0).value == 18);
}

TEST_CASE("a cell is found by its row and column, and 0 where nothing ran") {
  TestKey function = FunctionTestKey(), mnemonic = MnemonicTestKey();
  const PivotTable table = MakeTable(&function, &mnemonic, {PivotOrder::kLabels, 0}, 0);
  const double counts[] = {2, 3, 3, 1};
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 5; ++column) {
      const bool ran = column == 0 || column == row + 1;
      CHECK(table.At(row, column, 0).value == (ran ? counts[row] : 0));
    }
  }
}

TEST_CASE("columns of numbers are in their order, others by what is most") {
  TestKey function = FunctionTestKey(), module = ModuleTestKey();
  PivotTable table = MakeTable(&module, &function, {}, 0);
  CHECK(table.ColumnLabel(0, 0).number == 0);
  CHECK(table.ColumnLabel(3, 0).number == 3);
  function.texts = {"d", "c", "b", "a"};
  table = MakeTable(&module, &function, {}, 0);
  CHECK(table.ColumnLabel(0, 0).text == "b");
  CHECK(table.ColumnLabel(3, 0).text == "a");
}

TEST_CASE("labels are in the order of numbers, then of texts") {
  CHECK(IsBefore(NumberLabel(9), NumberLabel(10)));
  CHECK(IsBefore(AddressLabel(0x9), AddressLabel(0x10)));
  CHECK(AddressLabel(0xab12).text == "0xab12");
  CHECK(IsBefore(NumberLabel(9), TextLabel("1")));
  CHECK_FALSE(IsBefore(TextLabel("1"), NumberLabel(9)));
  CHECK(IsBefore(TextLabel("a", 1), TextLabel("a", 2)));
}

}  // namespace
}  // namespace hbbp
