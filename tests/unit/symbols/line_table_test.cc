// Compares the lines of small programs, and of this one, with addr2line and llvm-symbolizer.
#include "symbols/line_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "base/unique_fd.h"
#include "image/elf_file.h"
#include "image/elf_image.h"
#include "support/catch.h"
#include "symbols/demangle.h"
#include "symbols/libdw.h"
#include "symbols/unpacked_debug.h"
#include "unit/image/test_programs.h"
#include "unit/symbols/program_lines.h"

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

TEST_CASE("Lines and inlined functions are those that others find", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string compiler = GENERATE("g++", "clang++-14", "clang++-19");
  const std::string flags =
      GENERATE("-O2 -gdwarf-4", "-O2 -gdwarf-5", "-O1 -gdwarf-5 -gz", "-O2 -gdwarf-5 -no-pie");
  const std::string program = directory.File("program");
  if (!BuildProgram(directory, compiler, flags, program)) HBBP_SKIP("no " + compiler);
  INFO(compiler + " " + flags);
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  CHECK((*lines)->debug_file() == program);
  ExpectAs(kLlvmSymbolizer, **lines, program, program, directory);
  // addr2line does not see what clang inlined.
  if (compiler == "g++") ExpectAs(kAddr2line, **lines, program, program, directory);
  CHECK((*lines)->Problem() == "");
}

TEST_CASE("A line range has the chain of inlined functions and says how far it holds",
          "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  if (!BuildProgram(directory, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const auto outer = module.image->AddressOfSymbol("_Z5Outeri");
  REQUIRE(outer);
  const AddressRange function = *module.image->FunctionAround(*outer);
  std::set<std::string> chains;
  for (ModuleAddress at = function.start; at < function.end;) {
    const LineRange found = (*lines)->Find(at);
    REQUIRE(found.range.Contains(at));
    CHECK((*lines)->Find(found.range.start).frames == found.frames);
    CHECK((*lines)->Find(found.range.end - 1).frames == found.frames);
    std::string chain;
    for (const LineFrame& frame : found.frames) chain += Demangle(frame.function) + " ";
    chains.insert(chain);
    if (chain.starts_with("Innermost")) {
      CHECK(found.frames[0].line == 4);
      CHECK(found.frames[1].line == 9);
      CHECK((found.frames[2].line == 13 || found.frames[2].line == 15));
      CHECK(found.frames[0].column > 0);
    }
    at = found.range.end;
  }
  CHECK(chains.contains("Innermost Middle Outer(int) "));
  CHECK((*lines)->Find({1}).frames.empty());
  CHECK((*lines)->Find({UINT64_MAX}).frames.empty());
}

