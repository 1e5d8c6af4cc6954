// Tests basic block vectors with a library whose addresses and counts are known, and by the reader
// of what exp-bbv writes.
#include <cstdio>
#include <map>
#include <string>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "truth/exp_bbv.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr uint64_t kWidthNs = 100'000'000;

// Entry is in slice 0, the loop in slices 0 and 2, tiny_twice in none.
ProfileData SlicedProfile(const std::string& path) {
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.slices = {kWidthNs, 3};
  data.counts = {
      MakeCount(0, 0, 0, work, 4, kTinyPeriod),
      MakeCount(0, 0, 0, work + kTinyLoop, 5, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyLoop, 6, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyLoop + 2, 4, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyTwice, 5, kTinyPeriod),
  };
  data.counts[0].slice = data.counts[1].slice = 0;
  data.counts[2].slice = data.counts[3].slice = 2;
  return data;
}

std::string BlockComment(uint64_t id, uint64_t address, const std::string& path) {
  char text[64];
  std::snprintf(text, sizeof(text), "# block %lu: 0x%lx ", static_cast<unsigned long>(id),
                static_cast<unsigned long>(address));
  return text + path + "\n";
}

TEST_CASE("an interval is a slice, and a frequency the instructions in a block") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Exported exported = ExportOrFail(kBbvExporter, AnalyzeOrFail(SlicedProfile(path)));
  const uint64_t work = TinyWorkOffset(path);
  CHECK(exported.text ==
        "# slice 0: from 0 to 100000000 ns\n"
        "T:1:4000 :2:5000 \n"
        "# slice 2: from 200000000 to 300000000 ns\n"
        "T:2:10000 \n"
        "\n#   Total instructions: 19000\n" +
            BlockComment(1, work, path) + BlockComment(2, work + kTinyLoop, path));
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].starts_with("20.8 % of the instructions are of no known time"));

  const StatusOr<tools::BbVectors> read = tools::ParseBbVectors(exported.text, "text");
  INFO(read.status().message());
  REQUIRE(read.ok());
  CHECK(read->total == 19000);
  CHECK(read->declared_total == 19000u);
  CHECK(read->instructions == std::map<uint64_t, uint64_t>{{1, 4000}, {2, 15000}});
}

TEST_CASE("streams count by the length of their blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  data.slices = {kWidthNs, 2};
  for (uint32_t slice = 0; slice < 2; ++slice) {
    BranchCount branch;
    branch.from = branch.stream_end = work + 11;
    branch.to = work + kTinyLoop;
    branch.number = 4;
    branch.weights = 1000 * (slice + 1);
    branch.replicates.sums[0] = branch.weights;
    branch.slice = slice;
    data.branches.push_back(branch);
  }
  const Exported exported = ExportOrFail(kBbvExporter, AnalyzeOrFail(std::move(data)));
  CHECK(exported.notes.empty());
  CHECK(exported.text.find("T:1:3000 \n") != std::string::npos);
  CHECK(exported.text.find("T:1:6000 \n") != std::string::npos);
}

TEST_CASE("without slices the message says how to record them") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  Exported exported;
  const Status status = ExportTo(kBbvExporter, AnalyzeOrFail(TinyProfile(path)), &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("--time-quantum") != std::string::npos);
  CHECK(exported.text.empty());
}

}  // namespace
}  // namespace hbbp
