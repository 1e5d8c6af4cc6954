// Tests line tables of several modules of one profile.
#include "analysis/line_table_cache.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/tiny_kernel.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

// Returns programs with debug information, or nothing if there is no compiler.
std::vector<std::string> BuildPrograms(const TemporaryFolder& directory, int count) {
  std::vector<std::string> programs;
  const std::string source = directory.File("main.cc");
  std::ofstream(source) << "int main(int count, char**) {\n  return count * 7;\n}\n";
  for (int i = 0; i < count; ++i) {
    programs.push_back(directory.File("program" + std::to_string(i)));
    if (!test::RunCommand("g++ -O1 -g " + source + " -o " + programs.back())) return {};
  }
  return programs;
}

ProfileData ProfileOf(const std::vector<std::string>& programs) {
  ProfileData data;
  data.modules.resize(programs.size());
  for (size_t i = 0; i < programs.size(); ++i) data.modules[i].path = programs[i];
  return data;
}

LineTableCache MakeCache(ProfileData data, const DebugInfoOptions& options = {},
                         const KernelFilePaths& paths = {}) {
  StatusOr<KernelFiles> files = OpenKernelFilesFor(data, paths);
  REQUIRE(files.ok());
  return LineTableCache(
      std::make_shared<const ResolvedModules>(std::make_shared<const ProfileData>(std::move(data)),
                                              *std::move(files)),
      options);
}

TEST_CASE("A module that is slow to open keeps no other waiting", "[line_table_cache]") {
  const TemporaryFolder directory;
  const std::vector<std::string> programs = BuildPrograms(directory, 2);
  if (programs.empty()) HBBP_SKIP("no g++");
  std::mutex mutex;
  std::condition_variable changed;
  bool is_slow_one_opening = false, is_fast_one_open = false, was_in_time = false;
  DebugInfoOptions options;
  options.progress = [&](const std::string& module, uint64_t, uint64_t) {
    if (module != programs[0]) return;
    std::unique_lock lock(mutex);
    if (is_slow_one_opening) return;
    is_slow_one_opening = true;
    changed.notify_all();
    was_in_time =
        changed.wait_for(lock, std::chrono::seconds(60), [&] { return is_fast_one_open; });
  };
  const LineTableCache cache = MakeCache(ProfileOf(programs), options);
  bool is_slow_one_ok = false;
  std::thread slow([&] { is_slow_one_ok = cache.Open(0).ok(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_slow_one_opening; });
  }
  CHECK(cache.Open(1).ok());
  {
    std::lock_guard lock(mutex);
    is_fast_one_open = true;
    changed.notify_all();
  }
  slow.join();
  CHECK(was_in_time);
  CHECK(is_slow_one_ok);
}

