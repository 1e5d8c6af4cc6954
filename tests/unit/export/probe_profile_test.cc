// Tests profiles by pseudo-probes: copies of a probe, inlined calls, calls, what is left out.
#include "export/probe_profile.h"

#include <fstream>
#include <string>
#include <vector>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/export_or_fail.h"
#include "support/probe_sections.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

bool AddSections(const TemporaryFolder& directory, const ProbeSections& sections,
                 const std::string& library) {
  const auto write = [&](const std::string& name, const std::vector<uint8_t>& bytes) {
    std::ofstream stream(directory.File(name), std::ios::binary);
    for (const uint8_t byte : bytes) stream.put(static_cast<char>(byte));
  };
  write("descriptions", sections.descriptions());
  write("trees", sections.trees());
  return RunCommand("objcopy --add-section .pseudo_probe_desc=" + directory.File("descriptions") +
                    " --add-section .pseudo_probe=" + directory.File("trees") + " " + library);
}

// In tiny_work: its entry, its loop (in which add has been inlined twice), and its return, which
// has no count. In tiny_twice: its only block. In tiny_spin, which has no count: its entry.
ProbeSections TinySections() {
  ProbeSections sections;
  sections.Describe("tiny_work", 11).Describe("tiny_twice", 22).Describe("tiny_spin", 33);
  sections.Describe("add", 44);
  sections.BeginTree("tiny_work", 4, 1)
      .AddProbe(1, ProbeSections::kBlock, 0)
      .AddProbe(2, ProbeSections::kBlock, 2)  // also in the entry
      .AddProbe(2, ProbeSections::kBlock, kTinyLoop - 2)
      .AddProbe(3, ProbeSections::kBlock, kTinyReturn - kTinyLoop);
  sections.BeginInlined(4, "add", 1, 0).AddProbe(1, 0, -int64_t{kTinyReturn - kTinyLoop});
  sections.BeginTree("tiny_twice", 2, 0)
      .AddProbe(1, ProbeSections::kBlock, 0)
      .AddProbe(2, ProbeSections::kDirectCall, 2);
  sections.BeginTree("tiny_spin", 1, 0).AddProbe(1, ProbeSections::kBlock, 0);
  return sections;
}

bool BuildProbedLibrary(const TemporaryFolder& directory, const std::string& library) {
  return BuildTinyLibrary(library) && AddSections(directory, TinySections(), library);
}

TEST_CASE("a profile by probes has the counts of their blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildProbedLibrary(directory, path)) HBBP_SKIP("there is no compiler, or no objcopy");
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  REQUIRE(analysis.blocks().size() >= 3);
  const auto count = [&](uint64_t offset) {
    const uint64_t work = analysis.functions()[0].range.start.value;
    return analysis.FindBlock(0, {work + offset})->estimate.count;
  };
  const double entry = count(0), loop = count(kTinyLoop), twice = count(kTinyTwice);
  REQUIRE(entry > 0);
  REQUIRE(loop > 0);

  const Exported exported = ExportOrFail(kLlvmExporter, analysis);
  const auto text = [](double value) { return std::to_string(WholeCount(value)); };
  const std::string twices = text(twice), loops = text(loop);
  CHECK(exported.text == "tiny_twice:" + text(2 * twice) + ":" + twices + "\n" +  //
                             " 1: " + twices + "\n" +                             //
                             " 2: " + twices + "\n" +                             //
                             " !CFGChecksum: 22\n" +                              //
                             "tiny_work:" + text(2 * entry + 2 * loop) + ":" + text(entry) + "\n" +
                             " 1: " + text(entry) + "\n" +         //
                             " 2: " + text(entry + loop) + "\n" +  //
                             " 3: 0\n" +                           //
                             " 4: add:" + loops + "\n" +           //
                             "  1: " + loops + "\n" +              //
                             "  !CFGChecksum: 44\n" +              //
                             " !CFGChecksum: 11\n");
  CHECK(exported.notes.empty());
}

TEST_CASE("a branch from a probe of a call to the start of a function is a call") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildProbedLibrary(directory, path)) HBBP_SKIP("there is no compiler, or no objcopy");
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources[0].kind = SourceKind::kSwbt;
  const uint64_t work = TinyWorkOffset(path);
  const auto branch = [&](uint64_t from, uint64_t to, uint64_t end) {
    BranchCount added;
    added.from = work + from;
    added.to = work + to;
    added.stream_end = work + end;
    added.number = 1;
    added.weights = 100;
    return added;
  };
  // There is no call in tiny_twice: this is of its probe only.
  data.branches = {branch(kTinyTwice + 2, 0, kTinyLoop + 4),
                   branch(kTinyLoop + 4, kTinyTwice, kTinyTwice + 5),
                   branch(kTinyTwice + 2, kTinyLoop, kTinyLoop + 4)};
  Normalize(&data.branches);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const LineTableCache lines(analysis.shared_modules());
  const ExportSubject subject{analysis, lines};
  const SampleProfile profile = MakeProbeProfile(subject, OpenProbedModules(subject));
  const SampledFunction& twice = profile.functions.at("tiny_twice");
  REQUIRE(twice.lines.at({2, 0}).calls.size() == 1);
  CHECK(twice.lines.at({2, 0}).calls.at("tiny_work") == Approx(100));
  CHECK(twice.lines.at({1, 0}).calls.empty());
  for (const auto& [location, line] : profile.functions.at("tiny_work").lines) {
    CHECK(line.calls.empty());
  }
}

