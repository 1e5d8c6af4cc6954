// Tests ElfImage: bounds and names of functions, code, offsets, the vdso, separate debug files, and
// files that are not images. The files are libraries of the system, recorded binaries
// (HBBP_TEST_DATA), and programs that the system's compiler builds from C++ and assembly.
// CheckSymbols() and CheckFdes() compare an image with what nm and readelf print.
#include "image/elf_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "image/process_maps.h"
#include "image/process_memory.h"
#include "support/catch.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

using test::Compile;
using test::RunCommand;
using test::TemporaryDirectory;

const ElfImageOptions kNoDebugFiles = {.debug_root = ""};

std::unique_ptr<ElfImage> OpenImage(const std::string& path,
                                    const ElfImageOptions& options = kNoDebugFiles) {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, options);
  CAPTURE(path, image.status().message());
  REQUIRE(image.ok());
  return *std::move(image);
}

struct NmSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  char type = 0;
  std::string name;
};

// Returns the symbols that have an address, without versions.
std::vector<NmSymbol> Nm(const std::string& path, const std::string& options) {
  std::vector<NmSymbol> symbols;
  auto lines = RunCommand("nm --defined-only -P -t x " + options + " " + path);
  for (const std::string& line : lines.value_or(std::vector<std::string>())) {
    NmSymbol symbol;
    char name[4096];
    unsigned long long address = 0;
    unsigned long long size = 0;
    if (std::sscanf(line.c_str(), "%4095s %c %llx %llx", name, &symbol.type, &address, &size) < 3) {
      continue;
    }
    symbol.name = name;
    symbol.name = symbol.name.substr(0, symbol.name.find('@', 1));
    symbol.address = address;
    symbol.size = size;
    symbols.push_back(symbol);
  }
  return symbols;
}

bool IsCode(const NmSymbol& symbol) {
  return std::string_view("TtWi").find(symbol.type) != std::string_view::npos;
}

// Returns one FDE for each address: BOLT leaves outdated ones after those in the search table.
std::vector<AddressRange> ReadelfFdes(const std::string& path) {
  std::map<ModuleAddress, AddressRange> by_start;
  auto lines = RunCommand("readelf --debug-dump=frames " + path + " | grep ' FDE cie='");
  for (const std::string& line : lines.value_or(std::vector<std::string>())) {
    unsigned long long start = 0;
    unsigned long long end = 0;
    size_t at = line.find("pc=");
    if (at != std::string::npos &&
        std::sscanf(line.c_str() + at, "pc=%llx..%llx", &start, &end) == 2 && start < end) {
      by_start.try_emplace({start}, AddressRange{{start}, {end}});
    }
  }
  std::vector<AddressRange> ranges;
  for (const auto& [start, range] : by_start) ranges.push_back(range);
  return ranges;
}

void CheckSymbols(const ElfImage& image, const std::vector<NmSymbol>& symbols) {
  std::map<uint64_t, std::set<std::string>> names;
  for (const NmSymbol& symbol : symbols) {
    if (IsCode(symbol)) names[symbol.address].insert(symbol.name);
  }
  size_t wrong_name = 0;
  size_t wrong_start = 0;
  for (const auto& [address, candidates] : names) {
    std::optional<AddressRange> range = image.FunctionAround({address});
    if (!range) continue;  // a symbol at an address without code, such as _etext
    wrong_name += candidates.count(image.FunctionName({address})) == 0;
    wrong_start += range->start.value != address;
  }
  CHECK(wrong_name == 0);
  CHECK(wrong_start == 0);
  CHECK_FALSE(names.empty());
}

// Checks that functions cover each FDE without a gap and do not reach beyond it.
void CheckFdes(const ElfImage& image, const std::vector<AddressRange>& fdes) {
  size_t wrong = 0;
  for (const AddressRange& fde : fdes) {
    for (ModuleAddress at = fde.start; at < fde.end;) {
      std::optional<AddressRange> range = image.FunctionAround(at);
      if (!range || range->start != at || range->end > fde.end) {
        ++wrong;
        break;
      }
      at = range->end;
    }
  }
  CHECK(wrong == 0);
  CHECK_FALSE(fdes.empty());
}

void CheckNoOverlaps(const ElfImage& image) {
  std::vector<AddressRange> functions = image.AllFunctions();
  CHECK_FALSE(functions.empty());
  size_t wrong = 0;
  ModuleAddress end{0};
  for (const AddressRange& function : functions) {
    wrong += function.start < end || function.end <= function.start;
    wrong += image.FunctionAround(function.start) != function;
    wrong += image.FunctionAround(function.end - 1) != function;
    end = function.end;
  }
  CHECK(wrong == 0);
}

