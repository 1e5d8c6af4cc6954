#include "table.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <memory>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

Table Example() {
  Table table({{"name", "name"},
               {"module", "module", Column::kPath},
               {"count", "count", Column::kCount},
               {"error", "error", Column::kError},
               {"share", "share", Column::kShare},
               {"at", "address", Column::kAddress}});
  table.AddRow({"add", "/lib/libc.so.6", 1234567.4, 12.0, 0.25, uint64_t{0x401000}});
  table.AddRow({"a \"b\", c", "[vdso]", uint64_t{7}, Cell(), 1.0 / 3, uint64_t{1}});
  table.AddField("total", uint64_t{9});
  table.AddSummary("2 of 2");
  table.AddNote("something was lost");
  return table;
}

// Returns what `print` writes to stdout.
std::string Printed(const std::function<int()>& print) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  REQUIRE(file != nullptr);
  std::fflush(stdout);
  const int standard_output = ::dup(STDOUT_FILENO);
  REQUIRE(::dup2(::fileno(file.get()), STDOUT_FILENO) == STDOUT_FILENO);
  const int status = print();
  ::dup2(standard_output, STDOUT_FILENO);
  ::close(standard_output);
  CHECK(status == 0);
  std::string text(static_cast<size_t>(std::ftell(file.get())), '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

TEST_CASE("table: text is aligned and rounded") {
  CHECK(Example().ToText() ==
        "name      module         count  error    share   address\n"
        "add       libc.so.6  1,234,567   ± 12  25.00 %  0x401000\n"
        "a \"b\", c  [vdso]             7         33.33 %       0x1\n"
        "2 of 2\n"
        "note: something was lost\n");
}

TEST_CASE("table: a terminal gets no control characters") {
  Table table({{"name", "na\nme"}, {"path", "path", Column::kPath}});
  table.AddRow({"esc\033[31m", "/a\b/c\n"});
  table.AddSummary("\r1 of 1");
  table.AddNote("größe\007");
  CHECK(table.ToText() ==
        "na?me     path\n"
        "esc?[31m  c?\n"
        " 1 of 1\n"
        "note: größe?\n");
}

TEST_CASE("table: names of functions are short in text only") {
  Table table({{"count", "count", Column::kCount},
               {"function", "function", Column::kFunction},
               {"events", "events", Column::kCount}});
  table.AddRow({uint64_t{1000}, "void lexer<std::map<int>>::scan(char)", uint64_t{5}});
  table.AddRow({uint64_t{2}, Cell(), uint64_t{50}});
  CHECK(table.ToText() ==
        "count  function                events\n"
        "1,000  lexer<...>::scan(char)       5\n"
        "    2                              50\n");
  const std::string full =
      "count  function                               events\n"
      "1,000  void lexer<std::map<int>>::scan(char)       5\n"
      "    2                                             50\n";
  CHECK(table.ToText(NameStyle::kFull) == full);
  CHECK(Printed([&] { return table.Print("mix", Format::kTable, NameStyle::kFull); }) == full);
  CHECK(table.ToCsv() ==
        "count,function,events\n1000,void lexer<std::map<int>>::scan(char),5\n2,,50\n");
  CHECK(table.ToJson().find("\"void lexer<std::map<int>>::scan(char)\"") != std::string::npos);
}

TEST_CASE("table: CSV is exact and quoted") {
  CHECK(Example().ToCsv() ==
        "name,module,count,error,share,at\n"
        "add,/lib/libc.so.6,1234567.4,12,0.25,0x401000\n"
        "\"a \"\"b\"\", c\",[vdso],7,,0.3333333333333333,0x1\n");
}

TEST_CASE("table: JSON has keys in the order of the columns") {
  Table table({{"name", ""}, {"count", "", Column::kCount}, {"at", "", Column::kAddress}});
  table.AddField("total", 2.5);
  table.AddRow({"x\"\xff", std::numeric_limits<double>::infinity(), uint64_t{16}});
  table.AddNote("n");
  CHECK(table.ToJson() ==
        "{\n"
        "  \"total\": 2.5,\n"
        "  \"rows\": [\n"
        "    {\n"
        "      \"name\": \"x\\\"\xef\xbf\xbd\",\n"
        "      \"count\": null,\n"
        "      \"at\": \"0x10\"\n"
        "    }\n"
        "  ],\n"
        "  \"notes\": [\n"
        "    \"n\"\n"
        "  ]\n"
        "}\n");
}

TEST_CASE("table: without rows there is still a header") {
  const Table table({{"a", "A"}, {"b", "B"}});
  CHECK(table.ToText() == "A  B\n");
  CHECK(table.ToCsv() == "a,b\n");
  CHECK(table.ToJson() == "{\n  \"rows\": []\n}\n");
}

TEST_CASE("table: rows that are printed as they come make the same document") {
  for (const Format format : {Format::kCsv, Format::kJson}) {
    const auto text_of = [&](const Table& table) {
      return format == Format::kCsv ? table.ToCsv() : table.ToJson();
    };
    for (size_t rows = 0; rows < 4; ++rows) {
      Table whole({{"name", ""}, {"count", "", Column::kCount}});
      whole.AddField("total", uint64_t{7});
      Table parts = whole;
      const std::string printed = Printed([&] {
        int status = parts.PrintRows("test", format);
        for (size_t row = 0; row < rows; ++row) {
          whole.AddRow({"row", uint64_t{row}});
          parts.AddRow({"row", uint64_t{row}});
          if (row != 2) status |= parts.PrintRows("test", format);
        }
        return status | parts.Print("test", format);
      });
      CHECK(printed == text_of(whole));
    }
  }
}

TEST_CASE("table: rows that were measured are printed as they come, and look the same") {
  const auto add_row = [](size_t row, Table* table) {
    table->AddRow({row % 2 == 0 ? "/a/lib.so" : "/b/lib.so", "void f<std::vector<int>>::g(int)",
                   1e7 / static_cast<double>(row + 1), 3e4, Cell(uint64_t{1} << (4 * row))});
  };
  for (const NameStyle names : {NameStyle::kShort, NameStyle::kFull}) {
    for (size_t rows = 0; rows < 5; ++rows) {
      Table whole({{"module", "module", Column::kPath},
                   {"function", "function", Column::kFunction},
                   {"count", "count", Column::kCount},
                   {"error", "std. error", Column::kError},
                   {"at", "at", Column::kAddress}});
      whole.AddSummary("all of them");
      whole.AddNote("something was lost");
      Table parts = whole;
      const std::string printed = Printed([&] {
        int status = 0;
        for (size_t row = 0; row < rows; ++row) {
          add_row(row, &whole);
          add_row(row, &parts);
          if (row != 1) parts.MeasureRows();
        }
        parts.EndMeasuring(names);
        for (size_t row = 0; row < rows; ++row) {
          add_row(row, &parts);
          if (row != 2) status |= parts.PrintRows("test", Format::kTable);
        }
        return status | parts.Print("test", Format::kTable, names);
      });
      CHECK(printed == whole.ToText(names));
    }
  }
}

}  // namespace
}  // namespace hbbp::tools
