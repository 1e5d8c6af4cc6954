#include "truth/truth_file.h"

#include <string>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp::tools {
namespace {

constexpr char kCallgrind[] =
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npositions: instr\nevents: Ir\n"
    "ob=/bin/x\nfn=f\n0x10 3\n0x12 4\ntotals: 7\n";
constexpr char kVectors[] = "T:1:40 :2:20\n\n#   Total instructions: 60\n";

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TruthFormat Detected(const std::string& text) {
  const auto format = DetectTruthFormat(text, "file");
  REQUIRE(format.ok());
  return *format;
}

std::string Failure(const TruthInput& input, const std::vector<ProfiledModule>& modules = {}) {
  std::vector<std::string> notes;
  const auto references = ReadTruth(input, modules, &notes);
  REQUIRE_FALSE(references.ok());
  return references.status().message();
}

TEST_CASE("truth: formats are detected by content") {
  CHECK(Detected(kCallgrind) == TruthFormat::kCallgrind);
  CHECK(Detected("version: 1\npositions: instr\nevents: Ir\n") == TruthFormat::kCallgrind);
  CHECK(Detected(kVectors) == TruthFormat::kBbVectors);
  CHECK(Detected("\n\n# Thread 1\n#   Total instructions: 60\n") == TruthFormat::kBbVectors);
  CHECK(Detected("F:1:10a000:\n") == TruthFormat::kBbAddresses);
  CHECK(Detected("# Mix output version 10\n") == TruthFormat::kSdeMix);
  CHECK(Detected("{\"gcc_version\": \"12\", \"format_version\": \"1\"}") == TruthFormat::kGcov);
  CHECK(Detected("version:8.3\nfile:x.c\nlcount:1,2,0\n") == TruthFormat::kGcov);
  CHECK(Detected("\x1f\x8b\x08") == TruthFormat::kGcov);
}

TEST_CASE("truth: what is none of them is refused with their list") {
  for (const std::string text : {"hello\n", "{}",
                                 "\x7f"
                                 "ELF",
                                 "version:8"}) {
    const auto format = DetectTruthFormat(text, "file");
    REQUIRE_FALSE(format.ok());
    for (const char* name : {"file: ", "hbbp count", "callgrind", "exp-bbv", "sde64", "gcov"}) {
      CHECK(Contains(format.status().message(), name));
    }
  }
}

TEST_CASE("truth: several files of one format are added up") {
  const TemporaryFolder directory;
  const std::string one = directory.Write("one", kCallgrind);
  const std::string two = directory.Write(
      "two", "positions: instr\nevents: Ir\nob=/bin/x\n0x12 1\nob=/bin/y\n0x1 5\ntotals: 6\n");
  std::vector<std::string> notes;
  const auto references = ReadTruth({{one, two}, "", {}}, {}, &notes);
  REQUIRE(references.ok());
  REQUIRE(references->size() == 2);
  CHECK(references->at(0).path == "/bin/x");
  REQUIRE(references->at(0).counts.size() == 2);
  CHECK(references->at(0).counts[1].count == 5);
  CHECK(references->at(1).counts[0].count == 5);
  CHECK(notes.empty());
}

TEST_CASE("truth: files of two builds are not added up") {
  const TemporaryFolder directory;
  const auto counts = [&](const std::string& id) {
    return directory.Write(id, "creator: hbbp count 1\ndesc: Build ID: " + id +
                                   " /bin/x\npositions: instr\nevents: Ir\nob=/bin/x\n1 1\n"
                                   "totals: 1\n");
  };
  const std::string message = Failure({{counts("aa"), counts("bb")}, "", {}});
  CHECK(Contains(message, "/bin/x has build ID bb here and aa in a file before it"));
}

TEST_CASE("truth: files that do not go together are refused") {
  const TemporaryFolder directory;
  const std::string callgrind = directory.Write("callgrind", kCallgrind);
  const std::string vectors = directory.Write("bb.out", kVectors);
  const std::string addresses = directory.Write("addresses", "F:1:10a000:\nF:2:10b000:\n");
  CHECK(Contains(Failure({{callgrind, vectors}, "", {}}), "is of callgrind and"));
  CHECK(Contains(Failure({{vectors}, "", {}}), "--pc-out-file=FILE"));
  CHECK(Contains(Failure({{addresses}, "", {}}), "--bb-out-file; give both"));
  CHECK(Contains(Failure({{vectors, addresses, addresses}, "", {}}), "two files of --pc-out-file"));
  CHECK(Contains(Failure({{vectors, addresses}, "", {}}), "--truth-map"));
  CHECK(Contains(Failure({{vectors, addresses}, "", {"x"}}), "--truth-map x: give PATH=ADDRESS"));
  CHECK(Contains(Failure({{vectors}, "callgrind", {}}), "not a callgrind file"));
  CHECK(Contains(Failure({{"/no/such/file"}, "", {}}), "/no/such/file"));
  CHECK(Contains(Failure({{directory.Write("empty", "")}, "", {}}), "empty"));
}

TEST_CASE("truth: counts that are 0 in total are an error") {
  const TemporaryFolder directory;
  const std::string zero =
      directory.Write("zero", "positions: instr\nevents: Ir\nob=/bin/x\n0x12 0\ntotals: 0\n");
  CHECK(Contains(Failure({{zero}, "", {}}), "all its counts are 0"));
}

TEST_CASE("truth: intervals that exp-bbv did not write are reported") {
  const TemporaryFolder directory;
  const std::string vectors =
      directory.Write("bb.out", "T:1:40 :2:20\n\n#   Total instructions: 600\n");
  directory.Write("pc.out", "F:1:10a000:\nF:2:10b000:\n");
  const std::string message = Failure({{vectors}, "", {}});
  CHECK(Contains(message, "has 60 of 600 instructions"));
  CHECK(Contains(message, "--interval-size=100"));
}

TEST_CASE("truth: modules that overlap where exp-bbv loaded them are refused") {
  const TemporaryFolder directory;
  const std::string vectors = directory.Write("bb.out", "T:1:40\n");
  const ProfiledModule self = {"/proc/self/exe", ""};
  const std::string other = directory.File("other");
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), other);
  ModuleImages images({});
  const auto image = images.Open(self.path);
  REQUIRE(image.ok());
  const uint64_t code = 0x108000 + (*image)->CodeStart()->value;
  char line[64];
  std::snprintf(line, sizeof(line), "F:1:%llx:\n", static_cast<unsigned long long>(code));
  directory.Write("pc.out", line);
  const std::string message =
      Failure({{vectors}, "", {self.path + "=0x108000", other + "=0x108000"}}, {self, {other, ""}});
  CHECK(Contains(message, "overlap"));
  CHECK(Contains(message, "--truth-map PATH=ADDRESS"));
}

TEST_CASE("truth: a file that was replaced since it was profiled is refused") {
  const TemporaryFolder directory;
  const std::string vectors = directory.Write("bb.out", "T:1:40\n");
  directory.Write("pc.out", "F:1:10a000:\n");
  const std::string message = Failure({{vectors}, "", {}}, {{"/proc/self/exe", "0123"}});
  CHECK(Contains(message, "and the profile 0123: it was replaced since"));
}

}  // namespace
}  // namespace hbbp::tools