TEST_CASE("modules without probes are left out of a profile by probes, and named") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), plain = directory.File("plain.so");
  if (!BuildProbedLibrary(directory, path) || !BuildTinyLibrary(plain, "plain")) {
    HBBP_SKIP("there is no compiler, or no objcopy");
  }
  ProfileData data = TinyProfile(path);
  ProfileData other = TinyProfile(plain);
  data.modules.push_back(other.modules[0]);
  for (IpCount count : other.counts) {
    count.module = 1;
    data.counts.push_back(count);
  }
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Exported both = ExportOrFail(kLlvmExporter, analysis);
  CHECK(both.text.find("!CFGChecksum") != std::string::npos);
  REQUIRE(both.notes.size() == 1);
  CHECK(both.notes[0].starts_with(plain + " is left out: "));
  CHECK(both.notes[0].find("--module") != std::string::npos);
  CHECK(ExportOrFail(kLlvmExporter, analysis, 0).notes.empty());
  Exported lines;
  CHECK(ExportTo(kLlvmExporter, analysis, &lines, 1).code() == StatusCode::kNotFound);
}

TEST_CASE("what another module has with another graph is left out, and so is what has no symbol") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), changed = directory.File("changed.so");
  ProbeSections sections;
  sections.Describe("tiny_work", 12).Describe("tiny_twice", 22);
  sections.BeginTree("tiny_work", 1, 0).AddProbe(1, ProbeSections::kBlock, 0);
  sections.BeginTree("tiny_twice", 1, 0).AddProbe(1, ProbeSections::kBlock, 0);
  sections.BeginTree("unknown", 1, 0).AddProbe(1, ProbeSections::kBlock, 0);
  if (!BuildProbedLibrary(directory, path) || !BuildTinyLibrary(changed, "changed") ||
      !AddSections(directory, sections, changed)) {
    HBBP_SKIP("there is no compiler, or no objcopy");
  }
  ProfileData data = TinyProfile(path);
  ProfileData other = TinyProfile(changed);
  data.modules.push_back(other.modules[0]);
  for (IpCount count : other.counts) {
    count.module = 1;
    data.counts.push_back(count);
  }
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Exported alone = ExportOrFail(kLlvmExporter, analysis, 0);
  const Exported both = ExportOrFail(kLlvmExporter, analysis);
  const auto part = [](const Exported& exported, const char* function) {
    return exported.text.substr(exported.text.find(function));
  };
  CHECK(part(both, "tiny_work:") == part(alone, "tiny_work:"));
  CHECK(part(both, "tiny_twice:") != part(alone, "tiny_twice:"));
  REQUIRE(both.notes.size() == 2);
  CHECK(both.notes[0].starts_with(changed + ": "));
  CHECK(both.notes[0].find("other control-flow graphs") != std::string::npos);
  CHECK(both.notes[1].starts_with(changed + ": 1 function with probes is left out: without"));
}

TEST_CASE("damaged sections of probes are reported, and no lines are written instead") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  ProbeSections damaged = TinySections();
  damaged.BeginTree("tiny_work", 1, 0);
  if (!BuildTinyLibrary(path) || !AddSections(directory, damaged, path)) {
    HBBP_SKIP("there is no compiler, or no objcopy");
  }
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  Exported exported;
  const Status status = ExportTo(kLlvmExporter, analysis, &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].find(".pseudo_probe is damaged at byte ") != std::string::npos);
}

TEST_CASE("a stripped module has the probes of its debug file") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), debug = directory.File("lib.debug");
  if (!BuildProbedLibrary(directory, path) ||
      !RunCommand("objcopy --only-keep-debug " + path + " " + debug +
                  " && strip -R .pseudo_probe -R .pseudo_probe_desc " + path +
                  " && objcopy --add-gnu-debuglink=" + debug + " " + path)) {
    HBBP_SKIP("there is no compiler, or no objcopy");
  }
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  const Exported exported = ExportOrFail(kLlvmExporter, analysis);
  CHECK(exported.text.find("\ntiny_work:") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
