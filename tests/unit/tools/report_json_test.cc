// Tests the JSON of a report: each list in its form for the page, and that no text can end the
// element of the page that it is in.
#include "export/report_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

using Json = nlohmann::json;

Report Example() {
  Report report;
  report.command = "./program";
  report.instructions = 30;
  report.modules.push_back({"/bin/program", "0a1b", "file", "file", "", 3});
  report.properties.push_back({"mnemonic", {"add", "jne"}});
  report.tuples = {{0}, {1}};
  report.functions.push_back({"main", 0, 0x1000, 0x1010, 30, 2.5, 3});
  ReportBlock block;
  block.start = 0x1000;
  block.end = 0x1005;
  block.count = 10.0 / 3;
  block.error = 0.5;
  block.source = "ebs";
  block.instructions = {{0x1000, 3, 0, "add rax, 1", 0, 17, 0}, {0x1003, 2, 1, "jne 0x1000"}};
  block.parts = {{1, 10.0 / 3, 0.5}};
  report.blocks.push_back(block);
  report.rest.push_back({0, kNotListed, 1, 1, 7, 0.25});
  report.threads = {{7, 7, "main", 2, 12, 1}, {7, 8, "worker", 1, 18, 2}};
  report.tasks = {{7, 0}, {7, kNotListed}, {kNotListed, kNotListed}};
  report.mixes.push_back({"mnemonic", {"add"}, {1.5}, {0.125}});
  ReportLoop loop;
  loop.trips = std::nan("");
  loop.parent = kNotListed;
  report.loops.push_back(loop);
  report.ratios.push_back({"memory", "bytes-read", 12.5, "bytes", 0.75});
  report.edges.push_back({0, 0, "branch", 7});
  report.edges.push_back({0, 0, "next", std::nan("")});
  report.ibs.events = {"op-samples"};
  report.ibs.totals = {5};
  report.ibs.rows.push_back({0, kNotListed, 0x1003, "main", "jne 0x1000", {4}});
  report.ibs.rows.push_back({0, kNotListed, UINT64_MAX, "", "", {1}});
  report.ibs.latencies.push_back({"fetch", {{16, 20, 3}}});
  report.ibs.loads.push_back(
      {0, kNotListed, 0x1003, "main", "", {{"l2", {{12, 14, 2}, {14, 16, 1}}}, {"unknown", {}}}});
  report.ibs.load_count = 9;
  IbsAccessRow page;
  page.pid = 7;
  page.address = 0x7f0000000000;
  page.loads = 3;
  page.nodes = "1";
  report.ibs.pages = {{page}, 8};
  IbsAccessRow object;
  object.module = 0;
  object.name = "table";
  object.size = 64;
  report.ibs.objects.rows = {object};
  report.ibs.sampled_events = {"cycles", "instructions"};
  report.blocks[0].instructions[0].ops = IbsOps{5, 2, 2, 300, 2, 2};
  report.blocks[0].instructions[1].samples = {0, 4};
  report.source_files = {"a.c"};
  report.source_states = {kSourceRead};
  report.source_text = {{{17, "a < b;"}}};
  report.inlined = {"f"};
  return report;
}

bool IsHarmlessInScript(const std::string& text) {
  for (const char c : text) {
    if (c < ' ' || c > '~' || c == '<' || c == '>' || c == '&') return false;
  }
  return true;
}

