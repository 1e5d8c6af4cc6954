#include "collect/recorded_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/catch.h"
#include "support/tiny_library.h"

namespace hbbp {
namespace {

namespace fs = std::filesystem;

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

constexpr char kShortId[] = "-Wl,--build-id=0xabcdef0102030405";
const std::string kRecorded = "/opt/app/lib.so";

// Has a root, and a recording of one module with a build ID of 8 bytes, which may be padded.
struct Recording {
  explicit Recording(size_t id_bytes = 8) {
    data.sources.resize(1);
    data.modules.resize(1);
    data.modules[0].kind = ModuleKind::kFile;
    data.modules[0].build_id = {0xab, 0xcd, 0xef, 1, 2, 3, 4, 5};
    data.modules[0].build_id.resize(id_bytes);
    options.root = directory.File("root");
    data.modules[0].path = kRecorded;
    data.modules[0].local_path = options.root + kRecorded;
  }

  std::string InRoot(const std::string& path) const {
    const std::string file = options.root + path;
    fs::create_directories(fs::path(file).parent_path());
    return file;
  }
  void Find() { RecordedFiles(options).Find(&data, nullptr, nullptr); }
  const std::string& path() const { return LocalPath(data.modules[0]); }
  const std::string& note() const { return data.sources[0].note; }

  TemporaryFolder directory;
  ImportOptions options;
  ProfileData data;
};

TEST_CASE("a file at its path is taken, with the build ID that it has") {
  for (const size_t id_bytes : {8, 20}) {
    Recording recording(id_bytes);
    const std::string file = recording.InRoot(kRecorded);
    HBBP_BUILD_OR_SKIP(file, "", kShortId);
    recording.Find();
    CHECK(recording.path() == file);
    CHECK(recording.data.modules[0].build_id.size() == 8);
    CHECK(recording.note().empty());
  }
}

TEST_CASE("a file that is elsewhere in the root is found by its build ID, and named") {
  for (const char* path :
       {"/.build-id/ab/cdef0102030405", "/.build-id/ab/cdef0102030405/elf",
        "/.build-id/ab/cdef0102030405.debug", "/usr/lib/debug/.build-id/ab/cdef0102030405.debug",
        "/usr/lib/.build-id/ab/cdef0102030405", "/abcdef0102030405/executable", "/copied/x"}) {
    for (const size_t id_bytes : {8, 20}) {
      CAPTURE(path, id_bytes);
      Recording recording(id_bytes);
      const std::string recorded = recording.path();
      const std::string file = recording.InRoot(path);
      HBBP_BUILD_OR_SKIP(file, "", kShortId);
      recording.Find();
      CHECK(recording.path() == file);
      CHECK(recording.data.modules[0].build_id.size() == 8);
      CHECK(recording.data.modules[0].path == kRecorded);
      CHECK(recording.note().find(recorded + ": took " + file) != std::string::npos);
    }
  }
}

TEST_CASE("the cache of perf is searched by build ID, with a root and without") {
  for (const bool has_root : {false, true}) {
    for (const char* path : {"/.build-id/ab/cdef0102030405/elf", "/.build-id/ab/cdef0102030405"}) {
      Recording recording(20);
      if (!has_root) recording.options.root.clear();
      recording.options.perf_cache = recording.directory.File("cache");
      const std::string file = recording.options.perf_cache + path;
      fs::create_directories(fs::path(file).parent_path());
      HBBP_BUILD_OR_SKIP(file, "", kShortId);
      recording.Find();
      CHECK(recording.path() == file);
      CHECK(recording.data.modules[0].build_id.size() == 8);
    }
  }
}

TEST_CASE("a file without a recorded build ID is found by its name directly in the root") {
  Recording recording(0);
  const std::string flat = recording.InRoot("/lib.so");
  HBBP_BUILD_OR_SKIP(flat, "", kShortId);
  recording.Find();
  CHECK(recording.path() == flat);
  CHECK(recording.note().find("which has its name") != std::string::npos);

  Recording at_its_path(0);
  HBBP_BUILD_OR_SKIP(at_its_path.InRoot("/lib.so"), "", kShortId);
  const std::string file = at_its_path.InRoot(kRecorded);
  HBBP_BUILD_OR_SKIP(file, "", kShortId);
  at_its_path.Find();
  CHECK(at_its_path.path() == file);
}

TEST_CASE("a file of the right path with another build ID is not taken") {
  Recording recording;
  HBBP_BUILD_OR_SKIP(recording.InRoot(kRecorded), "new");
  const std::string file = recording.InRoot("/old/lib.so");
  HBBP_BUILD_OR_SKIP(file, "", kShortId);
  recording.Find();
  CHECK(recording.path() == file);
}

TEST_CASE("a separate debug file is not taken for code, and is named") {
  Recording recording;
  const std::string recorded = recording.path();
  const std::string whole = recording.directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(whole, "", kShortId);
  const std::string debug = recording.InRoot("/.build-id/ab/cdef0102030405.debug");
  if (!RunCommand("objcopy --only-keep-debug " + whole + " " + debug)) HBBP_SKIP("no objcopy");
  recording.Find();
  CHECK(recording.path() == recorded);
  CHECK(recording.note().find(debug) != std::string::npos);
  CHECK(recording.note().find("no code") != std::string::npos);
}

TEST_CASE("a file that the user named is not exchanged for another") {
  Recording recording;
  HBBP_BUILD_OR_SKIP(recording.InRoot("/copied/x"), "", kShortId);
  const std::string named = recording.directory.File("named.so");
  recording.options.files[kRecorded] = named;
  recording.data.modules[0].local_path = named;
  recording.Find();
  CHECK(recording.path() == named);
}

TEST_CASE("without a root nothing is searched") {
  Recording recording;
  HBBP_BUILD_OR_SKIP(recording.InRoot("/copied/x"), "", kShortId);
  recording.options.root.clear();
  recording.data.modules[0].local_path.clear();
  recording.Find();
  CHECK(recording.path() == kRecorded);
  CHECK(recording.note().empty());
}

TEST_CASE("a search of too many files ends, and that is noted") {
  Recording recording;
  HBBP_BUILD_OR_SKIP(recording.InRoot("/copied/x"), "", kShortId);
  RecordedFiles(recording.options, 2).Find(&recording.data, nullptr, nullptr);
  CHECK(recording.path() == recording.options.root + kRecorded);
  CHECK(recording.note().find("first 2 files") != std::string::npos);
}

TEST_CASE("links that lead round and files that block are passed by") {
  Recording recording;
  const std::string file = recording.InRoot("/copied/x");
  HBBP_BUILD_OR_SKIP(file, "", kShortId);
  fs::create_directory_symlink(recording.options.root, recording.InRoot("/loop/again"));
  REQUIRE(::mkfifo(recording.InRoot("/copied/fifo").c_str(), 0600) == 0);
  fs::create_directories(recording.InRoot("/.build-id/ab"));
  REQUIRE(::mkfifo(recording.InRoot("/.build-id/ab/cdef0102030405").c_str(), 0600) == 0);
  recording.Find();
  CHECK(recording.path() == file);
}

TEST_CASE("many files that were found are named in a note of bounded length") {
  Recording recording;
  HBBP_BUILD_OR_SKIP(recording.InRoot("/copied/x"), "", kShortId);
  recording.data.modules.resize(100, recording.data.modules[0]);
  recording.Find();
  CHECK(recording.data.modules[99].path == kRecorded);
  CHECK(recording.data.modules[99].local_path == recording.InRoot("/copied/x"));
  CHECK(recording.note().find("and 92 more by build ID") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
