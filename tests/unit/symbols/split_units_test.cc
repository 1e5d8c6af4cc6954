// Tests split DWARF: .dwo files and packages of them, including packages that no tool makes.
#include "symbols/split_units.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "support/catch.h"
#include "symbols/line_table.h"
#include "unit/image/test_programs.h"
#include "unit/symbols/program_lines.h"

namespace hbbp {
namespace {

using test::ChangeSection;
using test::ExpectAs;
using test::Found;
using test::kLlvmSymbolizer;
using test::kNested;
using test::Module;
using test::OpenLines;
using test::OpenModule;
using test::RunCommand;
using test::SomeAddresses;
using test::TemporaryDirectory;
using test::Text;

TEST_CASE("Split DWARF is followed into .dwo files", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  const std::string flags = GENERATE("-O2 -gdwarf-4 -gsplit-dwarf", "-O2 -gdwarf-5 -gsplit-dwarf");
  const std::string source = directory.File("nested.cc"), object = directory.File("nested.o"),
                    dwo = directory.File("nested.dwo");
  std::ofstream(source) << kNested;
  if (!RunCommand("g++ " + flags + " -c " + source + " -o " + object) ||
      !RunCommand("g++ " + object + " -o " + program)) {
    HBBP_SKIP("no g++");
  }
  INFO(flags);
  REQUIRE(std::filesystem::exists(dwo));
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  ExpectAs(kLlvmSymbolizer, **lines, program, program, directory);
  CHECK((*lines)->Problem() == "");

  std::filesystem::remove(dwo);
  const bool is_fifo = GENERATE(false, true);
  if (is_fifo) REQUIRE(::mkfifo(dwo.c_str(), 0600) == 0);
  const auto without = OpenLines(program);
  REQUIRE(without.ok());
  const Module module = OpenModule(program);
  const LineRange found = (*without)->Find(*module.image->AddressOfSymbol("_Z5Outeri"));
  REQUIRE(!found.frames.empty());
  CHECK(found.frames[0].line >= 3);
  CHECK(found.frames[0].function.empty());
  CHECK((*without)->Problem().find(dwo) != std::string::npos);
  CHECK((*without)->Problem().find(program + ".dwp") != std::string::npos);
}

struct Answer {
  std::string function;  // the outermost
  std::string problem;

  bool operator==(const Answer&) const = default;
};

// A program that is compiled in build/, where its .dwo file is, and moved to run/.
class MovedProgram {
 public:
  // Returns false if there is no compiler.
  bool Build() const {
    for (const char* name : {"build", "run"}) {
      std::filesystem::create_directory(directory_.File(name));
    }
    std::ofstream(directory_.File("build/nested.cc")) << kNested;
    const std::string change_directory = "cd " + directory_.File("build") + " && ";
    return RunCommand(change_directory +
                      "g++ -O2 -gdwarf-4 -gsplit-dwarf -c nested.cc -o nested.o") &&
           RunCommand(change_directory + "g++ nested.o -o " + program());
  }
  bool Pack() const {
    return RunCommand("llvm-dwp-14 -e " + program() + " -o " + package()).has_value();
  }

  // Returns the lines of Outer(), whose name only the .dwo file has.
  Answer Ask() const {
    const auto lines = OpenLines(program());
    REQUIRE(lines.ok());
    const Module module = OpenModule(program());
    const LineRange found = (*lines)->Find(*module.image->AddressOfSymbol("_Z5Outeri"));
    REQUIRE(!found.frames.empty());
    return {std::string(found.frames.back().function), (*lines)->Problem()};
  }
  std::string program() const { return directory_.File("run/program"); }
  std::string package() const { return program() + ".dwp"; }
  std::string next_to_program() const { return directory_.File("run/nested.dwo"); }
  std::string compiled() const { return directory_.File("build/nested.dwo"); }