TEST_CASE("report: lists become columns, rows of code are short") {
  const Json json = Json::parse(ReportToJson(Example()));
  CHECK(json["functions"]["name"] == Json({"main"}));
  CHECK(json["functions"]["start"] == Json({"1000"}));
  CHECK(json["functions"]["size"] == Json({16}));
  CHECK(json["functions"]["source"] == Json::parse("[null]"));
  CHECK(json["blocks"]["loop"] == Json({-1}));
  CHECK(json["edges"]["kind"] == Json({"branch", "next"}));
  CHECK(json["edges"]["count"] == Json({7, nullptr}));
  CHECK(json["ibs"]["rows"]["address"] == Json({"1003", nullptr}));
  CHECK(json["ibs"]["rows"]["values"] == Json::parse("[[4], [1]]"));
  CHECK(json["ibs"]["latencies"][0]["buckets"] == Json::parse("[[16, 20, 3]]"));
  const Json& loads = json["ibs"]["loads"];
  CHECK(loads["address"] == Json({"1003"}));
  CHECK(loads["function"] == Json({-1}));
  CHECK(loads["levels"][0][0] ==
        Json::parse(R"({"name": "l2", "buckets": [[12, 14, 2], [14, 16, 1]]})"));
  CHECK(json["ibs"]["load_count"] == 9);
  CHECK(json["ibs"]["lines"]["rows"]["address"] == Json::array());
  CHECK(json["ibs"]["pages"]["row_count"] == 8);
  CHECK(json["ibs"]["pages"]["rows"]["address"] == Json({"7f0000000000"}));
  CHECK(json["ibs"]["pages"]["rows"]["module"] == Json({-1}));
  CHECK(json["ibs"]["pages"]["rows"]["node"] == Json({"1"}));
  CHECK(json["ibs"]["objects"]["rows"]["address"] == Json::parse("[null]"));
  CHECK(json["ibs"]["objects"]["rows"]["name"] == Json({"table"}));
  CHECK(json["ibs"]["sampled_events"] == Json({"cycles", "instructions"}));
  CHECK(json["ibs"]["code"] == Json::parse(R"({"block": [0, 0], "at": [0, 1],
      "samples": [[], [0, 4]], "ops": [5, 0], "misses": [2, 0], "mean_miss": [150, null]})"));
  CHECK(json["blocks"]["code"] ==
        Json::parse(R"([[[3, 0, "add rax, 1", 0, 17, 0], [2, 1, "jne 0x1000"]]])"));
  CHECK(json["loops"]["trips"][0].is_null());
  CHECK(json["loops"]["parent"] == Json({-1}));
  CHECK(json["ratios"][0]["value"] == 12.5);
  CHECK(json["ratios"][0]["error"] == 0.75);
  CHECK(json["source_text"] == Json::parse(R"([{"17": "a < b;"}])"));
  CHECK(json["rest"]["function"] == Json({-1}));
  CHECK(json["mixes"][0]["errors"] == Json({1.5}));
  CHECK(json["mixes"][0]["share_errors"] == Json({0.125}));
  CHECK(json["rest"]["task"] == Json({1}));
  CHECK(json["tuples"] == Json::parse("[[0], [1]]"));
}

TEST_CASE("report: a block has its task, or what each task has of it") {
  Report report = Example();
  CHECK(Json::parse(ReportToJson(report))["blocks"]["tasks"] == Json({1}));
  report.blocks[0].parts = {{0, 1.0 / 3, 0.125}, {2, 3, 0.5}};
  const Json json = Json::parse(ReportToJson(report));
  CHECK(json["blocks"]["tasks"] == Json::parse("[[[0, 0.333333, 0.125], [2, 3, 0.5]]]"));
  CHECK(json["tasks"] == Json::parse(R"([{"pid": 7, "thread": 0}, {"pid": 7, "thread": -1},
                                         {"pid": -1, "thread": -1}])"));
  CHECK(json["threads"][1] == Json::parse(R"({"pid": 7, "tid": 8, "name": "worker", "samples": 1,
                                              "instructions": 18, "error": 2})"));
}

