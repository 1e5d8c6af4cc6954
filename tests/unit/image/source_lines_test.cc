// Source lines of small programs and of this one, against addr2line and llvm-symbolizer.
#include "image/source_lines.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "base/unique_fd.h"
#include "image/demangle.h"
#include "image/elf_image.h"
#include "image/libdw.h"
#include "support/catch.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

using test::Compile;
using test::RunCommand;
using test::TemporaryDirectory;

constexpr std::string_view kNested = R"(
#include <cstdio>
static inline int Innermost(int value) {
  return value * 7 + 3;
}
static inline int Middle(int value) {
  int sum = 0;
  for (int i = 0; i < value; ++i)
    sum += Innermost(i ^ sum);
  return sum;
}
[[gnu::noinline]] int Outer(int value) {
  int sum = Middle(value);
  if (sum & 1)
    sum -= Middle(value + 3);
  return sum;
}
namespace shapes {
template <typename T>
struct Box {
  T value;
  [[gnu::noinline]] T Get(int by) const { return value * by + Innermost(by); }
};
}
int main(int argc, char** argv) {
  (void)argv;
  shapes::Box<long> box{argc};
  std::printf("%d %ld\n", Outer(argc), box.Get(argc));
}
)";

struct Place {
  std::string function;
  std::string file;
  uint64_t line = 0;
};
using Places = std::vector<std::vector<Place>>;

struct Module {
  std::unique_ptr<ElfImage> image;
  UniqueFd fd;
  DebugTarget target;
};

Module OpenModule(const std::string& path) {
  Module module;
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, {.debug_root = ""});
  REQUIRE(image.ok());
  module.image = *std::move(image);
  module.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  module.target = {path, module.fd.get(), module.image->build_id()};
  return module;
}

StatusOr<std::unique_ptr<SourceLines>> OpenLines(const std::string& path,
                                                 const std::string& debug_root = "") {
  const Module module = OpenModule(path);
  SourceOptions options;
  options.search.debug_root = debug_root;
  return SourceLines::Open(module.target, options);
}

// Every third byte of every function: rows of a line table may begin anywhere.
std::vector<uint64_t> SomeAddresses(const std::string& path, size_t most) {
  const Module module = OpenModule(path);
  std::vector<uint64_t> addresses;
  for (const AddressRange& function : module.image->AllFunctions()) {
    for (uint64_t at = function.start.value; at < function.end.value; at += 3) {
      addresses.push_back(at);
    }
  }
  std::mt19937_64 random(1);
  std::shuffle(addresses.begin(), addresses.end(), random);
  if (addresses.size() > most) addresses.resize(most);
  return addresses;
}

std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

// `command` reads addresses on stdin and answers as addr2line -a -i -f does.
std::optional<Places> Ask(const std::string& command, const std::vector<uint64_t>& addresses,
                          const TemporaryDirectory& folder) {
  std::ofstream input(folder.File("addresses"));
  for (const uint64_t address : addresses) input << "0x" << std::hex << address << '\n';
  input.close();
  const auto lines = RunCommand(command + " < " + folder.File("addresses"));
  if (!lines) return std::nullopt;
  Places places;
  bool is_function = true;
  for (std::string line : *lines) {
    if (line.empty()) continue;
    if (line.starts_with("0x") && is_function) {
      places.emplace_back();
      continue;
    }
    if (is_function) {
      places.back().push_back({line, "", 0});
    } else {
      line = line.substr(0, line.find(" (discriminator"));
      const size_t colon = line.rfind(':');
      places.back().back().file = Normal(line.substr(0, colon));
      places.back().back().line = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    }
    is_function = !is_function;
  }
  return places;
}

std::string Text(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places) {
    text += place.function + "@" + place.file + ":" + std::to_string(place.line) + "; ";
  }
  return text;
}

// The outermost function is left out: where it has symbols of its own for parts (".cold") or an
// alias, others take the symbol.
std::vector<Place> Found(const SourceLines& lines, uint64_t address) {
  std::vector<Place> places;
  for (const SourceFrame& frame : lines.Find({address}).frames) {
    places.push_back({std::string(frame.function), Normal(std::string(frame.file)), frame.line});
  }
  return places;
}

// What addr2line is not to be believed: it gives the innermost function the name of the symbol
// around the address, and its line now and then the wrong file.
enum class Trust { kLines, kAll };

