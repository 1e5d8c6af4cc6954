// Tests callgrind's format with a library whose addresses and counts are known: TinyProfile counts
// entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
#include <cstdio>
#include <string>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

std::string Cost(uint64_t address, const std::string& count) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%lx 0 ", static_cast<unsigned long>(address));
  return text + count + "\n";
}

TEST_CASE("instructions cost what they executed") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.command = "a\nb";
  const std::string text = ExportOrFail(kCallgrindExporter, AnalyzeOrFail(std::move(data))).text;
  CHECK(text ==
        "# callgrind format\nversion: 1\ncreator: libhbbp\ncmd: a b\n"
        "positions: instr line\nevents: Ir\n\n"
        "ob=(1) " +
            path + "\nfl=(1) ???\nfn=(1) tiny_work\n" + Cost(work, "2000") +
            Cost(work + 2, "2000") + Cost(work + 7, "6000") + Cost(work + 9, "6000") +
            Cost(work + 11, "6000") + "fl=(1)\nfn=(2) tiny_twice\n" + Cost(work + 14, "333") +
            Cost(work + 16, "333") + Cost(work + 19, "333") + "\ntotals: 22999\n");
}

}  // namespace
}  // namespace hbbp