std::optional<NmSymbol> FindSymbol(const std::vector<NmSymbol>& symbols, std::string_view name) {
  auto found = std::ranges::find(symbols, name, &NmSymbol::name);
  if (found == symbols.end()) return std::nullopt;
  return *found;
}

TEST_CASE("system libraries: symbols and unwind tables agree with nm and readelf") {
  if (!RunCommand("nm --version")) HBBP_SKIP("no binutils");
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/lib64/ld-linux-x86-64.so.2"}) {
    if (!std::filesystem::exists(path)) continue;
    CAPTURE(path);
    std::unique_ptr<ElfImage> image = OpenImage(path);
    CheckSymbols(*image, Nm(path, "-D"));
    CheckFdes(*image, ReadelfFdes(path));
    CheckNoOverlaps(*image);
  }
}

TEST_CASE("a stripped program has exact functions and few names") {
  if (!RunCommand("readelf --version")) HBBP_SKIP("no binutils");
  std::unique_ptr<ElfImage> image = OpenImage("/bin/true");
  CheckFdes(*image, ReadelfFdes("/bin/true"));
  CheckNoOverlaps(*image);
}

TEST_CASE("recorded binaries") {
  std::vector<std::string> paths = test::RecordedBinaries();
  if (paths.empty()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  if (!RunCommand("nm --version")) HBBP_SKIP("no binutils");
  for (const std::string& path : paths) {
    CAPTURE(path);
    std::unique_ptr<ElfImage> image = OpenImage(path);
    CheckSymbols(*image, Nm(path, ""));
    CheckFdes(*image, ReadelfFdes(path));
    CheckNoOverlaps(*image);
  }
}

TEST_CASE("compiled programs of every kind") {
  if (!RunCommand("nm --version")) HBBP_SKIP("no binutils");
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  int compiled = 0;
  for (const char* flags :
       {"-O2", "-O2 -no-pie", "-O2 -static-pie", "-O2 -static", "-O0 -g",
        "-O2 -fcf-protection=none", "-O2 -fno-asynchronous-unwind-tables",
        "-O2 -Wl,--no-eh-frame-hdr -static", "-O2 -Wl,-z,now", "-O2 -fuse-ld=gold",
        "-O2 -Wl,-z,noseparate-code", "-O2 -ffunction-sections -Wl,--gc-sections"}) {
    CAPTURE(flags);
    if (!Compile(directory, test::kProgram, flags, path)) continue;
    ++compiled;
    std::unique_ptr<ElfImage> image = OpenImage(path);
    std::vector<NmSymbol> symbols = Nm(path, "");
    CheckSymbols(*image, symbols);
    CheckFdes(*image, ReadelfFdes(path));
    CheckNoOverlaps(*image);
    for (const char* name : {"main", "_ZL6Helperi", "_ZNK5Shape4AreaEv"}) {
      CAPTURE(name);
      std::optional<NmSymbol> symbol = FindSymbol(symbols, name);
      REQUIRE(symbol.has_value());
      AddressRange expected{{symbol->address}, {symbol->address + symbol->size}};
      CHECK(image->FunctionAround(expected.start) == expected);
      CHECK(image->FunctionAround(expected.end - 1) == expected);
      CHECK(image->FunctionName(expected.start) == name);
      CHECK(image->FunctionName(expected.end - 1) == name);
    }
  }
  if (compiled == 0) HBBP_SKIP("no compiler");
}

TEST_CASE("the cold part of a function is a function of its own") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, test::kProgram, "-O2", path)) HBBP_SKIP("no compiler");
  std::vector<NmSymbol> symbols = Nm(path, "");
  const std::string name = "_Z7CheckediRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
  std::optional<NmSymbol> hot = FindSymbol(symbols, name);
  std::optional<NmSymbol> cold = FindSymbol(symbols, name + ".cold");
  if (!hot || !cold) HBBP_SKIP("this compiler splits nothing here");
  std::unique_ptr<ElfImage> image = OpenImage(path);
  CHECK(image->FunctionAround({hot->address}) ==
        AddressRange{{hot->address}, {hot->address + hot->size}});
  CHECK(image->FunctionAround({cold->address}) ==
        AddressRange{{cold->address}, {cold->address + cold->size}});
  CHECK(image->FunctionName({cold->address + 1}) == name + ".cold");

  SECTION("in a stripped file too, but without names") {
    REQUIRE(RunCommand("strip " + path).has_value());
    std::unique_ptr<ElfImage> stripped = OpenImage(path);
    CHECK(stripped->FunctionAround({cold->address + 1}) == image->FunctionAround({cold->address}));
    CHECK(stripped->FunctionName({hot->address}).empty());
    CheckNoOverlaps(*stripped);
  }
}

