// Tests the readers of jitdumps and perf maps: lines, moved code, files that a JIT still writes,
// and damaged or foreign files. The tests build jitdumps byte by byte (JitDumpBytes) and write them
// to a temporary directory (DumpFile); ReadAll() returns the functions of one.
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "perf_data/jit_dump.h"
#include "perf_data/perf_map.h"
#include "support/catch.h"
#include "support/jit_dump_bytes.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

struct Code {
  uint64_t time_ns;
  uint64_t address;
  std::string name;
  std::vector<uint8_t> bytes;
  bool operator==(const Code&) const = default;
};

class DumpFile {
 public:
  void Write(const std::vector<uint8_t>& bytes) {
    REQUIRE(WriteFileAtomically(path(), bytes).ok());
  }
  std::string path() const { return directory_.File("jit-77.dump"); }

 private:
  TemporaryFolder directory_;
};

std::vector<Code> ReadAll(JitDumpReader* reader) {
  std::vector<Code> all;
  while (const auto code = reader->Next()) {
    CHECK(code->pid == 77);
    all.push_back({code->time_ns,
                   code->address,
                   std::string(code->name),
                   {code->bytes.begin(), code->bytes.end()}});
  }
  return all;
}

StatusOr<JitDumpReader> Open(const std::vector<uint8_t>& bytes) {
  DumpFile file;
  file.Write(bytes);
  return JitDumpReader::Open(file.path());
}

const std::vector<uint8_t> kTwoBytes = {0x90, 0xc3};

CodeLines LinesOfFirst(const std::vector<uint8_t>& dump) {
  StatusOr<JitDumpReader> reader = Open(dump);
  REQUIRE(reader.ok());
  const auto code = reader->Next();
  REQUIRE(code.has_value());
  CHECK(code->name == "function");
  return code->lines;
}

TEST_CASE("lines that a jitdump has in front of a function are the function's") {
  JitDumpBytes dump;
  dump.DebugInfo(0x1000, {{0x1000, 7, "a.c"}, {0x1001, 8, "b.h"}, {0x1001, 9, "\xff"}});
  dump.Load(1, 0x2000, "other", kTwoBytes, 1);
  dump.Load(2, 0x1000, "function", kTwoBytes, 2);
  dump.Move(3, 0x1000, 0x3000, 2, 2);
  dump.Load(4, 0x1000, "later", kTwoBytes, 2);
  StatusOr<JitDumpReader> reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  CHECK(reader->Next()->lines == CodeLines());
  const CodeLines expected = {{"a.c", "b.h"}, {{0, 0, 7}, {1, 1, 8}, {1, 1, 9}}};
  CHECK(reader->Next()->lines == expected);
  const auto moved = reader->Next();
  CHECK(moved->address == 0x3000);
  CHECK(moved->name == "function");
  CHECK(moved->lines == expected);
  CHECK(reader->Next()->lines == CodeLines());
}

TEST_CASE("lines behind an ELF header that is not there are moved") {
  JitDumpBytes dump;
  dump.DebugInfo(0x1000, {{0x1040, 7, "a.c"}, {0x1041, 8, "a.c"}});
  dump.Load(1, 0x1000, "function", kTwoBytes);
  CHECK(LinesOfFirst(dump.bytes()) == CodeLines{{"a.c"}, {{0, 0, 7}, {1, 0, 8}}});
}

TEST_CASE("lines that cannot be are left out, and the code is not") {
  const std::vector<std::vector<std::tuple<uint64_t, uint32_t, std::string>>> damaged = {
      {{0x1001, 7, "a.c"}, {0x1000, 8, "a.c"}},  // backwards
      {{0xfff, 7, "a.c"}},
      {{0x1000, 7, "a.c"}, {0x1003, 8, "a.c"}},  // beyond the end
      {{0x1000, 7, "\xff"}},
      {{0x1000, 0x80000000, "a.c"}},
      {{0x1000, 7, std::string("a\0bcdefghijklmnop", 18)}},  // as node 20 has them
  };
  for (const auto& entries : damaged) {
    JitDumpBytes dump;
    dump.DebugInfo(0x1000, entries);
    dump.Load(1, 0x1000, "function", kTwoBytes);
    CHECK(LinesOfFirst(dump.bytes()) == CodeLines());
  }
  JitDumpBytes short_records;
  short_records.Other(2, 8);
  short_records.Other(2, 4);
  short_records.Load(1, 0, "function", kTwoBytes);
  CHECK(LinesOfFirst(short_records.bytes()) == CodeLines());
}

