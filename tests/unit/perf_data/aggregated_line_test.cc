#include "perf_data/aggregated_line.h"

#include <catch2/catch.hpp>
#include <string>

namespace hbbp {
namespace {

AggregatedLocation At(uint64_t address, std::string_view build_id = "") {
  return {build_id, false, address};
}
AggregatedLocation Outside(uint64_t address) { return {"", true, address}; }

TEST_CASE("branches, code and both are read with their counts") {
  auto line = ParseAggregatedLine("B 4b1 0x4a0 12 3");
  REQUIRE(line);
  CHECK(line->from == At(0x4b1));
  CHECK(line->to == At(0x4a0));
  CHECK(!line->end);
  CHECK(line->count == 12);
  CHECK(ParseAggregatedLine("B 4b1 4a0 12")->count == 12);
  for (const std::string kind : {"F", "f", "r"}) {
    line = ParseAggregatedLine(kind + " 4a0 4b1 7\r");
    REQUIRE(line);
    CHECK(!line->from);
    CHECK(line->to == At(0x4a0));
    CHECK(line->end == At(0x4b1));
    CHECK(line->count == 7);
  }
  for (const std::string kind : {"T", "R"}) {
    line = ParseAggregatedLine(kind + " 4b1 4a0 4b8 2");
    REQUIRE(line);
    CHECK(line->from == At(0x4b1));
    CHECK(line->to == At(0x4a0));
    CHECK(line->end == At(0x4b8));
    CHECK(line->count == 2);
    CHECK(ParseAggregatedLine(kind + " 4b1 4a0 4b8 2 1"));
  }
}

TEST_CASE("locations are of files by build ID, or outside of all") {
  const auto line = ParseAggregatedLine("T 9bf17bfa97e4:4b1 X:7f00 9bf17bfa97e4:4b8 2");
  REQUIRE(line);
  CHECK(line->from == At(0x4b1, "9bf17bfa97e4"));
  CHECK(line->to == Outside(0x7f00));
  CHECK(line->end == At(0x4b8, "9bf17bfa97e4"));
}

TEST_CASE("an empty build ID is that of the one file") {
  const auto line = ParseAggregatedLine("B :4b1 9bf17bfa97e4:4b8 2 0");
  REQUIRE(line);
  CHECK(line->from == At(0x4b1));
  CHECK(line->to == At(0x4b8, "9bf17bfa97e4"));
  CHECK(!ParseAggregatedLine("B : 4b8 2 0"));
}

TEST_CASE("marks stand for what is not known") {
  auto line = ParseAggregatedLine("T 4b1 4a0 ffffffffffffffff 2");
  REQUIRE(line);
  CHECK(line->from);
  CHECK(!line->end);
  line = ParseAggregatedLine("T ffffffffffffffff 4a0 4b8 2");
  REQUIRE(line);
  CHECK(!line->from);
  CHECK(line->end);
  for (const char* text : {"T fffffffffffffffe 4a0 4b8 2", "R fffffffffffffffd 4a0 4b8 2"}) {
    line = ParseAggregatedLine(text);
    REQUIRE(line);
    CHECK(line->from == Outside(0));
  }
  CHECK(!ParseAggregatedLine("T ffffffffffffffff 4a0 ffffffffffffffff 2"));
  CHECK(!ParseAggregatedLine("B ffffffffffffffff 4a0 2"));
}

TEST_CASE("events and instruction pointers are read") {
  CHECK(ParseAggregatedLine("E br_inst_retired.near_taken:u")->event ==
        "br_inst_retired.near_taken:u");
  const auto line = ParseAggregatedLine("S 4a0 9");
  REQUIRE(line);
  CHECK(line->ip == At(0x4a0));
  CHECK(line->count == 9);
}

TEST_CASE("other lines are not taken for aggregated ones") {
  for (const char* line : {"",
                           "B",
                           "E",
                           "E two words",
                           "B it is",
                           "B 1 2",
                           "B 1 2 3 4 5",
                           "Bad 1 2 3",
                           "T 1 2 3",
                           "T 1 2 3 4 5 6",
                           "F 1 2 3 4",
                           "S 1",
                           "S 1 2 3",
                           "B 1 2 -3",
                           "B 1 2 9007199254740993",
                           "B 1 2 3 x",
                           "B abc:1 2 3",
                           "B g1:1 2 3",
                           "B 1 10000000000000000 3",
                           "X 1 2 3",
                           "F 1234 12.5: 1000 cycles: 40062f 0x4/0x3/P"}) {
    CHECK(!ParseAggregatedLine(line));
  }
}

TEST_CASE("text is recognized by its first line that says something") {
  for (const char* text : {"B 4b1 4a0 12 3", "E cycles\nB 4b1 4a0 12\n", "\n# of BOLT\nS 1 2\n"}) {
    CHECK(IsAggregatedText(text));
  }
  for (const char* text : {"", "\n\n", "# B 4b1 4a0 12 3", " 40062f 0x4/0x3/P\nB 4b1 4a0 12 3\n",
                           "B it is\nB 4b1 4a0 12 3\n"}) {
    CHECK(!IsAggregatedText(text));
  }
}

}  // namespace
}  // namespace hbbp