TEST_CASE("stubs have the names that objdump gives them") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  int named = 0;
  for (const char* flags : {"-O2 -fcf-protection=full -Wl,-z,ibtplt", "-O2 -fcf-protection=none",
                            "-O2 -fPIE -pie", "-O2 -no-pie -Wl,-z,now"}) {
    CAPTURE(flags);
    if (!Compile(directory, test::kProgram, flags, path)) continue;
    std::unique_ptr<ElfImage> image = OpenImage(path);
    auto lines =
        RunCommand("objdump -d -j .plt -j .plt.sec -j .plt.got " + path + " | grep '@plt>:'");
    if (!lines) lines = RunCommand("objdump -d " + path + " | grep '@plt>:'");
    for (const std::string& line : lines.value_or(std::vector<std::string>())) {
      unsigned long long address = 0;
      char name[1024];
      REQUIRE(std::sscanf(line.c_str(), "%llx <%1023[^>]>:", &address, name) == 2);
      CAPTURE(line);
      CHECK(image->FunctionName({address}) == name);
      std::optional<AddressRange> range = image->FunctionAround({address + 7});
      REQUIRE(range.has_value());
      CHECK(range->start.value == address);
      uint64_t size = range->end - range->start;
      CHECK((size == 16 || size == 8));
      ++named;
    }
  }
  if (named == 0) HBBP_SKIP("no compiler or objdump");
}

TEST_CASE("hand-written assembly: symbols split what one FDE or none covers") {
  constexpr std::string_view kSource = R"(
  .text
  .globl _start
  .type _start, @function
_start:
  nop
  nop
local_label:
  ret
  .globl second
  .type second, @function
second:
  .cfi_startproc
  nop
  .type third, @function
third:
  nop
inner_label:
  ret
  .size third, . - third
  .cfi_endproc
  .type sized, @function
sized:
  nop
  .byte 0xc3
inside_sized:
  ret
  .size sized, . - sized
  int3
  int3
  .weak alias_weak
  .globl __alias_global
  .globl alias_global
  .type alias_weak, @function
  .type __alias_global, @function
  .type alias_global, @function
alias_local:
alias_weak:
__alias_global:
alias_global:
  ret
  .section .note.GNU-stack,"",@progbits
)";
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, kSource, "-x assembler -nostdlib -static", path))
    HBBP_SKIP("no assembler");
  std::unique_ptr<ElfImage> image = OpenImage(path);
  std::vector<NmSymbol> symbols = Nm(path, "");
  auto address_of = [&symbols](std::string_view name) {
    std::optional<NmSymbol> symbol = FindSymbol(symbols, name);
    REQUIRE(symbol.has_value());
    return ModuleAddress{symbol->address};
  };
  // A plain label outside of sized functions counts as a function.
  ModuleAddress start = address_of("_start");
  CHECK(image->FunctionAround(start) == AddressRange{start, address_of("local_label")});
  CHECK(image->FunctionName(start + 2) == "local_label");
  ModuleAddress second = address_of("second");
  ModuleAddress third = address_of("third");
  CHECK(image->FunctionAround(second) == AddressRange{second, third});
  CHECK(image->FunctionName(second) == "second");
  CHECK(image->FunctionAround(third + 1) == AddressRange{third, third + 2});
  CHECK(image->FunctionName(third + 1) == "third");
  ModuleAddress sized = address_of("sized");
  CHECK(image->FunctionAround(sized + 2) == AddressRange{sized, sized + 3});
  CHECK(image->FunctionName(sized + 2) == "sized");
  // This is the gap between two functions.
  ModuleAddress alias = address_of("alias_global");
  CHECK(image->FunctionAround(sized + 4) == AddressRange{sized + 3, alias});
  CHECK(image->FunctionName(sized + 4).empty());
  CHECK(image->FunctionName(alias) == "alias_global");
  CHECK_FALSE(image->FunctionAround(alias + 0x100000).has_value());
}

