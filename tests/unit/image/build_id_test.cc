#include "image/build_id.h"

#include <fcntl.h>

#include <algorithm>
#include <string>

#include "base/unique_fd.h"
#include "image/process_maps.h"
#include "support/catch.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

using test::ReadAll;
using test::RunCommand;
using test::ToHex;

std::vector<uint8_t> OfFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return ReadBuildIdOfFd(fd.get());
}

std::vector<uint8_t> OfBytes(const std::vector<uint8_t>& bytes) {
  return ReadBuildId(
      [&bytes](uint64_t position, std::span<uint8_t> buffer) -> size_t {
        if (position >= bytes.size()) return 0;
        size_t size = std::min<size_t>(buffer.size(), bytes.size() - position);
        std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(position), size, buffer.begin());
        return size;
      },
      ImageLayout::kFile);
}

// Returns the build ID that `readelf -n` prints.
std::string Expected(const std::string& path) {
  auto lines = RunCommand("readelf -n " + path);
  constexpr std::string_view kLabel = "Build ID: ";
  for (const std::string& line : lines.value_or(std::vector<std::string>())) {
    size_t at = line.find(kLabel);
    if (at != std::string::npos) return line.substr(at + kLabel.size());
  }
  return {};
}

TEST_CASE("build IDs are those of readelf") {
  if (!RunCommand("readelf --version")) HBBP_SKIP("no readelf");
  std::vector<std::string> paths = test::RecordedBinaries();
  for (const char* path : {"/bin/true", "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2",
                           "/lib/x86_64-linux-gnu/libc.so.6"}) {
    paths.push_back(path);
  }
  for (const std::string& path : paths) {
    CAPTURE(path);
    if (path != "/proc/self/exe") CHECK(ToHex(OfFile(path)) == Expected(path));
  }
  CHECK(ToHex(OfFile("/bin/true")).size() == 40);
}

TEST_CASE("build IDs of every style") {
  test::TemporaryDirectory directory;
  std::string output = directory.File("program");
  for (const char* style : {"none", "md5", "sha1", "0xabcdef12",
                            "0x00112233445566778899aabbccddeeff0011"
                            "2233445566778899aabbccddeeff"}) {
    CAPTURE(style);
    if (!test::Compile(directory, "int main() {}", std::string("-Wl,--build-id=") + style,
                       output)) {
      HBBP_SKIP("no compiler");
    }
    CHECK(ToHex(OfFile(output)) == Expected(output));
  }
}

std::vector<uint8_t> Bytes(size_t count, uint8_t first = 1) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(first + i));
  return bytes;
}

TEST_CASE("a build ID is the same with zeros behind it, and no other one") {
  for (const size_t size : {1, 8, 16, 20}) {
    const std::vector<uint8_t> build_id = Bytes(size);
    std::vector<uint8_t> padded = build_id;
    padded.resize(24);
    CHECK(SameBuildId(build_id, build_id));
    CHECK(SameBuildId(build_id, padded));
    CHECK(SameBuildId(padded, build_id));
    padded.back() = 1;
    CHECK_FALSE(SameBuildId(build_id, padded));
    CHECK_FALSE(SameBuildId(build_id, Bytes(size, 2)));
    CHECK_FALSE(SameBuildId(build_id, {}));
    CHECK_FALSE(SameBuildId({}, padded));
  }
  CHECK(SameBuildId({}, {}));
  CHECK_FALSE(SameBuildId({}, std::vector<uint8_t>(20)));
}

TEST_CASE("padding is what linkers do not make") {
  const auto without_padding = [](std::vector<uint8_t> build_id) {
    return WithoutPadding(build_id).size();
  };
  for (const size_t size : {8, 16, 20}) {
    std::vector<uint8_t> padded = Bytes(size);
    padded.resize(20);
    CHECK(without_padding(padded) == size);
    padded[size - 1] = 0;  // an ID may end with a zero
    CHECK(without_padding(padded) == size);
  }
  CHECK(without_padding(std::vector<uint8_t>(20)) == 20);
  CHECK(without_padding({1, 2, 0, 0}) == 4);
  std::vector<uint8_t> longer = Bytes(8);
  longer.resize(32);
  CHECK(without_padding(longer) == 32);
}

TEST_CASE("the loaded images of the own process have the build IDs of their files") {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  int compared = 0;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.IsFile() || mapping.offset.value != 0 || mapping.deleted) continue;
    std::vector<uint8_t> of_file = OfFile(mapping.path);
    if (of_file.empty()) continue;
    CAPTURE(mapping.path);
    CHECK(ReadBuildIdInMemory(0, mapping.start) == of_file);
    ++compared;
  }
  CHECK(compared > 0);
}

TEST_CASE("the vdso has a build ID in memory") {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  auto vdso = std::ranges::find(*mappings, "[vdso]", &Mapping::path);
  if (vdso == mappings->end()) HBBP_SKIP("no vdso");
  CHECK_FALSE(ReadBuildIdInMemory(0, vdso->start).empty());
}

TEST_CASE("what is not an image has no build ID") {
  CHECK(ReadBuildIdOfFd(-1).empty());
  CHECK(OfFile("/proc/self/maps").empty());
  CHECK(OfFile("/").empty());
  CHECK(OfBytes({}).empty());
  CHECK(ReadBuildIdInMemory(0, {0}).empty());
  CHECK(ReadBuildIdInMemory(0, {UINT64_MAX}).empty());
}

TEST_CASE("truncated and corrupted headers do no harm") {
  std::vector<uint8_t> original = ReadAll("/bin/true");
  original.resize(std::min<size_t>(original.size(), 2048));
  std::vector<uint8_t> build_id = OfBytes(original);
  for (size_t size = 0; size <= original.size(); ++size) {
    std::vector<uint8_t> cut(original.begin(), original.begin() + static_cast<ptrdiff_t>(size));
    std::vector<uint8_t> found = OfBytes(cut);
    CHECK((found.empty() || found == build_id));
  }
  for (size_t at = 0; at < original.size(); ++at) {
    for (uint8_t value : {0x00, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> changed = original;
      changed[at] = value;
      CHECK(OfBytes(changed).size() <= changed.size());
    }
  }
}

}  // namespace
}  // namespace hbbp