 private:
  TemporaryDirectory directory_;
};

TEST_CASE("No file that could block is opened instead of a .dwo file", "[line_table]") {
  const MovedProgram moved;
  if (!moved.Build()) HBBP_SKIP("no g++");
  REQUIRE(moved.Ask() == Answer{"_Z5Outeri", ""});
  const std::string fifo = GENERATE(false, true) ? moved.next_to_program() : moved.package();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const Answer answer = moved.Ask();
  CHECK(answer.function == "");
  CHECK_THAT(answer.problem, Catch::Matchers::StartsWith(fifo + ": not a regular file"));
}

TEST_CASE("A .dwo file of another build is named, and its package is read instead",
          "[line_table]") {
  const MovedProgram moved;
  if (!moved.Build()) HBBP_SKIP("no g++");
  const bool is_packed = GENERATE(false, true);
  if (is_packed && !moved.Pack()) HBBP_SKIP("no llvm-dwp");
  std::filesystem::remove(moved.compiled());
  const MovedProgram other;
  REQUIRE(other.Build());
  std::filesystem::copy_file(other.compiled(), moved.next_to_program());
  const Answer answer = moved.Ask();
  if (is_packed) {
    CHECK(answer == Answer{"_Z5Outeri", ""});
  } else {
    CHECK(answer.function == "");
    CHECK_THAT(answer.problem, Catch::Matchers::StartsWith(moved.next_to_program() +
                                                           ": has no unit of " + moved.program()));
    CHECK_THAT(answer.problem, !Catch::Matchers::Contains(moved.compiled()));
    CHECK_THAT(answer.problem, Catch::Matchers::Contains("build the program again"));
  }
}

// A program of two units, whose .dwo files are removed after they were packaged.
class PackagedProgram {
 public:
  // Returns false if there is no such compiler or packager.
  bool Build(const std::string& compiler, const std::string& flags, const std::string& packager) {
    std::ofstream(directory_.File("nested.cc")) << kNested;
    std::ofstream(directory_.File("other.cc"))
        << "static inline int Twice(int x) {\n  return x ^ (x << 1);\n}\n"
           "int Other(int x) {\n  int y = Twice(x);\n  return y * Twice(y + 3);\n}\n";
    for (const std::string unit : {"nested", "other"}) {
      if (!RunCommand(compiler + " -O2 -gsplit-dwarf " + flags + " -c " + directory_.File(unit) +
                      ".cc -o " + directory_.File(unit) + ".o")) {
        return false;
      }
    }
    if (!RunCommand(compiler + " " + flags + " " + directory_.File("nested.o") + " " +
                    directory_.File("other.o") + " -o " + program())) {
      return false;
    }
    addresses_ = SomeAddresses(program(), 5000);
    by_dwo_ = Answers("");
    if (!RunCommand(packager + " -e " + program() + " -o " + package())) return false;
    RemoveUnits();
    return true;
  }
  void RemoveUnits() const {
    for (const std::string unit : {"nested", "other"}) {
      std::filesystem::remove(directory_.File(unit + ".dwo"));
    }
  }

  // Returns the lines of all addresses, in order; `problem` is the expected problem of the module.
  std::vector<std::string> Answers(const std::string& problem) const {
    const auto lines = OpenLines(program());
    REQUIRE(lines.ok());
    std::vector<std::string> answers;
    for (const uint64_t address : addresses_) answers.push_back(Text(Found(**lines, address)));
    if (problem.empty()) {
      CHECK((*lines)->Problem() == "");
    } else {
      CHECK_THAT((*lines)->Problem(), Catch::Matchers::Contains(problem));
    }
    return answers;
  }
  std::string program() const { return directory_.File("program"); }
  std::string package() const { return program() + ".dwp"; }
  const std::vector<std::string>& by_dwo() const { return by_dwo_; }