TEST_CASE("handlers of exceptions may be in another part of the function") {
  // `near` and `far` have handlers in themselves and elsewhere, `none` has none, and a symbol
  // divides the function of `divided`.
  constexpr std::string_view kSource = R"(
  .text
  .globl _start
_start:
.macro function name, table
  .type \name, @function
\name:
  .cfi_startproc
  .ifnb \table
  .cfi_lsda 0x1b, \table
  .endif
  nop
  .ifc \name, divided
  .type rest, @function
rest:
  .endif
  ret
  .cfi_endproc
  .size \name, . - \name
.endm
  function near, near_table
  function far, far_table
  function none
  function divided, near_table
  .section .gcc_except_table,"a",@progbits
near_table:
  .byte 0xff, 0xff, 0x01, 0x00
far_table:
  .byte 0x1b
  .long _start - .
  .byte 0xff, 0x01, 0x00
  .section .note.GNU-stack,"",@progbits
)";
  TemporaryDirectory directory;
  const std::string path = directory.File("program");
  for (const std::string flags : {"-Wl,--eh-frame-hdr", "-Wl,--no-eh-frame-hdr"}) {
    CAPTURE(flags);
    if (!Compile(directory, kSource, "-x assembler -nostdlib -static " + flags, path)) {
      HBBP_SKIP("no assembler");
    }
    const std::unique_ptr<ElfImage> image = OpenImage(path);
    const auto has_distant_handlers = [&](std::string_view name) {
      const std::optional<ModuleAddress> address = image->AddressOfSymbol(name);
      REQUIRE(address.has_value());
      return image->HasDistantHandlers(*image->FunctionAround(*address));
    };
    const bool is_unknown = flags == "-Wl,--no-eh-frame-hdr";
    CHECK(has_distant_handlers("near") == is_unknown);
    CHECK(has_distant_handlers("far"));
    CHECK(has_distant_handlers("none") == is_unknown);
    CHECK(has_distant_handlers("divided"));
    CHECK(has_distant_handlers("rest"));
  }
}

TEST_CASE("labels of a function without a size are in it if its FDE or their names say so") {
  constexpr std::string_view kSource = R"(
  .text
  .globl _start
  .type _start, @function
_start:
  .cfi_startproc
  nop
loop:
  jmp loop
  .cfi_endproc
  .globl first, second
  .type first, @function
first:
  nop
first.loop:
  nop
first.last:
  ret
second:
  nop
second.loop:
  ret
local:
  nop
local.loop:
  ret
  .globl local.other
local.other:
  ret
locality:
  ret
  .section .note.GNU-stack,"",@progbits
)";
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, kSource, "-x assembler -nostdlib -static", path))
    HBBP_SKIP("no assembler");
  std::unique_ptr<ElfImage> image = OpenImage(path);
  const auto function = [&](const char* label) {
    return image->FunctionName(*image->AddressOfSymbol(label));
  };
  CHECK(function("loop") == "_start");
  CHECK(function("first.loop") == "first");
  CHECK(function("first.last") == "first");
  CHECK(function("second.loop") == "second");
  CHECK(function("local.loop") == "local");
  CHECK(function("local.other") == "local.other");
  CHECK(function("locality") == "locality");
  const ModuleAddress first = *image->AddressOfSymbol("first");
  const AddressRange range{first, *image->AddressOfSymbol("second")};
  CHECK(image->FunctionAround(*image->AddressOfSymbol("first.last")) == range);
  const ModuleAddress start = *image->AddressOfSymbol("_start");
  CHECK(image->FunctionAround(*image->AddressOfSymbol("loop")) == AddressRange{start, start + 3});
}

TEST_CASE("without symbols and unwind tables, a function is its section") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, ".globl _start\n_start: nop\nnop\nret\n",
               "-x assembler -nostdlib -static -s", path)) {
    HBBP_SKIP("no assembler");
  }
  std::unique_ptr<ElfImage> image = OpenImage(path);
  CHECK(image->AllFunctions().empty());
  std::optional<FileOffset> nowhere = image->OffsetOfAddress({0});
  CHECK_FALSE(nowhere.has_value());
  std::optional<ModuleAddress> code = image->AddressOfOffset({0x1000});
  REQUIRE(code.has_value());
  CHECK(image->FunctionAround(*code + 1) == AddressRange{*code, *code + 3});
  CHECK(image->CodeAt(*code + 1, 100).size() == 2);
  CHECK(image->FunctionName(*code).empty());
}

