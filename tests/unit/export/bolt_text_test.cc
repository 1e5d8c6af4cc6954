// Tests the text for BOLT with streams whose addresses and counts are known.
#include <cstdio>
#include <string>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr uint64_t kBranch = kTinyLoop + 4;  // jnz of the loop

BranchCount MakeBranch(uint64_t from, uint64_t to, uint64_t stream_end, double weights) {
  BranchCount branch;
  branch.from = from;
  branch.to = to;
  branch.stream_end = stream_end;
  branch.number = 3;
  branch.weights = weights;
  return branch;
}

std::string Line(char kind, uint64_t from, uint64_t to, const std::string& rest) {
  char text[64];
  std::snprintf(text, sizeof(text), "%c %lx %lx ", kind, static_cast<unsigned long>(from),
                static_cast<unsigned long>(to));
  return text + rest + "\n";
}

TEST_CASE("branches and streams are written with their counts") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources[0].kind = SourceKind::kSwbt;
  data.branches = {
      MakeBranch(work + kBranch, work + kTinyLoop, work + kBranch, 900),
      MakeBranch(work + kBranch, work + kTinyLoop, kNoStream, 0),
      MakeBranch(work + kTinyReturn, work, work + kBranch, 100),
  };
  Normalize(&data.branches);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const std::string text = ExportOrFail(kBoltExporter, analysis).text;
  CHECK(text == Line('B', work + kBranch, work + kTinyLoop, "900 0") +
                    Line('B', work + kTinyReturn, work, "100 0") +
                    Line('F', work, work + kBranch, "100") +
                    Line('F', work + kTinyLoop, work + kBranch, "900"));
}

TEST_CASE("samples alone are refused") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  Exported exported;
  const Status status = ExportTo(kBoltExporter, AnalyzeOrFail(TinyProfile(path)), &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("--source swbt") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
