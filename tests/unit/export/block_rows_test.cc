// Tests the tables of blocks with a library whose addresses and counts are known: TinyProfile
// counts entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
#include "export/block_rows.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "estimate/count_interval.h"
#include "export/exporter.h"
#include "image/build_id.h"
#include "image/elf_image.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

using Json = nlohmann::json;

constexpr char kHeader[] =
    "module,build_id,function,symbol,start,end,instructions,count,standard_error,low,high,source,"
    "samples,file,line\r\n";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find("\r\n", begin);
    REQUIRE(end != std::string::npos);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return lines;
}

TEST_CASE("csv has a row for each block") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib \"a\", b.so");
  if (!BuildTinyLibrary(directory.File("lib.so"))) HBBP_SKIP("there is no compiler");
  std::filesystem::rename(directory.File("lib.so"), path);
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  const std::string text = ExportOrFail(kCsvExporter, analysis).text;
  REQUIRE(text.starts_with(kHeader));
  const std::vector<std::string> lines = Lines(text);
  REQUIRE(lines.size() == 4);
  const std::string quoted = "\"" + directory.File("lib \"\"a\"\", b.so") + "\"";
  char range[64];
  const auto work = static_cast<unsigned long>(TinyWorkOffset(path));
  std::snprintf(range, sizeof(range), "0x%lx,0x%lx", work, work + 7);
  CHECK(lines[1].starts_with(quoted + "," + BuildIdText(analysis.data().modules[0].build_id) +
                             ",tiny_work,tiny_work," + range + ",2,2000,1000,"));
  CHECK(lines[1].ends_with(",ebs,4,,"));
}

TEST_CASE("json has the same as numbers") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.sources[1].lost = 7;
  data.modules[0].path = path;
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Json json = Json::parse(ExportOrFail(kJsonExporter, analysis).text);
  const std::string build_id = BuildIdText(analysis.data().modules[0].build_id);
  CHECK(json["modules"] == Json::array({{{"name", path}, {"build_id", build_id}}}));
  REQUIRE(json["sources"].size() == 2);
  CHECK(json["sources"][1] == Json{{"kind", "ebs"},
                                   {"event", "task-clock"},
                                   {"event_name", nullptr},
                                   {"period", kTinyPeriod},
                                   {"lost", 7}});
  REQUIRE(json["blocks"].size() == analysis.blocks().size());
  for (size_t i = 0; i < analysis.blocks().size(); ++i) {
    const BlockRecord& record = analysis.blocks()[i];
    const Json& block = json["blocks"][i];
    REQUIRE(block.size() == kBlockColumns.size());
    CHECK(block["module"] == path);
    CHECK(block["build_id"] == build_id);
    CHECK(block["start"] == record.block.start.value);
    CHECK(block["end"] == record.block.end.value);
    CHECK(block["instructions"] == record.block.instruction_count);
    CHECK(block["count"] == record.estimate.count);
    CHECK(block["standard_error"] == record.estimate.standard_error);
    CHECK(block["low"] == IntervalOf(record.estimate).low);
    CHECK(block["high"] == IntervalOf(record.estimate).high);
    CHECK(block["source"] == "ebs");
    CHECK(block["samples"] == record.samples);
    CHECK(block["file"].is_null());
    CHECK(block["line"].is_null());
  }
  CHECK(json["blocks"][0]["function"] == "tiny_work");
  CHECK(json["blocks"][2]["symbol"] == "tiny_twice");
}

TEST_CASE("blocks have the line of their first instruction, and names in both forms") {
  const TemporaryFolder directory;
  const std::string source = directory.File("code.c"), path = directory.File("lib.so");
  std::ofstream(source) << "int f(int x) __asm__(\"_ZN1a1fEi\");\n\nint f(int x) { return x; }\n";
  if (!RunCommand("cc -shared -fPIC -O1 -g -o " + path + " " + source)) {
    HBBP_SKIP("there is no compiler");
  }
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const ModuleAddress f = *(*image)->AddressOfSymbol("_ZN1a1fEi");
  ProfileData data = TinyProfile(path);
  data.counts = {MakeCount(0, 0, 0, (*image)->OffsetOfAddress(f)->value, 5, kTinyPeriod)};
  const Json json = Json::parse(ExportOrFail(kJsonExporter, AnalyzeOrFail(std::move(data))).text);
  REQUIRE(json["blocks"].size() == 1);
  const Json& block = json["blocks"][0];
  CHECK(block["symbol"] == "_ZN1a1fEi");
  CHECK(block["function"] == "a::f(int)");
  CHECK(block["file"] == source);
  CHECK(block["line"] == 3);
}

TEST_CASE("only the chosen module has rows") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), other = directory.File("other.so");
  if (!BuildTinyLibrary(path) || !BuildTinyLibrary(other, "b")) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.modules.push_back(TinyProfile(other).modules[0]);
  IpCount count = data.counts.back();
  count.module = 1;
  data.counts.push_back(count);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Json json = Json::parse(ExportOrFail(kJsonExporter, analysis, 1).text);
  REQUIRE(json["modules"].size() == 1);
  CHECK(json["modules"][0]["name"] == other);
  REQUIRE(json["blocks"].size() == 1);
  CHECK(json["blocks"][0]["module"] == other);
  CHECK(Lines(ExportOrFail(kCsvExporter, analysis, 1).text).size() == 2);
}

}  // namespace
}  // namespace hbbp