TEST_CASE("well-known names of libc") {
  const std::string path = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(path)) HBBP_SKIP("no " + path);
  std::unique_ptr<ElfImage> image = OpenImage(path);
  std::set<std::string> names;
  for (const AddressRange& function : image->AllFunctions()) {
    names.insert(image->FunctionName(function.start));
  }
  for (const char* name : {"malloc", "free", "printf", "qsort", "memcpy"}) {
    CAPTURE(name);
    CHECK(names.count(name) == 1);
  }
}

TEST_CASE("code and data are the bytes of the file") {
  const std::string path = "/bin/true";
  std::unique_ptr<ElfImage> image = OpenImage(path);
  std::vector<uint8_t> file = test::ReadAll(path);
  for (const AddressRange& function : image->AllFunctions()) {
    std::optional<FileOffset> offset = image->OffsetOfAddress(function.start);
    REQUIRE(offset.has_value());
    CHECK(image->AddressOfOffset(*offset) == function.start);
    size_t size = function.end - function.start;
    std::span<const uint8_t> code = image->CodeAt(function.start, size);
    REQUIRE(code.size() == size);
    CHECK(
        std::equal(code.begin(), code.end(), file.begin() + static_cast<ptrdiff_t>(offset->value)));
    CHECK(image->DataAt(function.start, size).data() == code.data());
  }
  // The ELF header is loaded, but not executable.
  std::optional<ModuleAddress> header = image->AddressOfOffset({0});
  REQUIRE(header.has_value());
  CHECK(image->DataAt(*header, 4).size() == 4);
  CHECK(image->CodeAt(*header, 4).empty());
  CHECK_FALSE(image->FunctionAround(*header).has_value());
  CHECK(image->CodeAt({UINT64_MAX}, SIZE_MAX).empty());
  CHECK(image->DataAt({UINT64_MAX / 2}, SIZE_MAX).empty());
  CHECK_FALSE(image->AddressOfOffset({UINT64_MAX}).has_value());
}

TEST_CASE("an offset in the first page of a segment has an address") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  // Without separate-code and with a linker script the data segment starts inside a page.
  if (!Compile(directory, test::kProgram, "-O2 -Wl,-z,noseparate-code", path)) {
    HBBP_SKIP("no compiler");
  }
  auto lines = RunCommand("readelf -lW " + path + " | grep ' LOAD '");
  REQUIRE(lines.has_value());
  std::unique_ptr<ElfImage> image = OpenImage(path);
  for (const std::string& line : *lines) {
    unsigned long long offset = 0;
    unsigned long long address = 0;
    REQUIRE(std::sscanf(line.c_str(), " LOAD %llx %llx", &offset, &address) == 2);
    CHECK(image->AddressOfOffset({offset}) == ModuleAddress{address});
    if (offset % 4096 != 0) {
      CHECK(image->AddressOfOffset({offset - 1}) == ModuleAddress{address - 1});
      CHECK_FALSE(image->OffsetOfAddress({address - 1}).has_value());
    }
  }
}

TEST_CASE("the vdso, from memory") {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  auto vdso = std::ranges::find(*mappings, "[vdso]", &Mapping::path);
  if (vdso == mappings->end()) HBBP_SKIP("no vdso");
  std::vector<uint8_t> bytes(vdso->size());
  REQUIRE(ReadProcessMemory(0, vdso->start, bytes) == bytes.size());
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::FromMemory(bytes, "[vdso]");
  REQUIRE(image.ok());
  CHECK_FALSE((*image)->build_id().empty());
  std::set<std::string> names;
  for (const AddressRange& function : (*image)->AllFunctions()) {
    names.insert((*image)->FunctionName(function.start));
    CHECK_FALSE((*image)->CodeAt(function.start, 1).empty());
  }
  CHECK((names.count("clock_gettime") == 1 || names.count("__vdso_clock_gettime") == 1));
}

