// Source lines of small programs and of this one, against addr2line and llvm-symbolizer.
#include "symbols/source_lines.h"

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
#include "image/elf_image.h"
#include "support/catch.h"
#include "symbols/demangle.h"
#include "symbols/libdw.h"
#include "unit/image/test_programs.h"
#include "unit/symbols/source_places.h"

namespace hbbp {
namespace {

using test::Agreement;
using test::Ask;
using test::BuildProgram;
using test::Compare;
using test::ExpectAs;
using test::Found;
using test::kAddr2line;
using test::kLlvmSymbolizer;
using test::Module;
using test::OpenLines;
using test::OpenModule;
using test::RunCommand;
using test::SomeAddresses;
using test::TemporaryDirectory;
using test::Text;
using test::Trust;

TEST_CASE("Lines and inlined functions are those that others find", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string compiler = GENERATE("g++", "clang++-14", "clang++-19");
  const std::string flags =
      GENERATE("-O2 -gdwarf-4", "-O2 -gdwarf-5", "-O1 -gdwarf-5 -gz", "-O2 -gdwarf-5 -no-pie");
  const std::string program = folder.File("program");
  if (!BuildProgram(folder, compiler, flags, program)) HBBP_SKIP("no " + compiler);
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
  if (!BuildProgram(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
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
  if (!BuildProgram(folder, "g++", has_build_id ? "-O2 -g" : "-O2 -g -Wl,--build-id=none", whole) ||
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
    REQUIRE(
        BuildProgram(folder, "g++", has_build_id ? "-O1 -g" : "-O1 -g -Wl,--build-id=none", other));
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
  if (!BuildProgram(folder, "g++", "-O2 " + version, program)) HBBP_SKIP("no g++");
  REQUIRE(BuildProgram(folder, "g++", "-O1 " + version, other));
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
  if (!BuildProgram(folder, "g++", "-O2 -g -gz", program)) HBBP_SKIP("no g++");
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
  if (!BuildProgram(folder, "g++", "-O2 -gdwarf-5", small) ||
      !BuildProgram(
          folder, "g++",
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
  if (!BuildProgram(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
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
  if (!BuildProgram(folder, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
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

// Units that share one list: a wide range, and many within it. `start` of the many tells whether
// they are of code that a linker dropped.
std::string UnitsOfOneList(int units, int ranges, const std::string& start) {
  return ".section .debug_abbrev, \"\", @progbits\n"
         "1: .byte 1, 0x11, 0, 0x11, 1, 0x55, 0x17, 0, 0, 0\n"
         ".section .debug_info, \"\", @progbits\n"
         ".rept " +
         std::to_string(units) +
         "\n"
         ".long 20\n.value 4\n.long 1b\n.byte 8, 1\n.quad 0\n.long 2f\n"
         ".endr\n"
         ".section .debug_ranges, \"\", @progbits\n"
         "2: .quad 0x10, 0x40000000\n"
         ".set i, 0\n"
         ".rept " +
         std::to_string(ranges) +
         "\n"
         ".quad " +
         start + ", " + start +
         " + 1\n.set i, i + 1\n"
         ".endr\n"
         ".quad 0, 0\n"
         ".section .note.GNU-stack, \"\", @progbits\n";
}

TEST_CASE("Units that share one list of ranges take no more than their file allows",
          "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), units = folder.File("units.s");
  const std::string start = GENERATE("0x100000 + 16 * i", "1");
  std::ofstream(units) << UnitsOfOneList(10000, 20000, start);
  if (!BuildProgram(folder, "g++", "-O2 -Wa,--nocompress-debug-sections " + units, program)) {
    HBBP_SKIP("no g++");
  }
  const uint64_t file_bytes = std::filesystem::file_size(program);
  const auto memory = std::make_shared<LineMemory>(256 << 20);
  const auto lines = SourceLines::Open(OpenModule(program).target, {}, memory);
  REQUIRE(lines.ok());
  CHECK_THAT((*lines)->Problem(), Catch::Matchers::StartsWith(program + ": has more ranges"));
  CHECK(memory->kept().bytes < 4 * file_bytes);
  CHECK((*lines)->Find({0x100000}).range.end.value <= 0x40000000);
}

// A unit with a function at each address from 0x10000 on, whose name begins a byte after the last.
std::string FunctionsOfOneString(int functions, int string_bytes) {
  return R"(
  .section .debug_abbrev, "", @progbits
1: .byte 1, 0x11, 1, 0x11, 1, 0x12, 0x07, 0, 0
  .byte 2, 0x2e, 0, 0x03, 0x0e, 0x11, 0x01, 0x12, 0x0b, 0, 0, 0
  .section .debug_info, "", @progbits
  .long 3f - 2f
2: .value 4
  .long 1b
  .byte 8, 1
  .quad 0x10000, 0x1000000
  .set i, 0
  .rept )" +
         std::to_string(functions) +
         R"(
  .byte 2
  .long i
  .quad 0x10000 + i
  .byte 1
  .set i, i + 1
  .endr
  .byte 0
3:
  .section .debug_str, "", @progbits
  .fill )" +
         std::to_string(string_bytes) +
         R"(, 1, 'A'
  .byte 0
  .section .note.GNU-stack, "", @progbits
)";
}

TEST_CASE("Names that overlap are bounded", "[source_lines]") {
  constexpr int kFunctions = 4000, kStringBytes = 200000;
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), functions = folder.File("functions.s");
  std::ofstream(functions) << FunctionsOfOneString(kFunctions, kStringBytes);
  if (!BuildProgram(folder, "g++", "-O2 " + functions, program)) HBBP_SKIP("no g++");
  const auto memory = std::make_shared<LineMemory>(256 << 20);
  const auto lines = SourceLines::Open(OpenModule(program).target, {}, memory);
  REQUIRE(lines.ok());
  const SourcePlace first = (*lines)->Find({0x10000});
  REQUIRE(first.frames.size() == 1);
  CHECK(first.frames[0].function == std::string(1 << 16, 'A'));
  const SourcePlace last = (*lines)->Find({0x10000 + kFunctions - 1});
  REQUIRE(last.frames.size() == 1);
  CHECK(last.frames[0].function == "");
  CHECK(memory->kept().bytes < 150 << 20);
}

TEST_CASE("An inline function has the lines of the unit whose copy was linked", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  const std::string inlined = "[[gnu::noinline]] inline int Shared(int x) { return x * 7; }\n";
  std::ofstream(folder.File("first.cc"))
      << inlined << "int First(int x) { return Shared(x) + 1; }\n"
      << "int main(int argc, char**) { return First(argc); }\n";
  std::ofstream(folder.File("second.cc"))
      << "\n\n\n"
      << inlined << "int Second(int x) { return Shared(x) + 2; }\n";
  if (!RunCommand("g++ -O1 -g " + folder.File("first.cc") + " " + folder.File("second.cc") +
                  " -o " + program)) {
    HBBP_SKIP("no g++");
  }
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const SourcePlace place = (*lines)->Find(*module.image->AddressOfSymbol("_Z6Sharedi"));
  REQUIRE(place.frames.size() == 1);
  CHECK(place.frames[0].file == folder.File("first.cc"));
  CHECK(place.frames[0].line == 1);
}

TEST_CASE("What has no debug information says so", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program");
  if (!BuildProgram(folder, "g++", "-O2", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(!lines.ok());
  CHECK(lines.status().code() == StatusCode::kNotFound);
  CHECK(lines.status().message().find("compile with -g") != std::string::npos);
}

TEST_CASE("Servers are asked only if that is allowed", "[source_lines]") {
  const TemporaryDirectory folder;
  const std::string program = folder.File("program"), whole = folder.File("whole");
  if (!BuildProgram(folder, "g++", "-O2 -g", whole) ||
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