// How many of `addresses` are answered in the same way, of those whose line is known.
struct Agreement {
  size_t known = 0;
  size_t same = 0;
  size_t inlined = 0;
  std::string first_difference;
};

Agreement Compare(const SourceLines& lines, const std::vector<uint64_t>& addresses,
                  const Places& expected, Trust trust) {
  Agreement agreement;
  REQUIRE(expected.size() == addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::vector<Place> found = Found(lines, addresses[i]);
    std::vector<Place> wanted = expected[i];
    const bool is_known = !wanted.empty() && wanted.front().line != 0;
    if (!is_known && (found.empty() || found.front().line == 0)) continue;
    ++agreement.known;
    if (found.size() > 1) ++agreement.inlined;
    for (auto* places : {&found, &wanted}) {
      for (size_t j = 0; j < places->size(); ++j) {
        if (trust == Trust::kLines || j + 1 == places->size()) (*places)[j].function.clear();
        if (trust == Trust::kLines && j == 0) (*places)[j].file.clear();
      }
    }
    if (Text(found) == Text(wanted)) {
      ++agreement.same;
    } else if (agreement.first_difference.empty()) {
      char text[32];
      std::snprintf(text, sizeof(text), "0x%lx", static_cast<unsigned long>(addresses[i]));
      agreement.first_difference = std::string(text) + ": " + Text(found) + "but " + Text(wanted);
    }
  }
  return agreement;
}

const std::string kAddr2line = "addr2line -a -i -f -e ";
const std::string kLlvmSymbolizer =
    "llvm-symbolizer-19 --addresses --inlines --no-demangle --output-style=GNU --obj=";

void ExpectAs(const std::string& tool, const SourceLines& lines, const std::string& debug_file,
              const std::string& module, const TemporaryDirectory& folder) {
  const std::vector<uint64_t> addresses = SomeAddresses(module, 2000);
  const auto expected = Ask(tool + debug_file, addresses, folder);
  if (!expected) HBBP_SKIP("no " + tool);
  const Agreement agreement =
      Compare(lines, addresses, *expected, tool == kAddr2line ? Trust::kLines : Trust::kAll);
  INFO(tool << agreement.first_difference);
  CHECK(agreement.same == agreement.known);
  CHECK(agreement.known > 30);
  CHECK(agreement.inlined > 10);
}

bool Build(const TemporaryDirectory& folder, const std::string& compiler, const std::string& flags,
           const std::string& output, std::string_view source = kNested) {
  const std::string path = folder.File("nested.cc");
  std::ofstream(path) << source;
  return RunCommand(compiler + " " + flags + " " + path + " -o " + output).has_value();
}

TEST_CASE("Lines and inlined functions are those that others find", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string compiler = GENERATE("g++", "clang++-14", "clang++-19");
  const std::string flags =
      GENERATE("-O2 -gdwarf-4", "-O2 -gdwarf-5", "-O1 -gdwarf-5 -gz", "-O2 -gdwarf-5 -no-pie");
  const std::string program = folder.File("program");
  if (!Build(folder, compiler, flags, program)) HBBP_SKIP("no " + compiler);
  INFO(compiler + " " + flags);
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  CHECK((*lines)->debug_file() == program);
  ExpectAs(kLlvmSymbolizer, **lines, program, program, folder);
  // It does not see what clang inlined.
  if (compiler == "g++") ExpectAs(kAddr2line, **lines, program, program, folder);
  CHECK((*lines)->Problem() == "");
}

