// Tests callgrind's format with a library whose addresses and counts are known: TinyProfile counts
// entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
#include <cstdio>
#include <string>

#include "export/exporter.h"
#include "image/build_id.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

std::string Hex(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%lx", static_cast<unsigned long>(number));
  return text;
}

std::string Cost(uint64_t address, const std::string& count) {
  return Hex(address) + " 0 " + count + "\n";
}

TEST_CASE("instructions cost what they executed") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.command = "a\nb";
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const std::string text = ExportOrFail(kCallgrindExporter, analysis).text;
  CHECK(text ==
        "# callgrind format\nversion: 1\ncreator: hbbp\ncmd: a b\n"
        "desc: Estimated by: ebs of task-clock\ndesc: Estimated by: ebs of task-clock\n"
        "desc: Build ID: " +
            BuildIdText(analysis.data().modules[0].build_id) + " " + path +
            "\npositions: instr line\nevents: Ir\n\n"
            "ob=(1) " +
            path + "\nfl=(1) ???\nfn=(1) tiny_work\n" + Cost(work, "2000") +
            Cost(work + 2, "2000") + Cost(work + 7, "6000") + Cost(work + 9, "6000") +
            Cost(work + 11, "6000") + "fl=(1)\nfn=(2) tiny_twice\n" + Cost(work + 14, "333") +
            Cost(work + 16, "333") + Cost(work + 19, "333") + "\ntotals: 22999\n");
}

TEST_CASE("jumps and calls are below their instructions") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  BranchCount loop;
  loop.from = loop.stream_end = work + 11;
  loop.to = work + kTinyLoop;
  loop.number = 4;
  loop.weights = loop.replicates.sums[0] = 1000;
  // As if the jump led to another function, too: a tail call.
  BranchCount call = loop;
  call.to = work + kTinyTwice;
  call.stream_end = work + 19;
  call.weights = call.replicates.sums[0] = 500;
  data.branches = {loop, call};
  const std::string text = ExportOrFail(kCallgrindExporter, AnalyzeOrFail(std::move(data))).text;
  const std::string position = Hex(work + 11) + " 0\n";
  CHECK(text.find(Cost(work + 11, "1000") + "jcnd=1000/1000 " + Hex(work + kTinyLoop) + " 0\n" +
                  position + "cfi=(1)\ncfn=(2) tiny_twice\ncalls=500 " + Hex(work + kTinyTwice) +
                  " 0\n" + Cost(work + 11, "1500") + "fl=(1)\nfn=(2)\n") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
