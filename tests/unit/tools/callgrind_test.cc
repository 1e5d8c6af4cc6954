// Tests the reader of callgrind's output, with short files that the tests write line by line:
// positions, costs of calls, names, several parts, and files that are foreign, cut off or
// malformed. Parse() returns what a text contains, Failure() the error of one. One test runs
// valgrind, with several of its options for the output.
#include "truth/callgrind.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

constexpr char kHeader[] =
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd: ./x\npart: 1\n\n"
    "positions: instr line\nevents: Ir\nsummary: 1\n\n";

using Counts = std::vector<InstructionCount>;

Truth Parse(const std::string& text) {
  const StatusOr<Truth> truth = ParseCallgrind(text, "t.out");
  INFO(truth.status().message());
  REQUIRE(truth.ok());
  return *truth;
}

std::string Failure(const std::string& text) {
  const StatusOr<Truth> truth = ParseCallgrind(text, "t.out");
  REQUIRE_FALSE(truth.ok());
  CHECK(truth.status().code() == StatusCode::kBadFormat);
  return truth.status().message();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Counts InstructionsOfObject(const Truth& truth, const std::string& path) {
  for (const TruthObject& object : truth.objects) {
    if (object.path == path) return object.instructions;
  }
  return {};
}

TEST_CASE("callgrind: positions are relative, absolute or repeated") {
  const Truth truth = Parse(std::string(kHeader) +
                            "ob=(1) /bin/x\nfl=(1) x.c\nfn=(1) main\n"
                            "0x1000 5 2\n+3 +1 3\n* * 4\n-1 -1 5\n4096 7 6\n\ntotals: 20\n");
  REQUIRE(truth.objects.size() == 1);
  CHECK(truth.objects[0].path == "/bin/x");
  CHECK(truth.objects[0].instructions == Counts{{0x1000, 8}, {0x1002, 5}, {0x1003, 7}});
  CHECK(truth.objects[0].total == 20);
  CHECK(truth.total == 20);
  CHECK(truth.declared_total == 20);
  CHECK(truth.parts == 1);
}

TEST_CASE("callgrind: the inclusive cost of a call is not counted, but moves the position") {
  const Truth truth = Parse(std::string(kHeader) +
                            "ob=(1) /bin/x\nfn=(1) main\n0x10 1 1\n"
                            "cob=(2) /lib/y\ncfi=(2) y.c\ncfn=(2) callee\n"
                            "calls=3 0x999 7\n+4 * 5000\n+2 * 1\n\n"
                            "ob=(2)\nfn=(2)\n0x999 7 9\ntotals: 11\n");
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].instructions == Counts{{0x10, 1}, {0x16, 1}});
  CHECK(truth.objects[1].path == "/lib/y");
  CHECK(truth.objects[1].instructions == Counts{{0x999, 9}});
}

TEST_CASE("callgrind: jumps have a target that is not a position, and a line without costs") {
  const Truth truth = Parse(std::string(kHeader) +
                            "ob=(1) /bin/x\nfn=(1) main\n0x10 1 2\n"
                            "jcnd=1/2 +22 0\n* *\njfi=(7) b.h\njump=1 0x1080 0\n* *\n"
                            "+2 * 2\ntotals: 4\n");
  CHECK(truth.objects[0].instructions == Counts{{0x10, 2}, {0x12, 2}});
}

TEST_CASE("callgrind: inlined code and other files belong to the same object") {
  const Truth truth = Parse(std::string(kHeader) +
                            "ob=(1) /bin/x\nfl=(1) a.c\nfn=(1) main\n0x10 1 2\n"
                            "fi=(2) b.h\n+1 9 3\nfe=(1)\n+1 2 4\ntotals: 9\n");
  REQUIRE(truth.objects.size() == 1);
  CHECK(truth.objects[0].total == 9);
}

TEST_CASE("callgrind: without name compression, and other orders of columns") {
  const Truth truth = Parse(
      "version: 1\npositions: line instr\nevents: Dr Ir Dw\n"
      "ob=/bin/(x)\nfn=main\n5 0x10 1 2 3\n+1 +2 7\n+1 +2 7 8\nob=/lib/y\n* 0x10 1 1\n");
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].path == "/bin/(x)");
  CHECK(truth.objects[0].instructions == Counts{{0x10, 2}, {0x14, 8}});
  CHECK(truth.objects[1].instructions == Counts{{0x10, 1}});
  CHECK_FALSE(truth.declared_total.has_value());
}

TEST_CASE("callgrind: several parts in one file are added up") {
  const std::string part = "ob=(1) /bin/x\nfn=(1) main\n0x10 1 2\n+1 * 3\n\ntotals: 5\n";
  const Truth truth = Parse(std::string(kHeader) + part +
                            "\npart: 2\nthread: 2\npositions: instr\nevents: Ir\n"
                            "ob=(1) /bin/x\nfn=(1) main\n+16 2\ntotals: 2\n");
  REQUIRE(truth.objects.size() == 1);
  CHECK(truth.objects[0].instructions == Counts{{0x10, 4}, {0x11, 3}});
  CHECK(truth.declared_total == 7);
  CHECK(truth.parts == 2);
}

TEST_CASE("callgrind: code that is in no object") {
  const Truth truth = Parse(std::string(kHeader) + "fn=(1) f\n0x10 0 2\ntotals: 2\n");
  REQUIRE(truth.objects.size() == 1);
  CHECK(truth.objects[0].path == "???");
}

TEST_CASE("callgrind: a changed file is detected by its own total") {
  const Truth truth = Parse(std::string(kHeader) + "ob=(1) x\n0x10 0 2\ntotals: 3\n");
  CHECK(truth.total == 2);
  CHECK(truth.declared_total == 3);
}