TEST_CASE("A place tells the chain of inlined functions and how far it holds", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  if (!Build(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const auto outer = module.image->AddressOfSymbol("_Z5Outeri");
  REQUIRE(outer);
  const AddressRange function = *module.image->FunctionAround(*outer);
  std::set<std::string> chains;
  for (ModuleAddress at = function.start; at < function.end;) {
    const SourcePlace place = (*lines)->Find(at);
    REQUIRE(place.range.Contains(at));
    CHECK((*lines)->Find(place.range.start).frames == place.frames);
    CHECK((*lines)->Find(place.range.end - 1).frames == place.frames);
    std::string chain;
    for (const SourceFrame& frame : place.frames) chain += Demangle(frame.function) + " ";
    chains.insert(chain);
    if (chain.starts_with("Innermost")) {
      CHECK(place.frames[0].line == 4);
      CHECK(place.frames[1].line == 9);
      CHECK((place.frames[2].line == 13 || place.frames[2].line == 15));
      CHECK(place.frames[0].column > 0);
    }
    at = place.range.end;
  }
  CHECK(chains.contains("Innermost Middle Outer(int) "));
  CHECK((*lines)->Find({1}).frames.empty());
  CHECK((*lines)->Find({UINT64_MAX}).frames.empty());
}

TEST_CASE("Separate debug files are found by build ID and by name", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string whole = folder.File("whole"), program = folder.File("program"),
                    debug = folder.File("program.debug");
  const bool has_build_id = GENERATE(true, false);
  if (!Build(folder, "g++", has_build_id ? "-O2 -g" : "-O2 -g -Wl,--build-id=none", whole) ||
      !RunCommand("objcopy --only-keep-debug " + whole + " " + debug) ||
      !RunCommand("objcopy --strip-debug --add-gnu-debuglink=" + debug + " " + whole + " " +
                  program)) {
    HBBP_SKIP("no g++ or objcopy");
  }
  SECTION("beside the program") {
    const auto lines = OpenLines(program, "/nonexistent");
    REQUIRE(lines.ok());
    CHECK((*lines)->debug_file() == debug);
    ExpectAs(kAddr2line, **lines, whole, program, folder);
  }
  SECTION("by build ID") {
    if (!has_build_id) return;
    const Module module = OpenModule(program);
    const std::string id =
        test::ToHex({module.target.build_id.begin(), module.target.build_id.end()});
    const std::string there =
        folder.File("root/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    std::filesystem::create_directories(std::filesystem::path(there).parent_path());
    std::filesystem::rename(debug, there);
    const auto lines = OpenLines(program, folder.File("root"));
    REQUIRE(lines.ok());
    CHECK((*lines)->debug_file() == there);
    ExpectAs(kAddr2line, **lines, whole, program, folder);
  }
  SECTION("of another build") {
    const std::string other = folder.File("other");
    REQUIRE(Build(folder, "g++", has_build_id ? "-O1 -g" : "-O1 -g -Wl,--build-id=none", other));
    REQUIRE(RunCommand("objcopy --only-keep-debug " + other + " " + debug));
    const auto lines = OpenLines(program, "/nonexistent");
    REQUIRE(!lines.ok());
    CHECK(lines.status().code() == StatusCode::kMismatch);
    CHECK(lines.status().message().find(debug) != std::string::npos);
    CHECK(lines.status().message().find(has_build_id ? "build ID" : "checksum") !=
          std::string::npos);
  }
  SECTION("missing") {
    std::filesystem::remove(debug);
    const auto lines = OpenLines(program, folder.File("root"));
    REQUIRE(!lines.ok());
    CHECK(lines.status().code() == StatusCode::kNotFound);
    CHECK(lines.status().message().starts_with(program + ": no debug information"));
    CHECK(lines.status().message().find(debug) != std::string::npos);
    CHECK(lines.status().message().find("-dbgsym") != std::string::npos);
  }
  SECTION("a FIFO of that name") {
    std::filesystem::remove(debug);
    REQUIRE(::mkfifo(debug.c_str(), 0600) == 0);
    CHECK(!OpenLines(program, folder.File("root")).ok());
  }
}

TEST_CASE("What dwz shares between files is followed", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), other = folder.File("other"),
                    whole = folder.File("whole"), shared = folder.File("shared.debug");
  const std::string version = GENERATE("-gdwarf-4", "-gdwarf-5");
  if (!Build(folder, "g++", "-O2 " + version, program)) HBBP_SKIP("no g++");
  REQUIRE(Build(folder, "g++", "-O1 " + version, other));
  std::filesystem::copy_file(program, whole);
  if (!RunCommand("dwz -m " + shared + " " + program + " " + other) ||
      !std::filesystem::exists(shared)) {
    HBBP_SKIP("no dwz");
  }
  {
    const auto lines = OpenLines(program);
    REQUIRE(lines.ok());
    ExpectAs(kAddr2line, **lines, whole, program, folder);
    CHECK((*lines)->Problem() == "");
  }
  std::filesystem::remove(shared);
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  CHECK((*lines)->Problem().find("shared.debug") != std::string::npos);
  const Module module = OpenModule(program);
  CHECK(!(*lines)->Find(*module.image->AddressOfSymbol("main")).frames.empty());
}

TEST_CASE("Split DWARF is followed into .dwo files", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  const std::string flags = GENERATE("-O2 -gdwarf-4 -gsplit-dwarf", "-O2 -gdwarf-5 -gsplit-dwarf");
  const std::string source = folder.File("nested.cc"), object = folder.File("nested.o"),
                    dwo = folder.File("nested.dwo");
  std::ofstream(source) << kNested;
  if (!RunCommand("g++ " + flags + " -c " + source + " -o " + object) ||
      !RunCommand("g++ " + object + " -o " + program)) {
    HBBP_SKIP("no g++");
  }
  INFO(flags);
  REQUIRE(std::filesystem::exists(dwo));
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  ExpectAs(kLlvmSymbolizer, **lines, program, program, folder);
  CHECK((*lines)->Problem() == "");

  std::filesystem::remove(dwo);
  const bool is_fifo = GENERATE(false, true);
  if (is_fifo) REQUIRE(::mkfifo(dwo.c_str(), 0600) == 0);
  const auto without = OpenLines(program);
  REQUIRE(without.ok());
  const Module module = OpenModule(program);
  const SourcePlace place = (*without)->Find(*module.image->AddressOfSymbol("_Z5Outeri"));
  REQUIRE(!place.frames.empty());
  CHECK(place.frames[0].line >= 3);
  CHECK(place.frames[0].function.empty());
  CHECK((*without)->Problem().find(dwo) != std::string::npos);
  CHECK((*without)->Problem().find(program + ".dwp") != std::string::npos);
}

// Two units, whose .dwo files are in a package and gone.
class PackagedProgram {
 public:
  // False if there is no such compiler or packager.
  bool Build(const std::string& compiler, const std::string& flags, const std::string& packager) {
    std::ofstream(folder_.File("nested.cc")) << kNested;
    std::ofstream(folder_.File("other.cc"))
        << "static inline int Twice(int x) {\n  return x ^ (x << 1);\n}\n"
           "int Other(int x) {\n  int y = Twice(x);\n  return y * Twice(y + 3);\n}\n";
    for (const std::string unit : {"nested", "other"}) {
      if (!RunCommand(compiler + " -O2 -gsplit-dwarf " + flags + " -c " + folder_.File(unit) +
                      ".cc -o " + folder_.File(unit) + ".o")) {
        return false;
      }
    }
    if (!RunCommand(compiler + " " + flags + " " + folder_.File("nested.o") + " " +
                    folder_.File("other.o") + " -o " + program())) {
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
      std::filesystem::remove(folder_.File(unit + ".dwo"));
    }
  }

  // Of all addresses, in order; `problem` is what the module has to say in the end.
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
  std::string program() const { return folder_.File("program"); }
  std::string package() const { return program() + ".dwp"; }
  const std::vector<std::string>& by_dwo() const { return by_dwo_; }

 private:
  TemporaryDirectory folder_;
  std::vector<uint64_t> addresses_;
  std::vector<std::string> by_dwo_;
};

TEST_CASE("Packages of split DWARF give what their .dwo files gave", "[source_lines]") {
  struct Way {
    std::string compiler, flags, packager;
  };
  // llvm-dwp does not end on several units in DWARF 5 of gcc; binutils' dwp packs DWARF 4 only.
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

TEST_CASE("A package that does not fit is told", "[source_lines]") {
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

TEST_CASE("Rust programs have lines and names", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string mangling = GENERATE("legacy", "v0");
  const std::string source = folder.File("sums.rs"), program = folder.File("program");
  std::ofstream(source) << R"(
trait Weigh { fn weigh(&self) -> u64; }
struct Pair<T>(T, T);
impl<T: Copy + Into<u64>> Weigh for Pair<T> {
    #[inline(never)]
    fn weigh(&self) -> u64 { self.0.into() * 3 + self.1.into() }
}
#[inline(never)]
fn total(values: &[u32]) -> u64 {
    values.iter().map(|&v| Pair(v, v ^ 5).weigh()).sum()
}
fn main() {
    let values: Vec<u32> = std::env::args().map(|a| a.len() as u32).collect();
    println!("{}", total(&values));
}
)";
  if (!RunCommand("RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -g -C opt-level=2 "
                  "-C symbol-mangling-version=" +
                  mangling + " " + source + " -o " + program)) {
    HBBP_SKIP("no rustc that has mangling " + mangling);
  }
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  std::set<std::string> names;
  for (const AddressRange& function : module.image->AllFunctions()) {
    const std::string symbol = module.image->FunctionName(function.start);
    if (symbol.find("sums") == std::string::npos) continue;
    names.insert(Demangle(symbol));
    const SourcePlace place = (*lines)->Find(function.start);
    REQUIRE(!place.frames.empty());
    if (symbol.find("total") != std::string::npos) {
      CHECK(place.frames.back().file == source);
    }
  }
  INFO(mangling);
  CHECK(names.contains("sums::total"));
  CHECK(names.contains("<sums::Pair<" + std::string(mangling == "v0" ? "u32" : "T") +
                       "> as sums::Weigh>::weigh"));
}

// This program, which was built with debug information unless somebody wanted otherwise.
TEST_CASE("Ten thousand addresses of a real program", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto lines = OpenLines(self);
  if (!lines.ok()) HBBP_SKIP("built without -g");
  const std::vector<uint64_t> addresses = SomeAddresses(self, 10000);
  const bool by_llvm = GENERATE(false, true);
  const std::string& tool = by_llvm ? kLlvmSymbolizer : kAddr2line;
  const auto expected = Ask(tool + self, addresses, folder);
  if (!expected) HBBP_SKIP("no " + tool);
  const Agreement agreement =
      Compare(**lines, addresses, *expected, by_llvm ? Trust::kAll : Trust::kLines);
  INFO(tool << agreement.first_difference);
  CHECK(agreement.known > addresses.size() / 2);
  CHECK(agreement.inlined > addresses.size() / 10);
  CHECK(static_cast<double>(agreement.same) >= 0.999 * static_cast<double>(agreement.known));
}

// Module `i` has a unit for each of its kUnits functions, so that they can be dropped one by one.
// Empty if there is no compiler.
constexpr int kUnits = 6;
std::vector<std::string> BuildModules(const TemporaryDirectory& folder, int count) {
  std::vector<std::string> programs;
  for (int i = 0; i < count; ++i) {
    std::string files;
    for (int unit = 0; unit < kUnits; ++unit) {
      const std::string name = "m" + std::to_string(i) + "u" + std::to_string(unit);
      std::ofstream(folder.File(name + ".cc"))
          << "int " << name << "(int x) {\n  return x * " << unit + 3 << ";\n}\n"
          << (unit == 0 ? "int main() { return 0; }\n" : "");
      files += folder.File(name + ".cc") + " ";
    }
    programs.push_back(folder.File("m" + std::to_string(i)));
    if (!RunCommand("g++ -O1 -g " + files + "-o " + programs.back())) return {};
  }
  return programs;
}

std::vector<uint64_t> UnitAddresses(const std::string& program, int number) {
  const Module module = OpenModule(program);
  std::vector<uint64_t> addresses;
  for (int unit = 0; unit < kUnits; ++unit) {
    const std::string name = "m" + std::to_string(number) + "u" + std::to_string(unit);
    addresses.push_back(module.image->AddressOfSymbol("_Z4" + name + "i")->value);
  }
  return addresses;
}

TEST_CASE("Memory is bounded, and answers do not depend on it", "[source_lines]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Module module = OpenModule(self);
  const auto much = std::make_shared<LineMemory>(256 << 20);
  const auto little = std::make_shared<LineMemory>(1);
  const auto roomy = SourceLines::Open(module.target, {}, much);
  if (!roomy.ok()) HBBP_SKIP("built without -g");
  const auto tight = SourceLines::Open(module.target, {}, little);
  REQUIRE(tight.ok());
  const std::vector<uint64_t> addresses = SomeAddresses(self, 200);
  uint64_t largest = 0;
  for (const uint64_t address : addresses) {
    CHECK((*tight)->Find({address}).frames == (*roomy)->Find({address}).frames);
    largest = std::max(largest, little->kept().bytes);
  }
  CHECK((*tight)->units_decoded() > (*roomy)->units_decoded());
  // One unit is always kept.
  CHECK(largest < much->kept().bytes);
  const uint64_t decoded = (*roomy)->units_decoded();
  for (const uint64_t address : addresses) (*roomy)->Find({address});
  CHECK((*roomy)->units_decoded() == decoded);
}

TEST_CASE("Modules share one memory, whose oldest units go first", "[source_lines]") {
  constexpr int kModules = 3;
  const TemporaryDirectory folder;
  const std::vector<std::string> programs = BuildModules(folder, kModules);
  if (programs.empty()) HBBP_SKIP("no g++");
  const auto open = [&](uint64_t limit) {
    const auto memory = std::make_shared<LineMemory>(limit);
    std::vector<std::unique_ptr<SourceLines>> modules;
    for (const std::string& program : programs) {
      auto lines = SourceLines::Open(OpenModule(program).target, {}, memory);
      REQUIRE(lines.ok());
      modules.push_back(*std::move(lines));
    }
    return std::pair(memory, std::move(modules));
  };
  std::vector<std::vector<uint64_t>> addresses;
  for (int i = 0; i < kModules; ++i) addresses.push_back(UnitAddresses(programs[i], i));

  const auto [much, roomy] = open(256 << 20);
  std::vector<std::string> expected;
  for (int i = 0; i < kModules; ++i) {
    for (const uint64_t address : addresses[i]) expected.push_back(Text(Found(*roomy[i], address)));
  }
  const uint64_t all_bytes = much->kept().bytes;
  for (int i = 0; i < kModules; ++i) CHECK(roomy[i]->units_decoded() == kUnits);

  SECTION("what is within the limit is decoded once, what is not again") {
    const auto [memory, modules] = open(all_bytes / 3);
    for (int round = 0; round < 2; ++round) {
      size_t next = 0;
      for (int i = 0; i < kModules; ++i) {
        for (const uint64_t address : addresses[i]) {
          CHECK(Text(Found(*modules[i], address)) == expected[next++]);
          CHECK(memory->kept().bytes <= memory->limit().bytes);
        }
      }
    }
    for (const auto& lines : modules) CHECK(lines->units_decoded() > kUnits);
    const uint64_t decoded = modules.back()->units_decoded();
    Found(*modules.back(), addresses.back().back());
    CHECK(modules.back()->units_decoded() == decoded);
    // The first module's units went first.
    Found(*modules.front(), addresses.front().front());
    CHECK(modules.front()->units_decoded() == 2 * kUnits + 1);
  }
  SECTION("what a module kept goes with it") {
    auto [memory, modules] = open(256 << 20);
    for (int i = 0; i < kModules; ++i) {
      for (const uint64_t address : addresses[i]) Found(*modules[i], address);
    }
    CHECK(memory->kept().bytes == all_bytes);
    modules.pop_back();
    CHECK(memory->kept().bytes < all_bytes);
    modules.clear();
    CHECK(memory->kept().bytes == 0);
    CHECK(memory->kept().descriptors == 0);
  }
  SECTION("threads that push out each other's units all get their answers") {
    const auto [memory, modules] = open(all_bytes / 6);
    std::vector<std::vector<std::string>> answers(4);
    std::vector<std::thread> threads;
    for (size_t which = 0; which < answers.size(); ++which) {
      threads.emplace_back([&, which, &modules = modules] {
        std::vector<std::string> found(expected.size());
        for (size_t round = 0; round < 20 * expected.size(); ++round) {
          // Each thread in an order of its own: steps that share no factor with the count.
          const size_t at = (round * (std::vector<size_t>{1, 5, 7, 11}[which])) % expected.size();
          const size_t module = at / kUnits;
          found[at] = Text(Found(*modules[module], addresses[module][at % kUnits]));
        }
        answers[which] = found;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : answers) CHECK(mine == expected);
    CHECK(memory->kept().bytes <= memory->limit().bytes);
  }
}

TEST_CASE("Threads may ask at once", "[source_lines]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto lines = OpenLines(self);
  if (!lines.ok()) HBBP_SKIP("built without -g");
  const std::vector<uint64_t> addresses = SomeAddresses(self, 300);
  std::vector<std::vector<std::string>> answers(4);
  std::vector<std::thread> threads;
  for (auto& mine : answers) {
    threads.emplace_back([&] {
      for (const uint64_t address : addresses) mine.push_back(Text(Found(**lines, address)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : answers) CHECK(mine == answers.front());
}

TEST_CASE("Progress goes up to the size of .debug_info", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  if (!Build(folder, "g++", "-O2 -g -gz", program)) HBBP_SKIP("no g++");
  const Module module = OpenModule(program);
  uint64_t last = 0, whole = 0;
  SourceOptions options;
  options.progress = [&](const std::string& path, uint64_t done, uint64_t total) {
    CHECK(path == program);
    CHECK(done >= last);
    last = done;
    whole = total;
  };
  REQUIRE(SourceLines::Open(module.target, options).ok());
  CHECK(whole > 500);
  CHECK(last == whole);
}

TEST_CASE("A unit that is not read yet is called off, one that is read is not", "[source_lines]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Module module = OpenModule(self);
  CancelFlag flag;
  SourceOptions options;
  options.search.cancel = &flag;
  const auto lines = SourceLines::Open(module.target, options);
  if (!lines.ok()) HBBP_SKIP("built without -g");
  const std::vector<uint64_t> addresses = SomeAddresses(self, 2000);
  uint64_t known = 0;
  for (const uint64_t address : addresses) {
    if (!(*lines)->Find({address}).frames.empty()) {
      known = address;
      break;
    }
  }
  REQUIRE(known != 0);
  const uint64_t decoded = (*lines)->units_decoded();
  flag.Set(true);
  CHECK_FALSE((*lines)->Find({known}).frames.empty());
  int called_off = 0;
  for (const uint64_t address : addresses) {
    try {
      (void)(*lines)->Find({address});
    } catch (const WorkCancelled&) {
      ++called_off;
    }
  }
  CHECK(called_off > 0);
  CHECK((*lines)->units_decoded() == decoded);
  CHECK((*lines)->Problem() == "");
  flag.Set(false);
  const auto expected = OpenLines(self);
  REQUIRE(expected.ok());
  for (const uint64_t address : addresses) {
    CHECK(Text(Found(**lines, address)) == Text(Found(**expected, address)));
  }
}

// A unit without functions that makes .debug_info large.
constexpr std::string_view kLargeUnit = R"(
  .section .debug_abbrev, "", @progbits
1: .byte 1, 0x3c, 0, 0, 0, 0
  .section .debug_info, "", @progbits
  .long 3f - 2f
2: .value 5
  .byte 3, 8
  .long 1b
  .byte 1
  .zero 0x2100000
3:
  .section .note.GNU-stack, "", @progbits
)";

TEST_CASE("Large compressed debug information is unpacked into a file", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string small = folder.File("small"), large = folder.File("large");
  std::ofstream(folder.File("large.s")) << kLargeUnit;
  if (!Build(folder, "g++", "-O2 -gdwarf-5", small) ||
      !Build(folder, "g++",
             "-O2 -gdwarf-5 -gz=zlib -Wa,--nocompress-debug-sections " + folder.File("large.s"),
             large)) {
    HBBP_SKIP("no g++");
  }
  REQUIRE(std::filesystem::file_size(large) < 0x2100000);
  const std::vector<uint64_t> addresses = SomeAddresses(small, 1000);
  const auto expected = OpenLines(small);
  REQUIRE(expected.ok());
  const Module module = OpenModule(large);
  SourceOptions options;
  uint64_t done = 0, total = 0;
  options.progress = [&](const std::string&, uint64_t now, uint64_t whole) {
    CHECK(now >= done);
    done = now;
    total = whole;
  };
  SECTION("whole") {
    const auto lines = SourceLines::Open(module.target, options);
    REQUIRE(lines.ok());
    CHECK(done == total);
    CHECK(total > 2 * 0x2100000);
    for (const uint64_t address : addresses) {
      CHECK(Text(Found(**lines, address)) == Text(Found(**expected, address)));
    }
    CHECK((*lines)->Problem() == "");
  }
  SECTION("called off") {
    CancelFlag flag;
    options.search.cancel = &flag;
    // While it is unpacked, and when its units are about to be looked for.
    for (const uint64_t part : {4, 2}) {
      flag.Set(false);
      options.progress = [&](const std::string&, uint64_t now, uint64_t whole) {
        CHECK_FALSE(flag.is_set());
        flag.Set(now >= whole / part);
      };
      CHECK_THROWS_AS(SourceLines::Open(module.target, options), WorkCancelled);
    }
  }
  SECTION("no room") {
    struct rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    struct rlimit tight = before;
    tight.rlim_cur = 1 << 20;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    const auto lines = SourceLines::Open(module.target);
    ::setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE(lines.ok());
    for (const uint64_t address : addresses) {
      CHECK(Text(Found(**lines, address)) == Text(Found(**expected, address)));
    }
  }
  SECTION("damaged") {
    const auto headers = RunCommand("readelf -SW " + large);
    REQUIRE(headers);
    for (const std::string& line : *headers) {
      unsigned long address = 0, offset = 0, size = 0;
      const size_t name = line.find(".debug_info");
      if (name == std::string::npos) continue;
      REQUIRE(std::sscanf(line.c_str() + name, "%*s %*s %lx %lx %lx", &address, &offset, &size) ==
              3);
      std::fstream file(large, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<long>(offset + size / 2));
      file << "no deflated data";
    }
    const auto lines = SourceLines::Open(OpenModule(large).target);
    if (lines.ok()) CHECK((*lines)->Find({addresses[0]}).frames.size() <= 3);
  }
}

TEST_CASE("A file that changes while it is read is noticed", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  if (!Build(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const ModuleAddress main_function = *module.image->AddressOfSymbol("main");
  std::filesystem::resize_file(program, 4096);
  CHECK((*lines)->Find(main_function).frames.empty());
  CHECK((*lines)->Problem().find("changed") != std::string::npos);
}

TEST_CASE("Damaged DWARF gives fewer answers, and no crash", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), damaged = folder.File("damaged");
  if (!Build(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
  const std::vector<uint64_t> addresses = SomeAddresses(program, 200);
  const std::vector<uint8_t> bytes = test::ReadAll(program);
  const auto headers = RunCommand("readelf -SW " + program);
  REQUIRE(headers);
  std::mt19937 random(7);
  size_t damaged_sections = 0;
  for (const std::string& line : *headers) {
    const size_t name = line.find(".debug_");
    if (name == std::string::npos) continue;
    char section[64];
    unsigned long address = 0, offset = 0, size = 0;
    if (std::sscanf(line.c_str() + name, "%63s %*s %lx %lx %lx", section, &address, &offset,
                    &size) != 4) {
      continue;
    }
    ++damaged_sections;
    for (int round = 0; round < 60; ++round) {
      std::vector<uint8_t> copy = bytes;
      for (int i = 0; i < 8; ++i) copy[offset + random() % size] = static_cast<uint8_t>(random());
      std::ofstream(damaged, std::ios::binary)
          .write(reinterpret_cast<const char*>(copy.data()), static_cast<long>(copy.size()));
      const auto lines = OpenLines(damaged);
      if (!lines.ok()) {
        CHECK(lines.status().message().find(damaged) != std::string::npos);
        continue;
      }
      for (const uint64_t each : addresses) (*lines)->Find({each});
    }
  }
  CHECK(damaged_sections >= 5);
}

TEST_CASE("What has no debug information says so", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  if (!Build(folder, "g++", "-O2", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(!lines.ok());
  CHECK(lines.status().code() == StatusCode::kNotFound);
  CHECK(lines.status().message().find("compile with -g") != std::string::npos);
}

TEST_CASE("Servers are asked only if that is allowed", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), whole = folder.File("whole");
  if (!Build(folder, "g++", "-O2 -g", whole) ||
      !RunCommand("objcopy --strip-debug " + whole + " " + program)) {
    HBBP_SKIP("no g++ or objcopy");
  }
  ::unsetenv("DEBUGINFOD_URLS");
  const Module module = OpenModule(program);
  SourceOptions options;
  options.search.debug_root = "/nonexistent";
  const auto refused = SourceLines::Open(module.target, options);
  CHECK(refused.status().message().find("allow debuginfod") != std::string::npos);
  options.search.use_debuginfod = true;
  const auto asked = SourceLines::Open(module.target, options);
  REQUIRE(!asked.ok());
  CHECK(asked.status().message().find("DEBUGINFOD_URLS") != std::string::npos);
}

TEST_CASE("A libdw that is not there is an error that says what to install", "[source_lines]") {
  const auto libdw = LoadLibdwFrom("libno-such-dw.so.1");
  REQUIRE(!libdw.ok());
  CHECK(libdw.status().code() == StatusCode::kUnsupported);
  CHECK(libdw.status().message().find("libdw1") != std::string::npos);
  CHECK(!LoadLibdwFrom("libm.so.6").ok());
  CHECK(LoadLibdw().ok());
}

}  // namespace
}  // namespace hbbp
