// Tests overlaps of tables of productions in JSON.
#include "probe/compare_probes.h"

#include "support/catch.h"

namespace hbbp::tools {
namespace {

using Catch::Matchers::Contains;

std::string Document(const std::string& rows) { return R"({"rows":[)" + rows + "]}"; }

TEST_CASE("compare probes: rows with the same addresses are the same, whatever their names") {
  const std::string exact = Document(
      R"({"table":"a","pc":"f+0x2","pc_module":"/m","pc_address":"0x12","size":4,"count":30},)"
      R"({"table":"a","pc":"f+0x2","pc_module":"/n","pc_address":"0x12","size":4,"count":10},)"
      R"({"table":"b","pc":"f","pc_module":null,"pc_address":null,"size":null,"count":1},)"
      R"({"table":"traced","stream":"f f","length":2,"count":1})");
  const std::string estimate = Document(
      R"({"table":"a","pc":"g","pc_module":"/m","pc_address":"0x12","size":4,"count":50,)"
      R"("records":5},)"
      R"({"table":"a","pc":"f+0x2","pc_module":"/m","pc_address":"0x12","size":8,"count":50,)"
      R"("records":2},)"
      R"({"table":"traced","stream":"f f","length":2,"count":1})");
  const StatusOr<Table> table = CompareProbes(exact, "exact.json", estimate);
  REQUIRE(table.ok());
  CHECK(table->ToCsv() ==
        "table,overlap,records,exhaustive,rows,exhaustive_rows\na,0.5,7,40,2,2\n");
}

TEST_CASE("compare probes: what the exact profile lacks is noted") {
  const std::string rows = R"("rows":[{"table":"a","count":1}])";
  const StatusOr<Table> table =
      CompareProbes("{" + rows + R"(,"notes":["9 records of a were dropped\u001b",1]})",
                    "exact.json", "{" + rows + "}");
  REQUIRE(table.ok());
  CHECK_THAT(table->ToText(), Contains("note: exact.json: 9 records of a were dropped"));
  CHECK_THAT(table->ToText(), !Contains("\x1b"));
}

TEST_CASE("compare probes: what is not a table of productions is refused") {
  const std::string row = R"({"table":"a","count":1})";
  for (const char* text : {"", "[]", "{}", R"({"rows":1})", R"({"rows":[1]})",
                           R"({"rows":[{"table":"a"}]})", R"({"rows":[{"count":1}]})"}) {
    CAPTURE(text);
    const StatusOr<Table> table = CompareProbes(text, "file", Document(row));
    CHECK(table.status().code() == StatusCode::kBadFormat);
    CHECK_THAT(table.status().message(), Contains("file: not a table of productions"));
  }
  const StatusOr<Table> other =
      CompareProbes(Document(R"({"table":"b","count":1})"), "file", Document(row));
  CHECK(other.status().code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace hbbp::tools