TEST_CASE("separate debug files give the names that were stripped") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  std::string debug = directory.File("program.debug");
  if (!Compile(directory, test::kProgram, "-O2 -g -Wl,--build-id=sha1", path)) {
    HBBP_SKIP("no compiler");
  }
  std::optional<NmSymbol> helper = FindSymbol(Nm(path, ""), "_ZL6Helperi");
  REQUIRE(helper.has_value());
  ModuleAddress address{helper->address};
  std::unique_ptr<ElfImage> unstripped = OpenImage(path);
  std::span<const uint8_t> id = unstripped->build_id();
  std::string build_id = test::ToHex({id.begin(), id.end()});
  REQUIRE(RunCommand("objcopy --only-keep-debug " + path + " " + debug).has_value());
  REQUIRE(RunCommand("strip " + path).has_value());
  const ElfImageOptions options = {.debug_root = directory.File("root")};
  CHECK(OpenImage(path, options)->FunctionName(address).empty());

  SECTION("by build ID") {
    std::string build_id_directory = directory.File("root/.build-id/") + build_id.substr(0, 2);
    std::filesystem::create_directories(build_id_directory);
    std::string debug_path = build_id_directory + "/" + build_id.substr(2) + ".debug";
    std::filesystem::copy(debug, debug_path);
    CHECK(OpenImage(path, options)->FunctionName(address) == "_ZL6Helperi");
    CHECK(OpenImage(path)->FunctionName(address).empty());

    // A file of another build is refused.
    REQUIRE(Compile(directory, test::kProgram, "-O1 -g -Wl,--build-id=sha1", debug_path));
    CHECK(OpenImage(path, options)->FunctionName(address).empty());
  }
  SECTION("by debug link") {
    std::string link = directory.File("program.link");
    REQUIRE(RunCommand("cd " + directory.File("") +
                       " && objcopy --add-gnu-debuglink=program.debug " + path + " " + link)
                .has_value());
    CHECK(OpenImage(link, options)->FunctionName(address) == "_ZL6Helperi");
    std::filesystem::create_directory(directory.File(".debug"));
    std::filesystem::rename(debug, directory.File(".debug/program.debug"));
    CHECK(OpenImage(link, options)->FunctionName(address) == "_ZL6Helperi");
    // A file that would block is not opened.
    std::filesystem::remove(directory.File(".debug/program.debug"));
    REQUIRE(::mkfifo(debug.c_str(), 0600) == 0);
    CHECK(OpenImage(link, options)->FunctionName(address).empty());
  }
}

TEST_CASE("symbols that a stripped file has packed give names") {
  TemporaryDirectory directory;
  const std::string path = directory.File("program"), symbols = directory.File("symbols");
  if (!Compile(directory, test::kProgram, "-O2", path)) HBBP_SKIP("no compiler");
  const std::optional<NmSymbol> helper = FindSymbol(Nm(path, ""), "_ZL6Helperi");
  REQUIRE(helper.has_value());
  const ModuleAddress address{helper->address};
  REQUIRE(RunCommand("objcopy --only-keep-debug " + path + " " + symbols).has_value());
  REQUIRE(RunCommand("strip " + path).has_value());
  CHECK(OpenImage(path)->FunctionName(address).empty());
  const auto open_with = [&](const std::string& packed) {
    const std::string with = path + ".with";
    REQUIRE(RunCommand("objcopy --add-section .gnu_debugdata=" + packed + " " + path + " " + with)
                .has_value());
    return OpenImage(with);
  };
  if (!RunCommand("xz -k " + symbols)) HBBP_SKIP("no xz");
  const std::unique_ptr<ElfImage> image = open_with(symbols + ".xz");
  CHECK(image->FunctionName(address) == "_ZL6Helperi");
  CHECK(image->AddressOfSymbol("_ZL6Helperi") == address);

  SECTION("unless they are cut off") {
    std::filesystem::resize_file(symbols + ".xz", std::filesystem::file_size(symbols + ".xz") / 2);
    CHECK(open_with(symbols + ".xz")->FunctionName(address).empty());
  }
  SECTION("unless they are not an ELF file") {
    CHECK(open_with(symbols)->FunctionName(address).empty());
  }
  SECTION("unless they would fill the memory") {
    const std::string bomb = directory.File("bomb.xz");
    REQUIRE(RunCommand("head -c 270M /dev/zero | xz -0 > " + bomb).has_value());
    CHECK(open_with(bomb)->FunctionName(address).empty());
  }
}

TEST_CASE("files that cannot be images") {
  auto code_of = [](const std::string& path) { return ElfImage::Open(path).status().code(); };
  CHECK(code_of("/nowhere/at/all") == StatusCode::kNotFound);
  CHECK(code_of("/") == StatusCode::kBadFormat);
  CHECK(code_of("/dev/null") == StatusCode::kBadFormat);
  CHECK(code_of("/proc/self/maps") == StatusCode::kBadFormat);
  TemporaryDirectory directory;
  std::string fifo = directory.File("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(fifo);
  REQUIRE_FALSE(image.ok());
  CHECK(image.status().message().starts_with(fifo));
  if (Compile(directory, "int f() { return 1; }", "-c", directory.File("object.o"))) {
    CHECK(code_of(directory.File("object.o")) == StatusCode::kBadFormat);
  }
}

}  // namespace
}  // namespace hbbp
