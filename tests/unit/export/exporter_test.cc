// Tests what is the same for all formats: which module is written, and what is refused.
#include "export/exporter.h"

#include <string>
#include <utility>

#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

void CheckRefused(const Exporter& exporter, const Analysis& analysis, uint32_t module = kNoIndex) {
  CAPTURE(exporter.name);
  Exported exported;
  const Status status = ExportTo(exporter, analysis, &exported, module);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("was counted") != std::string::npos);
  CHECK(exported.text.empty());
}

// Only the address of its function is known.
ProfileData ProfileWithoutCode(const std::string& library) {
  ProfileData data = TinyProfile(library);
  ModuleRecord generated;
  generated.kind = ModuleKind::kAnonymous;
  generated.path = "[anon]";
  generated.functions = {{{{0x10000}, {0x10100}}, "compiled"}};
  data.modules.push_back(std::move(generated));
  data.counts = {MakeCount(1, 0, 0, 0x10008, 2, kTinyPeriod)};
  return data;
}

TEST_CASE("without counts no format has anything to write") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  for (const Exporter* exporter : Exporters()) {
    CheckRefused(*exporter, analysis);
    CheckRefused(*exporter, analysis, 0);
  }
}

TEST_CASE("functions without code are nothing for formats of code, and enough for others") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(ProfileWithoutCode(path));
  REQUIRE(analysis.blocks().empty());
  REQUIRE(analysis.functions().size() == 1);
  CheckRefused(kAutofdoExporter, analysis);
  CheckRefused(kSpeedscopeExporter, analysis, 0);
  const std::string text = ExportOrFail(kSpeedscopeExporter, analysis).text;
  CHECK(text.find("\"compiled\"") != std::string::npos);
  for (const Exporter* exporter : {&kCallgrindExporter, &kCsvExporter, &kJsonExporter}) {
    CheckRefused(*exporter, analysis);
  }
}

TEST_CASE("formats of code say how much is in functions without") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = ProfileWithoutCode(path);
  data.counts.push_back(MakeCount(0, 0, 0, TinyWorkOffset(path), 4, kTinyPeriod));
  Normalize(&data.counts);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  REQUIRE(!analysis.blocks().empty());
  for (const Exporter* exporter : {&kCallgrindExporter, &kCsvExporter, &kJsonExporter}) {
    CAPTURE(exporter->name);
    const Exported exported = ExportOrFail(*exporter, analysis);
    REQUIRE(!exported.notes.empty());
    CHECK(
        exported.notes[0].find("% of the instructions are of functions whose code is not known") !=
        std::string::npos);
    for (const std::string& note : ExportOrFail(*exporter, analysis, 0).notes) {
      CHECK(note.find("whose code is not known") == std::string::npos);
    }
  }
  CHECK(ExportOrFail(kSpeedscopeExporter, analysis).notes.empty());
}

TEST_CASE("of several modules the busiest one is written, and the others are reported") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), other = directory.File("other.so");
  if (!BuildTinyLibrary(path) || !BuildTinyLibrary(other, "b")) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  const ProfileData more = TinyProfile(other);
  data.modules.push_back(more.modules[0]);
  IpCount count = more.counts.back();
  count.module = 1;
  data.counts.push_back(count);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Exported exported = ExportOrFail(kAutofdoExporter, analysis);
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].find(path + " only") != std::string::npos);
  CHECK(exported.text.starts_with("3\n"));
  CHECK(ExportOrFail(kAutofdoExporter, analysis, 1).text.starts_with("1\n"));
}

}  // namespace
}  // namespace hbbp