TEST_CASE("a jitdump gives functions in the order of the file, and passes over other records") {
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "first", {0x90, 0xc3});
  dump.Other(2, 100);
  dump.Load(20, 0x2000, "second with a space", {0xc3});
  dump.Other(4, 8);
  auto reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  CHECK(ReadAll(&*reader) == std::vector<Code>{{10, 0x1000, "first", {0x90, 0xc3}},
                                               {20, 0x2000, "second with a space", {0xc3}}});
  CHECK(reader->problem().empty());
}

TEST_CASE("moved code is what it was, elsewhere") {
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "moving", {0x90, 0xc3}, 5);
  dump.Load(11, 0x3000, "staying", {0xcc}, 6);
  dump.Move(20, 0x1000, 0x2000, 2, 5);
  dump.Move(21, 0x9000, 0x9900, 2, 99);
  auto reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  const std::vector<Code> all = ReadAll(&*reader);
  REQUIRE(all.size() == 3);
  CHECK(all[2] == Code{20, 0x2000, "moving", {0x90, 0xc3}});
}

TEST_CASE("code that is moved in turns is what it was, each time") {
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "first", {0x90, 0xc3}, 1);
  dump.Load(11, 0x2000, "second", {0xcc}, 2);
  for (uint64_t i = 0; i < 10; ++i) dump.Move(20 + i, 0, 0x3000 + i, 2, 1 + i / 2 % 2);
  dump.Load(40, 0x1000, "first again", {0xc3}, 1);
  dump.Move(41, 0x1000, 0x4000, 1, 1);
  auto reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  const std::vector<Code> all = ReadAll(&*reader);
  REQUIRE(all.size() == 14);
  for (uint64_t i = 0; i < 10; ++i) {
    const Code& origin = all[i / 2 % 2];
    CHECK(all[2 + i] == Code{20 + i, 0x3000 + i, origin.name, origin.bytes});
  }
  CHECK(all[13] == Code{41, 0x4000, "first again", {0xc3}});
}

TEST_CASE("moves of more code than any JIT moves are damage") {
  JitDumpBytes dump;
  constexpr uint64_t kSize = 16 << 20;
  dump.Load(10, 0x1000, "large", std::vector<uint8_t>(kSize, 0x90), 1);
  for (uint64_t i = 0; i < 100; ++i) dump.Move(20 + i, 0x1000, 0x2000, kSize, 1);
  auto reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  uint64_t moves = 0;
  while (const auto code = reader->Next()) moves += code->address == 0x2000 ? 1 : 0;
  CHECK(moves == JitDumpReader::kMaxMovedBytes / kSize - 1);  // the record is a bit longer
  CHECK(reader->problem().find("moves so much code") != std::string::npos);
}

TEST_CASE("what a JIT has not written yet is found later") {
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "first", std::vector<uint8_t>(1000, 0x90));
  const size_t whole = dump.bytes().size();
  dump.Load(20, 0x2000, "second", {0xc3});
  const std::vector<uint8_t> all = dump.bytes();
  TemporaryFolder directory;
  const std::string path = directory.File("jit-1.dump");
  for (const size_t cut : {whole - 1, whole, whole + 3, whole + 16, all.size() - 1}) {
    INFO("cut at " << cut);
    REQUIRE(WriteFileAtomically(path, std::span(all).first(cut)).ok());
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    UniqueFd writer(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    auto reader = JitDumpReader::FromFd(std::move(fd), path);
    REQUIRE(reader.ok());
    CHECK(ReadAll(&*reader).size() == (cut < whole ? 0 : 1));
    const auto rest = std::span(all).subspan(cut);
    REQUIRE(::write(writer.get(), rest.data(), rest.size()) == static_cast<ssize_t>(rest.size()));
    CHECK(ReadAll(&*reader).size() == (cut < whole ? 2 : 1));
    CHECK(reader->problem().empty());
  }
}

