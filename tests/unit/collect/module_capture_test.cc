#include "collect/module_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "image/build_id.h"
#include "image/process_maps.h"
#include "support/catch.h"
#include "support/loaded_library.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"

namespace hbbp {
namespace {

constexpr const char* kWithBuildId = "-Wl,--build-id";
constexpr const char* kWithoutBuildId = "-Wl,--build-id=none";

// Has the record of a library as the recorder makes it, and the address of file offset 0.
struct Mapped {
  RuntimeAddress header;
  ModuleRecord record;
};

Mapped FindMapped(const std::string& path) {
  Mapped found;
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  for (const Mapping& mapping : *mappings) {
    if (mapping.path != path || mapping.offset.value != 0) continue;
    struct stat status = {};
    ::stat(path.c_str(), &status);
    found.header = mapping.start;
    found.record.path = path;
    found.record.device = status.st_dev;
    found.record.inode = mapping.inode;
    break;
  }
  return found;
}

std::vector<uint8_t> BuildIdOf(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return ReadBuildIdOfFd(fd.get());
}

bool HoldsCode(const ModuleRecord& record, uint64_t offset) {
  const uint8_t code[] = {0x31, 0xc0, 0xb9, 0x0a};
  return std::any_of(record.chunks.begin(), record.chunks.end(), [&](const CodeChunk& chunk) {
    return chunk.offset <= offset && offset + sizeof(code) <= chunk.offset + chunk.bytes.size() &&
           std::equal(std::begin(code), std::end(code),
                      chunk.bytes.begin() + static_cast<ptrdiff_t>(offset - chunk.offset));
  });
}

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

TEST_CASE("a file that is still there is pinned, not copied") {
  for (const char* flags : {kWithBuildId, kWithoutBuildId}) {
    CAPTURE(flags);
    const TemporaryFolder directory;
    const std::string path = directory.File("lib.so");
    HBBP_BUILD_OR_SKIP(path, "", flags);
    const LoadedLibrary library(path);
    REQUIRE(library.ok());
    Mapped mapped = FindMapped(path);
    PinOrCopyModule(0, mapped.header, &mapped.record);
    CHECK(mapped.record.build_id == BuildIdOf(path));
    CHECK(mapped.record.build_id.empty() == (flags == kWithoutBuildId));
    CHECK(mapped.record.pinned_file != nullptr);
    CHECK(mapped.record.chunks.empty());
    CHECK(PathLeadsToModule(mapped.record));
    EmbedIfUnreachable(&mapped.record);
    CHECK(mapped.record.chunks.empty());
  }
}

TEST_CASE("a file that was deleted or replaced before its first sample is copied from memory") {
  for (const char* flags : {kWithBuildId, kWithoutBuildId}) {
    for (bool replaced : {false, true}) {
      CAPTURE(flags, replaced);
      const TemporaryFolder directory;
      const std::string path = directory.File("lib.so");
      HBBP_BUILD_OR_SKIP(path, "old", flags);
      HBBP_BUILD_OR_SKIP(directory.File("new.so"), "new", flags);
      const LoadedLibrary library(path);
      REQUIRE(library.ok());
      Mapped mapped = FindMapped(path);
      const std::vector<uint8_t> build_id = BuildIdOf(path);
      const uint64_t work = TinyWorkOffset(path);
      if (replaced) {
        std::filesystem::rename(directory.File("new.so"), path);
      } else {
        std::filesystem::remove(path);
      }
      PinOrCopyModule(0, mapped.header, &mapped.record);
      CHECK(mapped.record.build_id == build_id);
      CHECK(mapped.record.pinned_file == nullptr);
      CHECK(HoldsCode(mapped.record, work));
      CHECK_FALSE(PathLeadsToModule(mapped.record));
      CHECK(std::is_sorted(
          mapped.record.chunks.begin(), mapped.record.chunks.end(),
          [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; }));
    }
  }
}

TEST_CASE("a file that was deleted or replaced after its first sample is embedded when stored") {
  for (const char* flags : {kWithBuildId, kWithoutBuildId}) {
    for (bool replaced : {false, true}) {
      CAPTURE(flags, replaced);
      const TemporaryFolder directory;
      const std::string path = directory.File("lib.so");
      HBBP_BUILD_OR_SKIP(path, "old", flags);
      HBBP_BUILD_OR_SKIP(directory.File("new.so"), "new", flags);
      const std::vector<uint8_t> content = BytesOfFile(path);
      const LoadedLibrary library(path);
      REQUIRE(library.ok());
      Mapped mapped = FindMapped(path);
      PinOrCopyModule(0, mapped.header, &mapped.record);
      REQUIRE(mapped.record.pinned_file != nullptr);
      if (replaced) {
        std::filesystem::rename(directory.File("new.so"), path);
      } else {
        std::filesystem::remove(path);
      }
      EmbedIfUnreachable(&mapped.record);
      REQUIRE(mapped.record.chunks.size() == 1);
      CHECK(mapped.record.chunks[0].offset == 0);
      CHECK(mapped.record.chunks[0].bytes == content);
      EmbedIfUnreachable(&mapped.record);
      CHECK(mapped.record.chunks.size() == 1);
    }
  }
}

TEST_CASE("a pinned descriptor that the program has taken over is not trusted") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const LoadedLibrary library(path);
  REQUIRE(library.ok());
  Mapped mapped = FindMapped(path);
  PinOrCopyModule(0, mapped.header, &mapped.record);
  REQUIRE(mapped.record.pinned_file != nullptr);
  const UniqueFd other(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(::dup2(other.get(), mapped.record.pinned_file->get()) >= 0);
  std::filesystem::remove(path);
  EmbedIfUnreachable(&mapped.record);
  CHECK(mapped.record.chunks.empty());
}

TEST_CASE("a header that is not mapped any more gives no code and no crash") {
  ModuleRecord record;
  record.path = "/nonexistent/lib.so";
  PinOrCopyModule(0, RuntimeAddress{0x1000}, &record);
  CHECK(record.build_id.empty());
  CHECK(record.pinned_file == nullptr);
  CHECK(record.chunks.empty());
  PinOrCopyModule(0, RuntimeAddress{UINT64_MAX - 100}, &record);
  CHECK(record.chunks.empty());
}

TEST_CASE("what is at the path is opened only if it is a regular file") {
  const TemporaryFolder directory;
  ModuleRecord record;
  record.path = directory.File("pipe");
  REQUIRE(::mkfifo(record.path.c_str(), 0600) == 0);
  CHECK_FALSE(PathLeadsToModule(record));
  record.path = directory.File("");
  CHECK_FALSE(PathLeadsToModule(record));
}

}  // namespace
}  // namespace hbbp