TEST_CASE("callgrind: a file without instruction addresses says what to do") {
  const std::string message =
      Failure("# callgrind format\nversion: 1\npositions: line\nevents: Ir\nfn=(1) f\n10 5\n");
  CHECK(Contains(message, "--dump-instr=yes"));
  CHECK(Contains(message, "t.out: line 3"));
  CHECK(Contains(Failure("events: Ir\nfn=(1) f\n10 5\n"), "--dump-instr=yes"));
}

TEST_CASE("callgrind: foreign files") {
  CHECK(Contains(Failure(""), "empty"));
  CHECK(Contains(Failure("\x7f"
                         "ELF\x02\x01"),
                 "not a callgrind file (line 1"));
  CHECK(Contains(Failure("hello world\n"), "not a callgrind file"));
  CHECK(Contains(Failure("12 34\n"), "not a callgrind file"));
  CHECK(Contains(Failure("version: 2\n"), "version"));
  CHECK(Contains(Failure("positions: instr\nevents: Cycles\n"), "Ir is missing"));
  CHECK(Contains(Failure("positions: instr\n"), "\"events:\" is missing"));
  CHECK(Contains(Failure("positions: instr basket\n"), "unknown kind of position"));
}

TEST_CASE("callgrind: truncated files") {
  CHECK(Contains(Failure(std::string(kHeader) + "ob=(1) x\n0x10 1 2\n+1 * 3"), "truncated"));
  CHECK(Contains(Failure(std::string(kHeader) + "ob=(1) x\ncalls=1 2 3\n"), "truncated"));
}

TEST_CASE("callgrind: malformed lines are named") {
  const std::string body = std::string(kHeader) + "ob=(1) x\n";
  const char* const lines[] = {
      "0x10 1 two",
      "0x10",
      "0xfffffffffffffffff 1 1",
      "99999999999999999999 1 1",
      "+ 1 1",
      "-1 1 1",
      "*x 1 1",
      "ob=(7)",
      "what=1",
      "calls=x 1",
      "nonsense",
      "0x10 1 2x",
      "0x10 1 -2",
      "=5",
  };
  for (const char* line : lines) {
    INFO(line);
    CHECK(Contains(Failure(body + line + "\n"), "t.out: line 13: "));
  }
  CHECK(Contains(Failure(body + "calls=1 2 3\nfn=(1)\n"), "without the line of its costs"));
}

TEST_CASE("callgrind: absurd counts are named") {
  const std::string body = std::string(kHeader) + "ob=(1) x\n";
  CHECK(Contains(Failure(body + "1 1 -2\n"), "t.out: line 13: a negative count"));
  CHECK(Contains(Failure(body + "1 1 nan\n"), "a count that is not a number"));
  CHECK(Contains(Failure(body + "1 1 2.5\n"), "a count that is not a whole number"));
  CHECK(Contains(Failure(body + "1 1 9223372036854775809\n"), "a count above 2^63"));
  CHECK(Contains(Failure(body + "1 1 9223372036854775808\n1 1 1\n"),
                 "line 14: counts above 2^63 in total"));
}

TEST_CASE("callgrind: build IDs of hbbp count") {
  const Truth truth = Parse(
      "# callgrind format\nversion: 1\ncreator: hbbp count 0.1.0\ndesc: Build ID: 0a1b /a b\n"
      "desc: Trigger: Program termination\npositions: instr\nevents: Ir\nob=(1) /a b\n0x10 2\n"
      "ob=(2) /c\n0x10 3\ntotals: 5\n");
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].build_id == "0a1b");
  CHECK(truth.objects[1].build_id.empty());
}

TEST_CASE("callgrind: line ends of either kind") {
  const Truth truth = Parse("positions: instr\r\nevents: Ir\r\nob=(1) x\r\n0x10 2\r\n");
  CHECK(truth.objects.at(0).path == "x");
  CHECK(truth.total == 2);
}

TEST_CASE("callgrind: a real run, in every way of writing it") {
  if (std::system("valgrind --version > /dev/null 2>&1") != 0) HBBP_SKIP("no valgrind");
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("hbbp_callgrind_" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  const char* const ways[] = {"", "--compress-pos=no --compress-strings=no", "--dump-line=no",
                              "--collect-jumps=yes", "--cache-sim=yes"};
  std::vector<Truth> truths;
  for (const char* way : ways) {
    const std::filesystem::path out = directory / "callgrind.out";
    const std::string command = "valgrind --tool=callgrind --dump-instr=yes " + std::string(way) +
                                " --callgrind-out-file=" + out.string() +
                                " /bin/true > /dev/null 2>&1";
    REQUIRE(std::system(command.c_str()) == 0);
    const StatusOr<Truth> truth = ReadCallgrindFile(out.string());
    INFO(way << ": " << truth.status().message());
    REQUIRE(truth.ok());
    truths.push_back(*truth);
  }
  std::filesystem::remove_all(directory);

  const std::string program = std::filesystem::canonical("/bin/true").string();
  for (const Truth& truth : truths) {
    CHECK(truth.total > 10'000);
    CHECK(truth.declared_total == truth.total);
    CHECK(truth.objects.size() >= 3);
    CHECK(InstructionsOfObject(truth, program) == InstructionsOfObject(truths[0], program));
    CHECK_FALSE(InstructionsOfObject(truth, program).empty());
  }
}

TEST_CASE("callgrind: a file that does not exist") {
  CHECK(ReadCallgrindFile("/nonexistent/callgrind.out").status().code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace hbbp::tools
