#include "analysis/module_resolver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

ModuleRecord RecordOf(const std::string& path) { return TinyProfile(path).modules[0]; }

// Does what PinOrCopyModule does.
void Pin(ModuleRecord* record) {
  UniqueFd fd(::open(record->path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  ::fstat(fd.get(), &status);
  record->device = status.st_dev;
  record->inode = status.st_ino;
  record->pinned_file = std::make_shared<const UniqueFd>(std::move(fd));
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("a file with the right build ID serves") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedModule module = ResolveModule(RecordOf(path));
  CHECK(module.state == CodeState::kFile);
  CHECK(module.problem.empty());
  REQUIRE(module.code != nullptr);
  const auto address = module.AddressOf(TinyWorkOffset(path));
  REQUIRE(address.has_value());
  CHECK(module.code->FunctionName(*address) == "tiny_work");
  CHECK_FALSE(module.AddressOf(uint64_t{1} << 40).has_value());
}

TEST_CASE("a file serves if its build ID was padded, and not if it differs behind that") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  for (const char* id : {"0x0102030405060708", "0x0102030405060708090a0b0c0d0e0f10"}) {
    HBBP_BUILD_OR_SKIP(path, "", std::string("-Wl,--build-id=") + id);
    ModuleRecord record = RecordOf(path);
    record.build_id.resize(20);
    CHECK(ResolveModule(record).state == CodeState::kFile);
    record.build_id.back() = 1;
    CHECK(ResolveModule(record).state == CodeState::kMismatch);
  }
}

TEST_CASE("without a known build ID the file serves, with a warning") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ModuleRecord record = RecordOf(path);
  record.build_id.clear();
  const ResolvedModule module = ResolveModule(record);
  CHECK(module.state == CodeState::kFile);
  CHECK(module.problem.find("build ID") != std::string::npos);
}

TEST_CASE("a pinned file serves after its path is gone, and an impostor in its place does not") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ModuleRecord record = RecordOf(path);
  Pin(&record);
  std::filesystem::remove(path);
  CHECK(ResolveModule(record).state == CodeState::kFile);
  CHECK(ResolveModule(record).code != nullptr);
  const UniqueFd impostor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(::dup2(impostor.get(), record.pinned_file->get()) >= 0);
  CHECK(ResolveModule(record).state == CodeState::kMissing);
}

TEST_CASE("the code of a pinned file is read by the descriptor of the profile") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const uint64_t work = TinyWorkOffset(path);
  const size_t before = OpenDescriptors();
  ModuleRecord record = RecordOf(path);
  Pin(&record);
  std::vector<ResolvedModule> modules;
  for (int i = 0; i < 100; ++i) {
    modules.push_back(ResolveModule(record));
    REQUIRE(modules.back().code != nullptr);
    CHECK(modules.back().code->FunctionName(*modules.back().AddressOf(work)) == "tiny_work");
  }
  CHECK(OpenDescriptors() == before + 1);
  std::filesystem::remove(path);
  record.pinned_file = nullptr;
  CHECK(modules.front().code->CodeAt(*modules.front().AddressOf(work), 1).size() == 1);
  modules.clear();
  CHECK(OpenDescriptors() == before);
}

TEST_CASE("stored code serves where the path cannot") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "old");
  ModuleRecord record = RecordOf(path);
  record.chunks = {{0, BytesOfFile(path)}};
  CHECK(ResolveModule(record).state == CodeState::kFile);
  HBBP_BUILD_OR_SKIP(path, "new");
  CHECK(ResolveModule(record).state == CodeState::kProfile);
  std::filesystem::remove(path);
  CHECK(ResolveModule(record).state == CodeState::kProfile);
  record.chunks[0].bytes.resize(10);
  CHECK(ResolveModule(record).state == CodeState::kMissing);
}

TEST_CASE("stored code is preferred to a file that nothing identifies") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "old", "-Wl,--build-id=none");
  ModuleRecord record = RecordOf(path);
  record.chunks = {{0, BytesOfFile(path)}};
  HBBP_BUILD_OR_SKIP(path, "new", "-Wl,--build-id=none");
  CHECK(ResolveModule(record).state == CodeState::kProfile);
  record.chunks.clear();
  CHECK(ResolveModule(record).state == CodeState::kFile);
}

TEST_CASE("stored code that claims absurd offsets is refused without taking memory") {
  ModuleRecord record;
  record.path = "/nonexistent/lib.so";
  for (uint64_t offset : {UINT64_MAX, UINT64_MAX - 1, uint64_t{1} << 50}) {
    record.chunks = {{offset, {1, 2, 3}}};
    CHECK(ResolveModule(record).state == CodeState::kMissing);
  }
}

TEST_CASE("modules that are not files") {
  ModuleRecord record;
  record.kind = ModuleKind::kVdso;
  CHECK(ResolveModule(record).state == CodeState::kMissing);
  CHECK_FALSE(ResolveModule(record).problem.empty());
  record.kind = ModuleKind::kAnonymous;
  CHECK(ResolveModule(record).state == CodeState::kMissing);
  CHECK_FALSE(ResolveModule(record).problem.empty());
  record.chunks = {{0x5000, {0xc3}}};
  const ResolvedModule generated = ResolveModule(record);
  CHECK(generated.state == CodeState::kProfile);
  CHECK(generated.AddressOf(0x5000) == ModuleAddress{0x5000});
  record.kind = static_cast<ModuleKind>(77);
  CHECK(ResolveModule(record).state == CodeState::kMissing);
  record.kind = ModuleKind::kKernel;
  record.chunks.clear();
  CHECK(ResolveModule(record).state == CodeState::kMissing);
  CHECK_FALSE(ResolveModule(record).problem.empty());
}

}  // namespace
}  // namespace hbbp