TEST_CASE("report: slices have a row for each value") {
  Report report = Example();
  report.slices.width_ns = 1000;
  report.slices.count = 3;
  report.slices.joined = 2;
  report.slices.samples = {4, 1};
  report.slices.instructions = {20, 1.0 / 3};
  report.slices.timelines = {{"mnemonic", {"add"}, {{15, 0}}, 1}};
  CHECK(Json::parse(ReportToJson(report))["slices"] ==
        Json::parse(R"({"width_ns": 1000, "count": 3, "joined": 2, "samples": [4, 1],
                        "instructions": [20, 0.333333], "without_time": 0,
                        "timelines": [{"key": "mnemonic", "values": ["add"],
                                       "instructions": [[15, 0]], "other_values": 1}]})"));
}

TEST_CASE("report: estimates are rounded to six digits, whole ones are integers") {
  Report report = Example();
  report.instructions = 1234567890123;
  const Json json = Json::parse(ReportToJson(report));
  CHECK(json["blocks"]["count"][0] == 3.33333);
  CHECK(json["instructions"].is_number_integer());
  CHECK(json["instructions"] == 1234570000000);
}

TEST_CASE("report: numbers that JSON does not have are null") {
  Report report = Example();
  report.blocks[0].count = std::nan("");
  report.blocks[0].error = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(ReportToJson(report));
  CHECK(json["blocks"]["count"][0].is_null());
  CHECK(json["blocks"]["error"][0].is_null());
}

TEST_CASE("report: addresses of kernels are exact") {
  Report report = Example();
  report.functions[0].start = 0xffffffff81000123;
  report.functions[0].end = 0xffffffff81000124;
  const Json json = Json::parse(ReportToJson(report));
  CHECK(json["functions"]["start"][0] == "ffffffff81000123");
  CHECK(json["functions"]["size"][0] == 1);
}

TEST_CASE("report: hostile names neither leave their script element nor get lost") {
  const std::string hostile[] = {
      "</script><script>alert(1)</script>",
      "<!--<script>",
      "]]>&lt;&amp;",
      "\"\\\b\f\n\r\t\x01\x1f\x7f",
      "\xe2\x80\xa8 and \xe2\x80\xae",  // separator, right-to-left override
      std::string("nul\0inside", 10),
      "\xf0\x9f\x98\x80 \xc3\xa9"};
  for (const std::string& name : hostile) {
    Report report = Example();
    report.command = name;
    report.files = {name};
    report.modules[0].path = name;
    report.modules[0].problem = name;
    report.functions[0].name = name;
    report.blocks[0].instructions[0].text = name;
    report.properties[0].values[0] = name;
    report.caveats = {name};
    report.source_files = {name};
    report.source_text = {{{1, name}}};
    report.inlined = {name};
    report.threads.push_back({1, 2, name, 3});
    ReportSource& source = report.sources.emplace_back();
    source.note = name;
    source.unexplained_reasons.emplace_back(name, 4);
    const std::string text = ReportToJson(report);
    CHECK(IsHarmlessInScript(text));
    const Json json = Json::parse(text);
    CHECK(json["command"] == name);
    CHECK(json["functions"]["name"][0] == name);
    CHECK(json["modules"][0]["problem"] == name);
    CHECK(json["blocks"]["code"][0][0][2] == name);
    CHECK(json["properties"][0]["values"][0] == name);
    CHECK(json["sources"][0]["reasons"] == Json::array({Json::array({name, 4})}));
  }
}

TEST_CASE("report: bytes that are not UTF-8 are replaced") {
  for (const std::string name : {"\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf8\x88"}) {
    Report report = Example();
    report.functions[0].name = name;
    const std::string text = ReportToJson(report);
    CHECK(IsHarmlessInScript(text));
    CHECK(Json::parse(text)["functions"]["name"][0].get<std::string>().find("\xef\xbf\xbd") !=
          std::string::npos);
  }
}

TEST_CASE("report: an empty profile is a report, too") {
  const Json json = Json::parse(ReportToJson(Report()));
  CHECK(json["functions"]["name"] == Json::array());
  CHECK(json["instructions"] == 0);
}

}  // namespace
}  // namespace hbbp::tools
