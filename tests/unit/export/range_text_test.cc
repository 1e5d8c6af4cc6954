// Tests the texts of ranges and branches with a library whose addresses and counts are known:
// TinyProfile counts entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
#include <string>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

std::string Hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%lx", static_cast<unsigned long>(number));
  return text;
}

TEST_CASE("ranges are blocks, from the first instruction to the last") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  const uint64_t work = TinyWorkOffset(path);  // also the address, where ld puts it

  const Exported autofdo = ExportOrFail(kAutofdoExporter, analysis);
  CHECK(autofdo.notes.empty());
  const std::string ranges = Hex(work) + "-" + Hex(work + 2) + ":2000\n" + Hex(work + 7) + "-" +
                             Hex(work + 11) + ":6000\n" + Hex(work + 14) + "-" + Hex(work + 19) +
                             ":333\n";
  CHECK(autofdo.text == "3\n" + ranges + "0\n0\n");

  // ld has the code in a segment of its own, which begins with a page.
  const uint64_t offset = work & 0xfff;
  const Exported profgen = ExportOrFail(kProfgenExporter, analysis);
  CHECK(profgen.text.starts_with("3\n" + Hex(offset) + "-" + Hex(offset + 2) + ":2000\n"));
  CHECK(profgen.text.ends_with("\n0\n"));
}

TEST_CASE("without counts there is nothing to write") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  Exported exported;
  const Status status = ExportTo(kAutofdoExporter, analysis, &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("no block was counted") != std::string::npos);
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