 private:
  TemporaryDirectory directory_;
  std::vector<uint64_t> addresses_;
  std::vector<std::string> by_dwo_;
};

TEST_CASE("Packages of split DWARF give what their .dwo files gave", "[line_table]") {
  struct Way {
    std::string compiler, flags, packager;
  };
  // llvm-dwp hangs on several units in DWARF 5 of gcc; binutils' dwp packs DWARF 4 only.
  const auto [compiler, flags, packager] = GENERATE(
      Way{"g++", "-gdwarf-4", "dwp"}, Way{"g++", "-gdwarf-4", "llvm-dwp-14"},
      Way{"clang++-14", "-gdwarf-4", "llvm-dwp-14"}, Way{"clang++-14", "-gdwarf-5", "llvm-dwp-14"},
      Way{"clang++-14", "-gdwarf-5 -ffunction-sections", "llvm-dwp-14"},
      Way{"clang++-14", "-gdwarf-5 -Wl,--compress-debug-sections=zlib", "llvm-dwp-14"});
  PackagedProgram packaged;
  if (!packaged.Build(compiler, flags, packager)) HBBP_SKIP("no " + compiler + " or " + packager);
  INFO(compiler + " " + flags + " " + packager);
  const std::vector<std::string> found = packaged.Answers("");
  REQUIRE(found.size() == packaged.by_dwo().size());
  size_t inlined = 0, different = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] != packaged.by_dwo()[i] && ++different == 1)
      CHECK(found[i] == packaged.by_dwo()[i]);
    inlined += found[i].find("Twice") != std::string::npos ||
               found[i].find("Innermost") != std::string::npos;
  }
  CHECK(different == 0);
  CHECK(inlined > 5);
}

TEST_CASE("A linker may compress the ranges that a package needs, and leave the addresses",
          "[line_table]") {
  PackagedProgram packaged;
  if (!packaged.Build("clang++-14", "-gdwarf-4 -ffunction-sections", "llvm-dwp-14")) {
    HBBP_SKIP("no clang or llvm-dwp");
  }
  const auto addresses = test::BytesOfSection(packaged.program(), ".debug_addr");
  const auto ranges = test::BytesOfSection(packaged.program(), ".debug_ranges");
  REQUIRE(addresses);
  REQUIRE(RunCommand("objcopy --compress-debug-sections=zlib " + packaged.program()));
  REQUIRE(test::BytesOfSection(packaged.program(), ".debug_ranges") != ranges);
  REQUIRE(ChangeSection(packaged.program(), {".debug_addr", *addresses}));
  const bool are_same = packaged.Answers("") == packaged.by_dwo();
  CHECK(are_same);
}

TEST_CASE("A package that does not fit is reported", "[line_table]") {
  PackagedProgram packaged;
  const std::string version = GENERATE("-gdwarf-4", "-gdwarf-5");
  if (!packaged.Build("clang++-14", version, "llvm-dwp-14")) HBBP_SKIP("no clang or llvm-dwp");
  SECTION("of another build") {
    const std::string package = packaged.package() + ".kept";
    std::filesystem::rename(packaged.package(), package);
    PackagedProgram other;
    REQUIRE(other.Build("clang++-14", version + " -DOTHER -O1", "llvm-dwp-14"));
    std::filesystem::copy_file(other.package(), packaged.package());
    packaged.Answers("is of another build");
  }
  SECTION("no package") {
    std::ofstream(packaged.package()) << "something else";
    packaged.Answers(packaged.package());
  }
  SECTION("missing") {
    std::filesystem::remove(packaged.package());
    packaged.Answers("make a package of them");
  }
  SECTION("with strings that do not end, or overlap") {
    test::SectionChange strings{".debug_str.dwo", std::vector<uint8_t>(100000, 'A')};
    const bool has_end = GENERATE(false, true);
    if (has_end) strings.bytes.back() = 0;
    strings.claimed_size = GENERATE(uint64_t{0}, uint64_t{1} << 50);
    REQUIRE(ChangeSection(packaged.package(), strings));
    packaged.Answers(".debug_str.dwo is damaged");
  }
  SECTION("damaged") {
    const std::vector<uint8_t> bytes = test::ReadAll(packaged.package());
    std::mt19937 random(11);
    const std::vector<uint64_t> addresses = SomeAddresses(packaged.program(), 200);
    for (int round = 0; round < 300; ++round) {
      std::vector<uint8_t> copy = bytes;
      for (int i = 0; i < 6; ++i) copy[random() % copy.size()] = static_cast<uint8_t>(random());
      std::ofstream(packaged.package(), std::ios::binary)
          .write(reinterpret_cast<const char*>(copy.data()), static_cast<long>(copy.size()));
      const auto damaged = OpenLines(packaged.program());
      REQUIRE(damaged.ok());
      for (const uint64_t address : addresses) (*damaged)->Find({address});
    }
  }
}

}  // namespace
}  // namespace hbbp