TEST_CASE("Separate debug files are found by build ID and by name", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string whole = directory.File("whole"), program = directory.File("program"),
                    debug = directory.File("program.debug");
  const bool has_build_id = GENERATE(true, false);
  if (!BuildProgram(directory, "g++", has_build_id ? "-O2 -g" : "-O2 -g -Wl,--build-id=none",
                    whole) ||
      !RunCommand("objcopy --only-keep-debug " + whole + " " + debug) ||
      !RunCommand("objcopy --strip-debug --add-gnu-debuglink=" + debug + " " + whole + " " +
                  program)) {
    HBBP_SKIP("no g++ or objcopy");
  }
  SECTION("next to the program") {
    const auto lines = OpenLines(program, "/nonexistent");
    REQUIRE(lines.ok());
    CHECK((*lines)->debug_file() == debug);
    ExpectAs(kAddr2line, **lines, whole, program, directory);
  }
  SECTION("by build ID") {
    if (!has_build_id) return;
    const Module module = OpenModule(program);
    const std::string id =
        test::ToHex({module.target.build_id.begin(), module.target.build_id.end()});
    const std::string there =
        directory.File("root/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    std::filesystem::create_directories(std::filesystem::path(there).parent_path());
    std::filesystem::rename(debug, there);
    const auto lines = OpenLines(program, directory.File("root"));
    REQUIRE(lines.ok());
    CHECK((*lines)->debug_file() == there);
    ExpectAs(kAddr2line, **lines, whole, program, directory);
  }
  SECTION("of another build") {
    const std::string other = directory.File("other");
    REQUIRE(BuildProgram(directory, "g++", has_build_id ? "-O1 -g" : "-O1 -g -Wl,--build-id=none",
                         other));
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
    const auto lines = OpenLines(program, directory.File("root"));
    REQUIRE(!lines.ok());
    CHECK(lines.status().code() == StatusCode::kNotFound);
    CHECK(lines.status().message().starts_with(program + ": no debug information"));
    CHECK(lines.status().message().find(debug) != std::string::npos);
    CHECK(lines.status().message().find("-dbgsym") != std::string::npos);
  }
  SECTION("a FIFO of that name") {
    std::filesystem::remove(debug);
    REQUIRE(::mkfifo(debug.c_str(), 0600) == 0);
    CHECK(!OpenLines(program, directory.File("root")).ok());
  }
}

TEST_CASE("What dwz shares between files is followed", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program"), other = directory.File("other"),
                    whole = directory.File("whole"), shared = directory.File("shared.debug");
  const std::string version = GENERATE("-gdwarf-4", "-gdwarf-5");
  if (!BuildProgram(directory, "g++", "-O2 " + version, program)) HBBP_SKIP("no g++");
  REQUIRE(BuildProgram(directory, "g++", "-O1 " + version, other));
  std::filesystem::copy_file(program, whole);
  if (!RunCommand("dwz -m " + shared + " " + program + " " + other) ||
      !std::filesystem::exists(shared)) {
    HBBP_SKIP("no dwz");
  }
  {
    const auto lines = OpenLines(program);
    REQUIRE(lines.ok());
    ExpectAs(kAddr2line, **lines, whole, program, directory);
    CHECK((*lines)->Problem() == "");
  }
  std::filesystem::remove(shared);
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  CHECK((*lines)->Problem().find("shared.debug") != std::string::npos);
  const Module module = OpenModule(program);
  CHECK(!(*lines)->Find(*module.image->AddressOfSymbol("main")).frames.empty());
}

TEST_CASE("Rust programs have lines and names", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string mangling = GENERATE("legacy", "v0");
  const std::string source = directory.File("sums.rs"), program = directory.File("program");
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
    const LineRange found = (*lines)->Find(function.start);
    REQUIRE(!found.frames.empty());
    if (symbol.find("total") != std::string::npos) {
      CHECK(found.frames.back().file == source);
    }
  }
  INFO(mangling);
  CHECK(names.contains("sums::total"));
  CHECK(names.contains("<sums::Pair<" + std::string(mangling == "v0" ? "u32" : "T") +
                       "> as sums::Weigh>::weigh"));
}

// Go 1.19 writes no line of functions into DWARF.
TEST_CASE("Functions of Go have the line of their declaration", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string source = directory.File("lines.go"), program = directory.File("program");
  std::ofstream(source) << R"(package main

import "os"

var global int

func inlined(n int) int {
  return n * 3
}

//go:noinline
func leaf(n int) int {

  return n + global
}

//go:noinline
func caller() int {

  return leaf(1) + inlined(global)
}

func main() {
  os.Exit(caller())
}
)";
  if (!RunCommand("GOCACHE=" + directory.File("cache") + " GO111MODULE=off go build -o " + program +
                  " " + source)) {
    HBBP_SKIP("no go");
  }
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const auto line_of = [&](const char* name) {
    const auto address = module.image->AddressOfSymbol(name);
    REQUIRE(address);
    const LineRange found = (*lines)->Find(*address);
    REQUIRE(!found.frames.empty());
    CHECK(found.frames.back().function == name);
    CHECK(found.frames.back().file == source);
    CHECK(found.frames.back().start == *address);
    return found.frames.back().function_line;
  };
  CHECK(line_of("main.main") == 23);
  CHECK(line_of("main.caller") == 18);
  CHECK(line_of("main.leaf") == 12);  // of its parameter: its code begins in line 14
  const AddressRange function =
      *module.image->FunctionAround(*module.image->AddressOfSymbol("main.caller"));
  bool is_inlined = false;
  for (ModuleAddress at = function.start; at < function.end;) {
    const LineRange found = (*lines)->Find(at);
    REQUIRE(!found.frames.empty());
    CHECK(found.frames.back().function_line == 18);
    if (found.frames.front().function == "main.inlined" && !is_inlined) {
      is_inlined = true;
      CHECK(found.frames.front().start == at);
    }
    at = found.range.end;
  }
  CHECK(is_inlined);
}

