// Tests the files of speedscope with a library whose counts are known (tiny_profile.h).
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

using Json = nlohmann::json;

TEST_CASE("speedscope has a profile for each thread, whose stacks begin with the module") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.command = "a \"command\" that is \xff not UTF-8";
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Exported exported = ExportOrFail(kSpeedscopeExporter, analysis);
  CHECK(exported.notes.empty());
  const Json file = Json::parse(exported.text);
  CHECK(file["$schema"] == "https://www.speedscope.app/file-format-schema.json");
  CHECK(file["name"] == "a \"command\" that is \xef\xbf\xbd not UTF-8");
  CHECK(file["activeProfileIndex"] == 0);
  const Json& frames = file["shared"]["frames"];
  REQUIRE(frames.size() == 3);
  CHECK(frames[0]["name"] == "lib.so");
  CHECK(frames[0]["file"] == path);
  CHECK(frames[1]["name"] == "tiny_work");
  CHECK(frames[1].count("line") == 0);
  CHECK(frames[2]["name"] == "tiny_twice");

  const Json& profiles = file["profiles"];
  REQUIRE(profiles.size() == 2);
  for (const Json& profile : profiles) {
    CHECK(profile["type"] == "sampled");
    CHECK(profile["unit"] == "none");
    CHECK(profile["startValue"] == 0);
  }
  CHECK(profiles[0]["name"] == "first 10");
  CHECK(profiles[0]["samples"] == Json::parse("[[0,1]]"));
  CHECK(profiles[0]["weights"] == Json::parse("[16000]"));
  CHECK(profiles[0]["endValue"] == 16000);
  CHECK(profiles[1]["name"] == "second 11");
  CHECK(profiles[1]["samples"] == Json::parse("[[0,1],[0,2]]"));
  CHECK(profiles[1]["weights"] == Json::parse("[6000,1000]"));
  CHECK(profiles[1]["endValue"] == 7000);
}

}  // namespace
}  // namespace hbbp