TEST_CASE("Threads that ask for the same modules open each once", "[line_table_cache]") {
  constexpr int kModules = 4;
  const TemporaryFolder directory;
  const std::vector<std::string> programs = BuildPrograms(directory, kModules);
  if (programs.empty()) HBBP_SKIP("no g++");
  std::mutex mutex;
  std::vector<std::string> opened;
  DebugInfoOptions options;
  options.memory_limit = 1;
  options.progress = [&](const std::string& module, uint64_t done, uint64_t total) {
    std::lock_guard lock(mutex);
    if (done == total) opened.push_back(module);
  };
  const LineTableCache cache = MakeCache(ProfileOf(programs), options);
  std::vector<std::vector<const LineTable*>> found(4, std::vector<const LineTable*>(kModules));
  std::vector<std::thread> threads;
  for (size_t first = 0; first < found.size(); ++first) {
    threads.emplace_back([&, first] {
      for (uint32_t i = 0; i < kModules; ++i) {
        const uint32_t module = (i + static_cast<uint32_t>(first)) % kModules;
        const auto lines = cache.Open(module);
        found[first][module] = lines.ok() ? *lines : nullptr;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) CHECK(mine == found.front());
  for (const LineTable* lines : found.front()) CHECK(lines != nullptr);
  std::sort(opened.begin(), opened.end());
  CHECK(opened == programs);
}

TEST_CASE("What was cancelled is read the next time", "[line_table_cache]") {
  const TemporaryFolder directory;
  const std::vector<std::string> programs = BuildPrograms(directory, 1);
  if (programs.empty()) HBBP_SKIP("no g++");
  CancelFlag flag;
  DebugInfoOptions options;
  int reports = 0;
  options.progress = [&](const std::string&, uint64_t, uint64_t) { ++reports; };
  options.search.cancel = &flag;
  const LineTableCache cache = MakeCache(ProfileOf(programs), options);
  flag.Set(true);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(cache.Open(0), WorkCancelled);
  flag.Set(false);
  const auto lines = cache.Open(0);
  REQUIRE(lines.ok());
  CHECK(reports > 0);
}

TEST_CASE("A part has the options of the whole, but calls nothing of its host",
          "[line_table_cache]") {
  const TemporaryFolder directory;
  const std::vector<std::string> programs = BuildPrograms(directory, 1);
  if (programs.empty()) HBBP_SKIP("no g++");
  CancelFlag flag;
  flag.Set(true);
  DebugInfoOptions options;
  options.progress = [](const std::string&, uint64_t, uint64_t) { FAIL("called"); };
  options.search.cancel = &flag;
  options.memory_limit = 1;
  CHECK(WithoutHost(options).memory_limit == 1);
  const LineTableCache part = MakeCache(ProfileOf(programs), WithoutHost(options));
  CHECK(part.Open(0).ok());
}

TEST_CASE("What has no lines is an error each time", "[line_table_cache]") {
  const TemporaryFolder directory;
  const LineTableCache cache = MakeCache(ProfileOf({directory.File("none")}));
  for (int i = 0; i < 2; ++i) {
    const auto lines = cache.Open(0);
    REQUIRE(!lines.ok());
    CHECK(lines.status().code() == StatusCode::kNotFound);
  }
  CHECK(cache.Open(1).status().code() == StatusCode::kNotFound);
}

ProfileData KernelProfile(uint64_t start) {
  ProfileData data;
  data.modules.resize(1);
  ModuleRecord& kernel = data.modules[0];
  kernel.kind = ModuleKind::kKernel;
  kernel.path = kRecordedKernel;
  kernel.build_id = std::vector<uint8_t>(4, kTinyBuildIdByte);
  kernel.kernel.release = "6.1.0-test";
  kernel.kernel.reference_symbol = "_text";
  kernel.kernel.reference_address = start;
  return data;
}

TEST_CASE("Lines of a kernel are those of its vmlinux, where it was loaded", "[line_table_cache]") {
  const TemporaryFolder directory;
  KernelFilePaths paths;
  paths.root = directory.File("root");
  const std::string vmlinux = paths.root + "/usr/lib/debug/boot/vmlinux-6.1.0-test";
  std::filesystem::create_directories(std::filesystem::path(vmlinux).parent_path());
  const uint64_t start = kTinyKernelStart + GENERATE(0, 0x1c00000);
  if (!BuildTinyVmlinux(vmlinux, "abababab", "-g")) HBBP_SKIP("there is no compiler");
  const LineTableCache cache = MakeCache(KernelProfile(start), {}, paths);
  const auto lines = cache.Open(0);
  INFO(lines.status().message());
  REQUIRE(lines.ok());
  std::ifstream source(vmlinux + ".s");
  const auto text_at = [&](uint64_t address) {
    const LineRange found = (*lines)->Find({address});
    REQUIRE(!found.frames.empty());
    CHECK(found.range.Contains({address}));
    CHECK(found.range.end.value - found.range.start.value < 16);
    CHECK(found.frames[0].file == vmlinux + ".s");
    source.clear();
    source.seekg(0);
    std::string text;
    for (uint32_t line = 0; line < found.frames[0].line; ++line) std::getline(source, text);
    return text;
  };
  CHECK(text_at(start) == "  movl $5, %ecx");
  CHECK(text_at(start + kSysWorkLoop) == "  decl %ecx");
  CHECK(text_at(start + kTraced) == "  xorl %eax, %eax");
  CHECK((*lines)->Find({start - 64}).frames.empty());
}

TEST_CASE("A kernel without lines says why", "[line_table_cache]") {
  const TemporaryFolder directory;
  KernelFilePaths paths;
  paths.root = directory.File("root");
  SECTION("no vmlinux") {
    const LineTableCache cache = MakeCache(KernelProfile(kTinyKernelStart), {}, paths);
    const Status status = cache.Open(0).status();
    CHECK(status.code() == StatusCode::kNotFound);
    CHECK_THAT(status.message(), Catch::Matchers::Contains("abababab") &&
                                     Catch::Matchers::Contains("linux-image-6.1.0-test-dbg") &&
                                     Catch::Matchers::Contains("--vmlinux"));
  }
  SECTION("a vmlinux that was built without") {
    paths.vmlinux = directory.File("vmlinux");
    if (!BuildTinyVmlinux(paths.vmlinux)) HBBP_SKIP("there is no compiler");
    const LineTableCache cache = MakeCache(KernelProfile(kTinyKernelStart), {}, paths);
    const Status status = cache.Open(0).status();
    CHECK(status.code() == StatusCode::kNotFound);
    CHECK_THAT(status.message(), Catch::Matchers::StartsWith(paths.vmlinux) &&
                                     Catch::Matchers::Contains("CONFIG_DEBUG_INFO"));
  }
}

TEST_CASE("The vdso and generated code say why they have no lines", "[line_table_cache]") {
  ProfileData data;
  data.modules.resize(2);
  data.modules[0].kind = ModuleKind::kVdso;
  data.modules[0].path = "[vdso]";
  data.modules[0].build_id = {0xab, 0xcd, 0xef, 0x01};
  data.modules[1].kind = ModuleKind::kAnonymous;
  data.modules[1].path = "[anonymous]";
  const LineTableCache cache = MakeCache(data);
  const Status vdso = cache.Open(0).status();
  CHECK(vdso.code() == StatusCode::kNotFound);
  CHECK_THAT(vdso.message(), Catch::Matchers::StartsWith("[vdso]") &&
                                 Catch::Matchers::Contains("part of the kernel") &&
                                 Catch::Matchers::Contains("/.build-id/ab/cdef01.debug"));
  const Status generated = cache.Open(1).status();
  CHECK(generated.code() == StatusCode::kUnsupported);
  CHECK_THAT(generated.message(), Catch::Matchers::Contains("generated at run time"));
}

TEST_CASE("Generated code has the lines that its JIT has reported", "[line_table_cache]") {
  ProfileData data;
  data.modules.resize(1);
  data.modules[0].kind = ModuleKind::kAnonymous;
  data.modules[0].path = "[generated code of 1]";
  data.modules[0].chunks = {
      {0x1000, std::vector<uint8_t>(16, 0x90), "first", {{"a.js", "b.js"}, {{2, 0, 7}, {8, 1, 0}}}},
      {0x1010, std::vector<uint8_t>(16, 0x90), "without lines"},
      {0x1020, std::vector<uint8_t>(16, 0x90), "last", {{"b.js"}, {{0, 0, 3}}}}};
  const LineTableCache cache = MakeCache(data);
  const auto lines = cache.Open(0);
  REQUIRE(lines.ok());
  const auto at = [&](uint64_t address) { return (*lines)->Find({address}); };
  using Frames = std::vector<LineFrame>;

  CHECK(at(0x1001).frames == Frames{{"first", "", 0, 0}});
  CHECK(at(0x1001).range == AddressRange{{0x1000}, {0x1002}});
  CHECK(at(0x1007).frames == Frames{{"first", "a.js", 7, 0}});
  CHECK(at(0x1007).range == AddressRange{{0x1002}, {0x1008}});
  CHECK(at(0x100f).frames == Frames{{"first", "b.js", 0, 0}});
  CHECK(at(0x100f).range == AddressRange{{0x1008}, {0x1010}});
  CHECK(at(0x1010).frames.empty());
  CHECK(at(0x1010).range == AddressRange{{0x1010}, {0x1020}});
  CHECK(at(0x102f).frames == Frames{{"last", "b.js", 3, 0}});
  CHECK(at(0x1030).frames.empty());
  CHECK(at(0xfff).range == AddressRange{{0}, {0x1000}});
  CHECK((*lines)->Problem().empty());
  CHECK((*lines)->debug_file().empty());
}

TEST_CASE("The message about a file that is gone does not say how to compile it",
          "[line_table_cache]") {
  const TemporaryFolder directory;
  const std::string gone = directory.File("gone");
  const LineTableCache cache = MakeCache(ProfileOf({gone}));
  const auto lines = cache.Open(0);
  REQUIRE_FALSE(lines.ok());
  CHECK(lines.status().message().starts_with(gone + ": no debug information"));
  CHECK(lines.status().message().find("put the file back") != std::string::npos);
  CHECK(lines.status().message().find("compile with -g") == std::string::npos);
}

}  // namespace
}  // namespace hbbp
