#include "table.h"

#include <limits>

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

TEST_CASE("table: text is aligned and rounded") {
  CHECK(Example().ToText() ==
        "name      module         count  error    share   address\n"
        "add       libc.so.6  1,234,567   ± 12  25.00 %  0x401000\n"
        "a \"b\", c  [vdso]             7         33.33 %       0x1\n"
        "2 of 2\n"
        "note: something was lost\n");
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

}  // namespace
}  // namespace hbbp::tools
