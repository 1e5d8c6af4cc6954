// Tests how generated code in a profile gets its names, code and lines from perf maps and jitdumps.
// DataWith() makes profiles with samples in such code, Files writes maps and jitdumps into a
// temporary directory, and PiecesOf() lists the code afterwards.
#include "collect/generated_names.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "support/catch.h"
#include "support/jit_dump_bytes.h"
#include "support/jit_memory.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

// Makes data with samples at addresses of generated code, of which a page was copied.
ProfileData DataWith(uint64_t page, const std::vector<uint8_t>& copy,
                     const std::vector<uint64_t>& sampled) {
  ProfileData data;
  ModuleRecord module;
  module.kind = ModuleKind::kAnonymous;
  module.path = "[anonymous]";
  module.chunks.push_back({page, copy});
  data.modules.push_back(std::move(module));
  for (const uint64_t address : sampled) {
    IpCount count;
    count.offset = address;
    data.counts.push_back(count);
  }
  return data;
}

using Piece = std::tuple<uint64_t, size_t, std::string>;  // start, bytes, name

std::vector<Piece> PiecesOf(const ProfileData& data) {
  std::vector<Piece> pieces;
  for (const CodeChunk& chunk : data.modules[0].chunks) {
    pieces.emplace_back(chunk.offset, chunk.bytes.size(), chunk.name);
  }
  return pieces;
}

class Files {
 public:
  std::string Map(const std::string& text) { return Write("perf-1.map", text); }
  std::string Dump(const std::vector<uint8_t>& bytes) {
    return Write("jit-1.dump", std::string(bytes.begin(), bytes.end()));
  }

 private:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_.File(name);
    REQUIRE(WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()})
                .ok());
    return path;
  }
  TemporaryFolder directory_;
};

TEST_CASE("a perf map names functions that have samples, and only these") {
  Files files;
  ProfileData data = DataWith(0x1000, std::vector<uint8_t>(0x1000, 0x90), {0x1010, 0x1fff});
  const JitFiles jit{files.Map("1000 20 first\n1020 20 without samples\n1ff0 10 last\n"), {}};
  CHECK(NameGeneratedCode(0, jit, &data).ok());
  CHECK(PiecesOf(data) ==
        std::vector<Piece>{{0x1000, 0x20, "first"}, {0x1020, 0xfd0, ""}, {0x1ff0, 0x10, "last"}});
}

TEST_CASE("of a map, the last function at an address is taken") {
  Files files;
  ProfileData data = DataWith(0x1000, std::vector<uint8_t>(0x100, 0x90), {0x1010});
  const JitFiles jit{files.Map("1000 40 old\n1008 10 new\n"), {}};
  CHECK(NameGeneratedCode(0, jit, &data).ok());
  CHECK(PiecesOf(data) ==
        std::vector<Piece>{{0x1000, 0x8, ""}, {0x1008, 0x10, "new"}, {0x1018, 0xe8, ""}});
}

TEST_CASE("the rest of a function in a map is read from memory") {
  JitMemory memory(2);
  memory.Put(JitMemory::kPage - 1, {0x31, 0xc0, 0xc3});
  const uint64_t start = memory.address() + JitMemory::kPage - 1;
  ProfileData data =
      DataWith(memory.address(), {memory.At(0), memory.At(JitMemory::kPage)}, {start});
  data.modules[0].chunks[0].bytes.back() = 0x33;
  Files files;
  char line[64];
  std::snprintf(line, sizeof(line), "%lx 3 crossing\n", start);
  CHECK(NameGeneratedCode(0, {files.Map(line), {}}, &data).ok());
  const CodeChunk& function = data.modules[0].chunks.back();
  CHECK(function.name == "crossing");
  CHECK(function.bytes == std::vector<uint8_t>{0x33, 0xc0, 0xc3});
}

TEST_CASE("of a jitdump, the function is taken whose code was there when the sample came") {
  const std::vector<uint8_t> older = {0x31, 0xc0, 0xc3}, newer = {0x31, 0xdb, 0xc3};
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "older", older);
  dump.Load(20, 0x1000, "newer", newer);
  dump.Load(30, 0x1000, "newest", {0xcc, 0xcc});
  Files files;
  const JitFiles jit{"", {files.Dump(dump.bytes())}};
  for (const auto& [copy, name] : {std::pair(older, "older"), std::pair(newer, "newer")}) {
    ProfileData data = DataWith(0x1000, copy, {0x1002});
    CHECK(NameGeneratedCode(0, jit, &data).ok());
    CHECK(PiecesOf(data) == std::vector<Piece>{{0x1000, 3, name}});
  }
}

TEST_CASE("a jitdump has the code that was not copied") {
  JitDumpBytes dump;
  dump.Load(10, 0x0ff0, "crossing", std::vector<uint8_t>(0x20, 0x90));
  Files files;
  ProfileData data = DataWith(0x1000, std::vector<uint8_t>(0x100, 0x90), {0x1004});
  CHECK(NameGeneratedCode(0, {"", {files.Dump(dump.bytes())}}, &data).ok());
  CHECK(PiecesOf(data) == std::vector<Piece>{{0x0ff0, 0x20, "crossing"}, {0x1010, 0xf0, ""}});
}

