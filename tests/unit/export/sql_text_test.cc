// Tests the text of the statements; the tables are tested by SQLite, in tests/integration.
#include <string>
#include <utility>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

std::string ExportTiny(ProfileData data, uint32_t module = kNoIndex) {
  return ExportOrFail(kSqlExporter, AnalyzeOrFail(std::move(data)), module).text;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("blocks, observations and instructions refer to each other by number") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const std::string work = std::to_string(TinyWorkOffset(path));
  const std::string loop = std::to_string(TinyWorkOffset(path) + kTinyLoop);
  const std::string text = ExportTiny(TinyProfile(path));
  CHECK(text.starts_with("BEGIN;\n"));
  CHECK(text.ends_with("\nCOMMIT;\n"));
  CHECK(Has(text, "INSERT INTO threads VALUES\n(0,10,10,'first'),\n(1,10,11,'second');\n"));
  CHECK(Has(text, ",'tiny_work','tiny_work'," + work + ","));
  // The loop: 6000 executions by 18 samples, 9 and 3 of thread 0 and 6 of thread 1.
  CHECK(Has(text, "(1,0,0," + loop + ","));
  CHECK(Has(text, "\n(1,0,NULL,4000,"));
  CHECK(Has(text, "\n(1,1,NULL,2000,"));
  CHECK(Has(text, "(1," + loop + ","));
  CHECK(Has(text, "\"element_bits\" INTEGER"));
  CHECK(Has(text, "'dec','base','integer-arithmetic','legacy'"));
  CHECK_FALSE(Has(text, "INSERT INTO slices"));
}

TEST_CASE("texts are quoted, and what SQL cannot hold is replaced") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.command = std::string("it's\0 \xc3\xa4 \xff \xc3", 12);
  data.threads[0].name = "'); DROP TABLE blocks; --";
  data.threads[1].name.clear();
  const std::string text = ExportTiny(std::move(data));
  CHECK(Has(text, "('command','it''s? \xc3\xa4 ? ?')"));
  CHECK(Has(text, "(0,10,10,'''); DROP TABLE blocks; --'),\n(1,10,11,NULL);\n"));
}

TEST_CASE("characters that UTF-8 does not have are replaced byte by byte") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  // An overlong slash, a surrogate, and what is above the last character.
  data.command = "\xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xf0\x9f\x98\x80";
  CHECK(Has(ExportTiny(std::move(data)), "('command','??? ??? ???? \xf0\x9f\x98\x80')"));
}

TEST_CASE("functions without code have rows, and addresses above 2^63 are negative") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.modules[0] = {};
  data.modules[0].kind = ModuleKind::kAnonymous;
  data.modules[0].path = "[anon]";
  constexpr uint64_t kStart = 0xffffffff81000000;
  data.modules[0].functions = {{{{kStart}, {kStart + 256}}, "compiled"}};
  data.counts = {MakeCount(0, 0, 0, kStart + 8, 2, kTinyPeriod)};
  const std::string text = ExportTiny(std::move(data));
  CHECK(Has(text, "(0,0,'compiled','compiled',-2130706432,-2130706176,2000,"));
  CHECK_FALSE(Has(text, "INSERT INTO blocks"));
}

TEST_CASE("only the chosen module is in the tables") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), other = directory.File("other.so");
  if (!BuildTinyLibrary(path) || !BuildTinyLibrary(other)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.modules.push_back(data.modules[0]);
  data.modules[1].path = other;
  data.counts.push_back(MakeCount(1, 0, 0, TinyWorkOffset(other), 7, kTinyPeriod));
  const std::string text = ExportTiny(std::move(data), 1);
  CHECK(Has(text, "INSERT INTO modules VALUES\n(1,'" + other + "','"));
  CHECK_FALSE(Has(text, path));
  CHECK_FALSE(Has(text, "tiny_twice"));
}

}  // namespace
}  // namespace hbbp