// This program was built with debug information by default.
TEST_CASE("Ten thousand addresses of a real program", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto lines = OpenLines(self);
  if (!lines.ok()) HBBP_SKIP("built without -g");
  const std::vector<uint64_t> addresses = SomeAddresses(self, 10000);
  const bool by_llvm = GENERATE(false, true);
  const std::string& tool = by_llvm ? kLlvmSymbolizer : kAddr2line;
  const auto expected = Ask(tool + self, addresses, directory);
  if (!expected) HBBP_SKIP("no " + tool);
  const Agreement agreement =
      Compare(**lines, addresses, *expected, by_llvm ? Trust::kAll : Trust::kLines);
  INFO(tool << agreement.first_difference);
  CHECK(agreement.known > addresses.size() / 2);
  CHECK(agreement.inlined > addresses.size() / 10);
  CHECK(static_cast<double>(agreement.same) >= 0.999 * static_cast<double>(agreement.known));
}

// Builds modules with a unit for each of their kUnits functions, so that units can be dropped one
// by one. Returns nothing if there is no compiler.
constexpr int kUnits = 6;
std::vector<std::string> BuildModules(const TemporaryDirectory& directory, int count) {
  std::vector<std::string> programs;
  for (int i = 0; i < count; ++i) {
    std::string files;
    for (int unit = 0; unit < kUnits; ++unit) {
      const std::string name = "m" + std::to_string(i) + "u" + std::to_string(unit);
      std::ofstream(directory.File(name + ".cc"))
          << "int " << name << "(int x) {\n  return x * " << unit + 3 << ";\n}\n"
          << (unit == 0 ? "int main() { return 0; }\n" : "");
      files += directory.File(name + ".cc") + " ";
    }
    programs.push_back(directory.File("m" + std::to_string(i)));
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

TEST_CASE("Memory is bounded, and answers do not depend on it", "[line_table]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Module module = OpenModule(self);
  const auto much = std::make_shared<LineMemory>(256 << 20);
  const auto little = std::make_shared<LineMemory>(1);
  const auto roomy = LineTable::Open(module.target, {}, much);
  if (!roomy.ok()) HBBP_SKIP("built without -g");
  const auto tight = LineTable::Open(module.target, {}, little);
  REQUIRE(tight.ok());
  const std::vector<uint64_t> addresses = SomeAddresses(self, 200);
  uint64_t largest = 0;
  for (const uint64_t address : addresses) {
    CHECK((*tight)->Find({address}).frames == (*roomy)->Find({address}).frames);
    largest = std::max(largest, little->kept().bytes);
  }
  CHECK((*tight)->units_decoded() > (*roomy)->units_decoded());
  // The last used unit is always kept.
  CHECK(largest < much->kept().bytes);
  const uint64_t decoded = (*roomy)->units_decoded();
  for (const uint64_t address : addresses) (*roomy)->Find({address});
  CHECK((*roomy)->units_decoded() == decoded);
}

TEST_CASE("Modules share one memory, whose oldest units go first", "[line_table]") {
  constexpr int kModules = 3;
  const TemporaryDirectory directory;
  const std::vector<std::string> programs = BuildModules(directory, kModules);
  if (programs.empty()) HBBP_SKIP("no g++");
  const auto open = [&](uint64_t limit) {
    const auto memory = std::make_shared<LineMemory>(limit);
    std::vector<std::unique_ptr<LineTable>> modules;
    for (const std::string& program : programs) {
      auto lines = LineTable::Open(OpenModule(program).target, {}, memory);
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
    // The first module's units were dropped first.
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
          // Each thread has its own order, in steps that share no factor with the count.
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

TEST_CASE("Threads may ask at once", "[line_table]") {
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

TEST_CASE("Progress goes up to the size of .debug_info", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  if (!BuildProgram(directory, "g++", "-O2 -g -gz", program)) HBBP_SKIP("no g++");
  const Module module = OpenModule(program);
  uint64_t last = 0, whole = 0;
  DebugInfoOptions options;
  options.progress = [&](const std::string& path, uint64_t done, uint64_t total) {
    CHECK(path == program);
    CHECK(done >= last);
    last = done;
    whole = total;
  };
  REQUIRE(LineTable::Open(module.target, options).ok());
  CHECK(whole > 500);
  CHECK(last == whole);
}

TEST_CASE("Only a unit that is not read yet can be cancelled", "[line_table]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Module module = OpenModule(self);
  CancelFlag flag;
  DebugInfoOptions options;
  options.search.cancel = &flag;
  const auto lines = LineTable::Open(module.target, options);
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

// This unit has no functions and makes .debug_info large.
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

// Has .debug_info claim that it is so large when it is unpacked.
void ClaimUnpackedSize(const std::string& path, uint64_t size) {
  auto bytes = FileBytes::FromFd(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
  REQUIRE(bytes.ok());
  const auto file = ElfFile::Create(*std::move(bytes), path);
  REQUIRE(file.ok());
  const ElfSection* info = (*file)->FindSection(".debug_info");
  REQUIRE(info != nullptr);
  REQUIRE((info->header.sh_flags & SHF_COMPRESSED) != 0);
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(info->header.sh_offset + offsetof(Elf64_Chdr, ch_size)));
  stream.write(reinterpret_cast<const char*>(&size), sizeof(size));
  REQUIRE(stream.good());
}

TEST_CASE("Debug information is not unpacked to more than it can be", "[line_table]") {
  constexpr uint64_t kTrueSize = 0x2100000;
  const TemporaryDirectory directory;
  const std::string bomb = directory.File("bomb");
  std::ofstream(directory.File("large.s")) << kLargeUnit;
  if (!BuildProgram(
          directory, "g++",
          "-O2 -gdwarf-5 -gz=zlib -Wa,--nocompress-debug-sections " + directory.File("large.s"),
          bomb)) {
    HBBP_SKIP("no g++");
  }
  uint64_t unpacked = 0;
  const auto unpack = [&bomb, &unpacked] {
    unpacked = 0;
    const UniqueFd file(::open(bomb.c_str(), O_RDONLY | O_CLOEXEC));
    return UnpackDebugSections(file.get(), bomb,
                               [&unpacked](uint64_t done, uint64_t) { unpacked = done; });
  };
  REQUIRE(unpack().ok());
  CHECK(unpacked > kTrueSize);
  SECTION("as no bytes unpack to so many") {
    for (const uint64_t claimed : {8 * kTrueSize, uint64_t{1} << 40, ~uint64_t{0}}) {
      ClaimUnpackedSize(bomb, claimed);
      CHECK(unpack().status().code() == StatusCode::kBadFormat);
      CHECK(unpacked == 0);
      // Without it, addresses have no lines, or libdw takes the bytes for what they are.
      (void)LineTable::Open(OpenModule(bomb).target);
    }
  }
  SECTION("as it claims less") {
    constexpr uint64_t kClaimed = 1000;
    ClaimUnpackedSize(bomb, kClaimed);
    (void)unpack();
    CHECK(unpacked < kTrueSize / 8);
  }
}

TEST_CASE("What zstd has compressed has its lines, and no more bytes than it claims",
          "[line_table]") {
  const TemporaryDirectory directory;
  const std::string plain = directory.File("plain"), packed = directory.File("packed");
  if (!BuildProgram(directory, "g++", "-O2 -gdwarf-5", plain) ||
      !RunCommand("objcopy --compress-debug-sections=zstd " + plain + " " + packed)) {
    HBBP_SKIP("no g++, or an objcopy without zstd");
  }
  SECTION("whole") {
    const auto expected = OpenLines(plain);
    const auto lines = OpenLines(packed);
    REQUIRE(lines.ok());
    for (const uint64_t address : SomeAddresses(plain, 1000)) {
      CHECK(Text(Found(**lines, address)) == Text(Found(**expected, address)));
    }
    CHECK((*lines)->Problem() == "");
  }
  SECTION("of another size") {
    for (const uint64_t claimed :
         {uint64_t{1}, uint64_t{100}, uint64_t{1} << 20, uint64_t{1} << 40}) {
      ClaimUnpackedSize(packed, claimed);
      const UniqueFd file(::open(packed.c_str(), O_RDONLY | O_CLOEXEC));
      CHECK(UnpackDebugSections(file.get(), packed, {}).status().code() == StatusCode::kBadFormat);
      (void)LineTable::Open(OpenModule(packed).target);
    }
  }
}

TEST_CASE("Large compressed debug information is unpacked into a file", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string small = directory.File("small"), large = directory.File("large");
  std::ofstream(directory.File("large.s")) << kLargeUnit;
  if (!BuildProgram(directory, "g++", "-O2 -gdwarf-5", small) ||
      !BuildProgram(
          directory, "g++",
          "-O2 -gdwarf-5 -gz=zlib -Wa,--nocompress-debug-sections " + directory.File("large.s"),
          large)) {
    HBBP_SKIP("no g++");
  }
  REQUIRE(std::filesystem::file_size(large) < 0x2100000);
  const std::vector<uint64_t> addresses = SomeAddresses(small, 1000);
  const auto expected = OpenLines(small);
  REQUIRE(expected.ok());
  const Module module = OpenModule(large);
  DebugInfoOptions options;
  uint64_t done = 0, total = 0;
  options.progress = [&](const std::string&, uint64_t now, uint64_t whole) {
    CHECK(now >= done);
    done = now;
    total = whole;
  };
  SECTION("whole") {
    const auto lines = LineTable::Open(module.target, options);
    REQUIRE(lines.ok());
    CHECK(done == total);
    CHECK(total > 2 * 0x2100000);
    for (const uint64_t address : addresses) {
      CHECK(Text(Found(**lines, address)) == Text(Found(**expected, address)));
    }
    CHECK((*lines)->Problem() == "");
  }
  SECTION("cancelled") {
    CancelFlag flag;
    options.search.cancel = &flag;
    // Cancel while it is unpacked, and before its units are listed.
    for (const uint64_t part : {4, 2}) {
      flag.Set(false);
      options.progress = [&](const std::string&, uint64_t now, uint64_t whole) {
        CHECK_FALSE(flag.is_set());
        flag.Set(now >= whole / part);
      };
      CHECK_THROWS_AS(LineTable::Open(module.target, options), WorkCancelled);
    }
  }
  SECTION("no room") {
    struct rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    struct rlimit tight = before;
    tight.rlim_cur = 1 << 20;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    const auto lines = LineTable::Open(module.target);
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
    const auto lines = LineTable::Open(OpenModule(large).target);
    if (lines.ok()) CHECK((*lines)->Find({addresses[0]}).frames.size() <= 3);
  }
}

TEST_CASE("A file that changes while it is read is noticed", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  if (!BuildProgram(directory, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const ModuleAddress main_function = *module.image->AddressOfSymbol("main");
  std::filesystem::resize_file(program, 4096);
  CHECK((*lines)->Find(main_function).frames.empty());
  CHECK((*lines)->Problem().find("changed") != std::string::npos);
}

TEST_CASE("Damaged DWARF gives fewer answers, and no crash", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program"), damaged = directory.File("damaged");
  if (!BuildProgram(directory, "g++", "-O2 -g", program)) HBBP_SKIP("no g++");
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

// Returns units that share one list with a wide range and many within it. `start` decides whether
// those are of code that a linker dropped.
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
          "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program"), units = directory.File("units.s");
  const std::string start = GENERATE("0x100000 + 16 * i", "1");
  std::ofstream(units) << UnitsOfOneList(10000, 20000, start);
  if (!BuildProgram(directory, "g++", "-O2 -Wa,--nocompress-debug-sections " + units, program)) {
    HBBP_SKIP("no g++");
  }
  const uint64_t file_bytes = std::filesystem::file_size(program);
  const auto memory = std::make_shared<LineMemory>(256 << 20);
  const auto lines = LineTable::Open(OpenModule(program).target, {}, memory);
  REQUIRE(lines.ok());
  CHECK_THAT((*lines)->Problem(), Catch::Matchers::StartsWith(program + ": has more ranges"));
  CHECK(memory->kept().bytes < 4 * file_bytes);
  CHECK((*lines)->Find({0x100000}).range.end.value <= 0x40000000);
}

// Returns a unit with a function at each address from 0x10000 on, whose names each begin a byte
// later in one string.
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

TEST_CASE("Names that overlap are bounded", "[line_table]") {
  constexpr int kFunctions = 4000, kStringBytes = 200000;
  const TemporaryDirectory directory;
  const std::string program = directory.File("program"), functions = directory.File("functions.s");
  std::ofstream(functions) << FunctionsOfOneString(kFunctions, kStringBytes);
  if (!BuildProgram(directory, "g++", "-O2 " + functions, program)) HBBP_SKIP("no g++");
  const auto memory = std::make_shared<LineMemory>(256 << 20);
  const auto lines = LineTable::Open(OpenModule(program).target, {}, memory);
  REQUIRE(lines.ok());
  const LineRange first = (*lines)->Find({0x10000});
  REQUIRE(first.frames.size() == 1);
  CHECK(first.frames[0].function == std::string(1 << 16, 'A'));
  const LineRange last = (*lines)->Find({0x10000 + kFunctions - 1});
  REQUIRE(last.frames.size() == 1);
  CHECK(last.frames[0].function == "");
  CHECK(memory->kept().bytes < 150 << 20);
}

TEST_CASE("An inline function has the lines of the unit whose copy was linked", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  const std::string inlined = "[[gnu::noinline]] inline int Shared(int x) { return x * 7; }\n";
  std::ofstream(directory.File("first.cc"))
      << inlined << "int First(int x) { return Shared(x) + 1; }\n"
      << "int main(int argc, char**) { return First(argc); }\n";
  std::ofstream(directory.File("second.cc"))
      << "\n\n\n"
      << inlined << "int Second(int x) { return Shared(x) + 2; }\n";
  if (!RunCommand("g++ -O1 -g " + directory.File("first.cc") + " " + directory.File("second.cc") +
                  " -o " + program)) {
    HBBP_SKIP("no g++");
  }
  const auto lines = OpenLines(program);
  REQUIRE(lines.ok());
  const Module module = OpenModule(program);
  const LineRange found = (*lines)->Find(*module.image->AddressOfSymbol("_Z6Sharedi"));
  REQUIRE(found.frames.size() == 1);
  CHECK(found.frames[0].file == directory.File("first.cc"));
  CHECK(found.frames[0].line == 1);
}

TEST_CASE("What has no debug information says so", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program");
  if (!BuildProgram(directory, "g++", "-O2", program)) HBBP_SKIP("no g++");
  const auto lines = OpenLines(program);
  REQUIRE(!lines.ok());
  CHECK(lines.status().code() == StatusCode::kNotFound);
  CHECK(lines.status().message().find("compile with -g") != std::string::npos);
}

TEST_CASE("Servers are asked only if that is allowed", "[line_table]") {
  const TemporaryDirectory directory;
  const std::string program = directory.File("program"), whole = directory.File("whole");
  if (!BuildProgram(directory, "g++", "-O2 -g", whole) ||
      !RunCommand("objcopy --strip-debug " + whole + " " + program)) {
    HBBP_SKIP("no g++ or objcopy");
  }
  ::unsetenv("DEBUGINFOD_URLS");
  const Module module = OpenModule(program);
  DebugInfoOptions options;
  options.search.debug_root = "/nonexistent";
  const auto refused = LineTable::Open(module.target, options);
  CHECK(refused.status().message().find("allow debuginfod") != std::string::npos);
  options.search.use_debuginfod = true;
  const auto asked = LineTable::Open(module.target, options);
  REQUIRE(!asked.ok());
  CHECK(asked.status().message().find("DEBUGINFOD_URLS") != std::string::npos);
}

TEST_CASE("A libdw that is not there is an error that says what to install", "[line_table]") {
  const auto libdw = LoadLibdwFrom("libno-such-dw.so.1");
  REQUIRE(!libdw.ok());
  CHECK(libdw.status().code() == StatusCode::kUnsupported);
  CHECK(libdw.status().message().find("libdw1") != std::string::npos);
  CHECK(!LoadLibdwFrom("libm.so.6").ok());
  CHECK(LoadLibdw().ok());
}

}  // namespace
}  // namespace hbbp
