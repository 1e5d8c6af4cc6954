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

}  // namespace
}  // namespace hbbp