TEST_CASE("a jitdump has lines of what it names") {
  JitDumpBytes dump;
  dump.DebugInfo(0x1004, {{0x1004, 3, "a.js"}});
  dump.Load(10, 0x1004, "function", {0x90, 0xc3});
  Files files;
  ProfileData data = DataWith(0x1000, {0, 0, 0, 0, 0x90, 0xc3}, {0x1004});
  CHECK(NameGeneratedCode(0, {"", {files.Dump(dump.bytes())}}, &data).ok());
  REQUIRE(data.modules[0].chunks.size() == 2);
  CHECK(data.modules[0].chunks[0].lines == CodeLines());
  CHECK(data.modules[0].chunks[1].lines == CodeLines{{"a.js"}, {{0, 0, 3}}});
}

TEST_CASE("branches count as samples do") {
  Files files;
  ProfileData data = DataWith(0x1000, std::vector<uint8_t>(0x100, 0x90), {});
  BranchCount branch;
  branch.from = 0x1010;
  branch.to = 0x1040;
  data.branches.push_back(branch);
  CHECK(NameGeneratedCode(0, {files.Map("1000 20 from\n1040 20 to\n1060 20 other\n"), {}}, &data)
            .ok());
  CHECK(PiecesOf(data) ==
        std::vector<Piece>{
            {0x1000, 0x20, "from"}, {0x1020, 0x20, ""}, {0x1040, 0x20, "to"}, {0x1060, 0xa0, ""}});
}

TEST_CASE("each generation of code has its own names, and none is named without counts") {
  Files files;
  const std::vector<uint8_t> older(0x10, 0x90), newer(0x10, 0xcc);
  JitDumpBytes dump;
  dump.Load(10, 0x1000, "older", older, 1);
  dump.Load(20, 0x1000, "newer", newer, 2);
  const std::string path = files.Dump(dump.bytes());
  ProfileData data = DataWith(0x1000, older, {0x1000});
  for (const auto& copy : {newer, newer}) {
    data.modules.push_back(data.modules.front());
    data.modules.back().chunks = {{0x1000, copy}};
  }
  data.counts.push_back({});
  data.counts.back().module = 1;
  data.counts.back().offset = 0x1008;
  CHECK(NameGeneratedCode(0, {"", {path}}, &data).ok());
  CHECK(data.modules[0].chunks.at(0).name == "older");
  CHECK(data.modules[1].chunks.at(0).name == "newer");
  CHECK(data.modules[2].chunks.at(0).name.empty());

  data.counts.clear();
  data.modules.resize(1);
  const JitFiles damaged{"", {files.Dump(std::vector<uint8_t>(100))}};
  data.modules[0].chunks[0].name.clear();
  CHECK(NameGeneratedCode(0, damaged, &data).ok());
  data.counts.push_back({});
  data.counts.back().offset = 0x1000;
  CHECK(NameGeneratedCode(0, damaged, &data).code() == StatusCode::kBadFormat);
}

TEST_CASE("code that the host has reported keeps its names") {
  Files files;
  ProfileData data = DataWith(0x1000, {0x90, 0xc3}, {0x1000});
  data.modules[0].chunks[0].name = "reported";
  CHECK(NameGeneratedCode(0, {files.Map("1000 2 map\n"), {}}, &data).ok());
  CHECK(PiecesOf(data) == std::vector<Piece>{{0x1000, 2, "reported"}});
}

TEST_CASE("files that are not there or damaged change nothing") {
  ProfileData data = DataWith(0x1000, {0x90, 0xc3}, {0x1000});
  CHECK(NameGeneratedCode(0, {"/no/perf-1.map", {"/no/jit-1.dump"}}, &data).ok());
  Files files;
  const std::string path = files.Dump(std::vector<uint8_t>(100));
  CHECK(NameGeneratedCode(0, {"", {path}}, &data).message().find(path) != std::string::npos);
  CHECK(PiecesOf(data) == std::vector<Piece>{{0x1000, 2, ""}});
}

TEST_CASE("what another user has put into /tmp is not believed") {
  if (::geteuid() != 0) HBBP_SKIP("only root can give files away");
  Files files;
  ProfileData data = DataWith(0x1000, {0x90, 0xc3}, {0x1000});
  const std::string path = files.Map("1000 2 map\n");
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(NameGeneratedCode(0, {path, {}}, &data).ok());
  CHECK(PiecesOf(data) == std::vector<Piece>{{0x1000, 2, ""}});
}

TEST_CASE("where no code was copied, a map names the functions that have samples") {
  Files files;
  const ProfileData data = DataWith(0x1000, {}, {0x1010, 0x2000, 0x2fff});
  const std::string map =
      files.Map("1000 20 old\n1008 10 new\n2000 1000 last\n3000 10 without samples\n");
  const StatusOr<std::vector<NamedRange>> functions = FunctionsWithCounts(map, data, 0);
  REQUIRE(functions.ok());
  CHECK(*functions ==
        std::vector<NamedRange>{{{{0x1008}, {0x1018}}, "new"}, {{{0x2000}, {0x3000}}, "last"}});
}

TEST_CASE("a status says why a map gives no functions") {
  const ProfileData data = DataWith(0x1000, {}, {0x1010});
  CHECK(FunctionsWithCounts("/no/perf-1.map", data, 0).status().code() == StatusCode::kNotFound);
  const TemporaryFolder directory;
  CHECK(FunctionsWithCounts(directory.File(""), data, 0).status().code() ==
        StatusCode::kPermission);
  if (::geteuid() != 0) HBBP_SKIP("only root can give files away");
  Files files;
  const std::string path = files.Map("1000 20 function\n");
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  const Status status = FunctionsWithCounts(path, data, 0).status();
  CHECK(status.code() == StatusCode::kPermission);
  CHECK(status.message().find("of user 65534") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