TEST_CASE("times of a clock of the JIT's own are not times") {
  JitDumpBytes dump(1);
  dump.Load(10, 0x1000, "first", {0xc3});
  auto reader = Open(dump.bytes());
  REQUIRE(reader.ok());
  CHECK(ReadAll(&*reader).front().time_ns == 0);
}

TEST_CASE("a damaged jitdump says where, and keeps what came before") {
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "first", {0xc3});
  const size_t second = dump.bytes().size();
  dump.Load(20, 0x2000, "second", {0xc3});
  const auto spoil = [&](size_t offset, uint32_t value) {
    std::vector<uint8_t> bytes = dump.bytes();
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    auto reader = Open(bytes);
    REQUIRE(reader.ok());
    CHECK(ReadAll(&*reader).size() == 1);
    return reader->problem();
  };
  const std::string position = "at byte " + std::to_string(second);
  CHECK(spoil(second + 4, 15).find(position) != std::string::npos);
  CHECK(spoil(second + 4, UINT32_MAX).find(position) != std::string::npos);
  CHECK(spoil(second + 4, 40).find(position) != std::string::npos);
  CHECK(spoil(second + 16 + 24, 1000).find(position) != std::string::npos);
}

TEST_CASE("what is not a jitdump of this processor is refused") {
  const auto message = [](const std::vector<uint8_t>& bytes) {
    const auto reader = Open(bytes);
    REQUIRE(reader.status().code() == StatusCode::kBadFormat);
    return reader.status().message();
  };
  CHECK(message({}).find("too short") != std::string::npos);
  CHECK(message(std::vector<uint8_t>(100)).find("no jitdump") != std::string::npos);
  CHECK(message(JitDumpBytes(0, EM_AARCH64).bytes()).find("machine type 183") != std::string::npos);
  std::vector<uint8_t> swapped = JitDumpBytes().bytes();
  std::reverse(swapped.begin(), swapped.begin() + 4);
  CHECK(message(swapped).find("big-endian") != std::string::npos);
  CHECK(JitDumpReader::Open("/no/jit-1.dump").status().code() == StatusCode::kNotFound);
  CHECK(JitDumpReader::Open("/dev/null").status().code() == StatusCode::kBadFormat);
}

TEST_CASE("names of jitdumps") {
  CHECK(IsJitDumpPath("/tmp/.debug/jit/x/jit-4711.dump"));
  CHECK(IsJitDumpPath("jit-1.dump"));
  CHECK_FALSE(IsJitDumpPath("/tmp/jit-.dump"));
  CHECK_FALSE(IsJitDumpPath("/tmp/jit-x1.dump"));
  CHECK_FALSE(IsJitDumpPath("/tmp/jit-1.dump2"));
  CHECK_FALSE(IsJitDumpPath("/tmp/xjit-1.dump"));
}

TEST_CASE("a perf map has a function a line") {
  const auto symbols = ParsePerfMap(
      "7f00 10 JS:*f /a b.js:1\n"
      "0x8000 0x20 with prefixes\n"
      "\n"
      "no number 10\n"
      "9000 0 empty\n"
      "9000 zz size\n"
      "9000 10 \n"
      "ffffffffffffffff 10 beyond\n"
      "fffffffffffffffff 10 too many digits\n"
      "a000 8 cut of");
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0].address == 0x7f00);
  CHECK(symbols[0].size == 0x10);
  CHECK(symbols[0].name == "JS:*f /a b.js:1");
  CHECK(symbols[1].address == 0x8000);
  CHECK(symbols[1].size == 0x20);
  CHECK(symbols[1].name == "with prefixes");
}

}  // namespace
}  // namespace hbbp
