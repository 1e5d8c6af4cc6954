// Tests whole bursts as text, of a library whose addresses are known: mappings, the newest branch
// first, weights, and what is left out.
#include <string>
#include <utility>
#include <vector>

#include "export/exporter.h"
#include "profile/kept_bursts.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr uint8_t kOne[] = {0, 0, 0x80, 0x3f}, kHundred[] = {0, 0, 0xc8, 0x42};

// Has bursts of source 0: the branches B A, where A is inside of the module and B comes from
// outside, of weight 1, and A A of weight 1 or 100.
ProfileData ProfileWithBursts(const std::string& path, bool weights_differ) {
  ProfileData data = TinyProfile(path);
  const uint64_t work = TinyWorkOffset(path);
  RecordedBursts bursts;
  bursts.number = 2;
  bursts.sources = {0};
  bursts.threads = {0};
  bursts.branches = {{0, 0, work + kTinyLoop, work}, {kNoModule, 0, 0xdeadbeef, work + kTinyTwice}};
  const auto append = [&](const uint8_t* weight, std::vector<uint8_t> branches) {
    bursts.bytes.insert(bursts.bytes.end(), 3, 0);
    bursts.bytes.insert(bursts.bytes.end(), weight, weight + 4);
    bursts.bytes.insert(bursts.bytes.end(), branches.begin(), branches.end());
  };
  append(kOne, {2, 1, 0, 0});
  append(weights_differ ? kHundred : kOne, {2, 0, 0, 0});
  data.kept_bursts = SerializeKeptBursts({3, {bursts}});
  return data;
}

std::string Hex(uint64_t number) {
  char text[19];
  std::snprintf(text, sizeof(text), "0x%lx", static_cast<unsigned long>(number));
  return text;
}

TEST_CASE("bursts are lines, the newest branch first, behind the mappings") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  for (const bool weights_differ : {false, true}) {
    CAPTURE(weights_differ);
    const ProfileData data = ProfileWithBursts(path, weights_differ);
    const Exported brstack = ExportOrFail(kBrstackExporter, AnalyzeOrFail(data));
    const size_t end = brstack.text.find('\n') + 1;
    const std::string mapping = brstack.text.substr(0, end);
    CHECK(mapping.starts_with("PERF_RECORD_MMAP2 10/10: [0x"));
    CHECK(mapping.ends_with("]: r-xp " + path + "\n"));
    const uint64_t start = std::stoull(mapping.substr(mapping.find("[0x") + 1), nullptr, 16);
    const uint64_t offset = std::stoull(mapping.substr(mapping.find("@ ") + 2), nullptr, 16);
    const uint64_t work = TinyWorkOffset(path) - offset + start;
    const std::string inside = " " + Hex(work + kTinyLoop) + "/" + Hex(work) + "/-/-/-/0 ";
    const std::string head = std::string(16 - Hex(work).size() + 2, ' ') + Hex(work).substr(2);
    std::string expected = head + inside + " 0x0/" + Hex(work + kTinyTwice) + "/-/-/-/0 \n";
    // The mean of numbers is at least 100, and that of the weights is 50.5.
    if (weights_differ) expected = "2\n" + expected + "198\n";
    CHECK(brstack.text.substr(end) == expected + head + inside + inside + "\n");
    REQUIRE(brstack.notes.size() == 1);
    CHECK(brstack.notes[0].starts_with("3 bursts are not in the profile"));
  }
}

TEST_CASE("a profile without whole bursts says how to get some") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  Exported exported;
  const Status status = ExportTo(kBrstackExporter, AnalyzeOrFail(TinyProfile(path)), &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("--keep-bursts") != std::string::npos);
  CHECK(exported.text.empty());
}

TEST_CASE("an export without a burst says why there is none") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  RecordedBursts none, elsewhere;
  elsewhere.number = 1;
  elsewhere.sources = {0};
  elsewhere.threads = {0};
  elsewhere.branches = {{kNoModule, kNoModule, 0xdead, 0xbeef}};
  elsewhere.bytes = {0, 0, 0, 0, 0, 0x80, 0x3f, 1, 0};
  const std::pair<KeptBursts, const char*> cases[] = {
      {{0, {none}}, "record it, or import it, with --keep-bursts 64M"},
      {{3, {none}}, "no room for any of 3"},
      {{0, {elsewhere}}, "of 1 whole bursts, 0 are of another event"}};
  for (const auto& [bursts, reason] : cases) {
    ProfileData data = TinyProfile(path);
    data.kept_bursts = SerializeKeptBursts(bursts);
    Exported exported;
    const Status status = ExportTo(kBrstackExporter, AnalyzeOrFail(std::move(data)), &exported);
    INFO(status.message());
    CHECK(status.code() == StatusCode::kNotFound);
    CHECK(status.message().find(reason) != std::string::npos);
    CHECK(exported.text.empty());
  }
}

TEST_CASE("damaged bursts are an error") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = ProfileWithBursts(path, false);
  data.kept_bursts.back() = 9;
  Exported exported;
  const Status status = ExportTo(kBrstackExporter, AnalyzeOrFail(std::move(data)), &exported);
  CHECK(status.code() == StatusCode::kBadFormat);
}

}  // namespace
}  // namespace hbbp
