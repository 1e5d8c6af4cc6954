// Tests files that change under the reader, and bytes that are not a proper ELF file.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "image/elf_image.h"
#include "support/catch.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

using test::Compile;
using test::TemporaryDirectory;

constexpr std::string_view kSmallSource = R"(
  .text
  .globl _start
  .type _start, @function
_start:
  .cfi_startproc
  call helper
  ret
  .cfi_endproc
  .size _start, . - _start
  .type helper, @function
helper:
  .cfi_startproc
  ret
  .cfi_endproc
  .size helper, . - helper
  .section .note.GNU-stack,"",@progbits
)";

// Calls every function of the image. Returns the number of bytes of the results, so that they are
// used.
uint64_t Exercise(const ElfImage& image) {
  uint64_t sum = image.build_id().size();
  for (const AddressRange& function : image.AllFunctions()) {
    CHECK(function.start < function.end);
    sum += image.FunctionName(function.start).size();
    for (uint8_t byte : image.CodeAt(function.start, 64)) sum += byte;
  }
  for (uint64_t offset = 0; offset < 0x4000; offset += 0x111) {
    std::optional<ModuleAddress> address = image.AddressOfOffset({offset});
    if (!address) continue;
    for (uint8_t byte : image.DataAt(*address, 1000)) sum += byte;
    std::optional<AddressRange> range = image.FunctionAround(*address);
    if (range) CHECK(range->Contains(*address));
    sum += image.FunctionName(*address).size();
    sum += image.OffsetOfAddress(*address).has_value();
    for (const uint64_t bytes : {1, 64}) {
      const auto object = image.DataAround({*address, *address + bytes});
      if (object) sum += object->name.size();
    }
  }
  return sum;
}

void ExerciseBytes(const std::vector<uint8_t>& bytes) {
  StatusOr<std::unique_ptr<ElfImage>> image =
      ElfImage::FromMemory(bytes, "bytes", {.debug_root = ""});
  if (image.ok()) {
    Exercise(**image);
  } else {
    CHECK(image.status().code() == StatusCode::kBadFormat);
  }
}

std::vector<uint8_t> SmallFile() {
  TemporaryDirectory directory;
  std::string path = directory.File("small");
  if (!Compile(directory, kSmallSource,
               "-x assembler -nostdlib -static -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096",
               path)) {
    return {};
  }
  return test::ReadAll(path);
}

TEST_CASE("every truncation of a small file") {
  std::vector<uint8_t> bytes = SmallFile();
  if (bytes.empty()) HBBP_SKIP("no compiler");
  for (size_t size = 0; size <= bytes.size(); ++size) {
    ExerciseBytes({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
  }
}

TEST_CASE("every corrupted byte of a small file") {
  std::vector<uint8_t> bytes = SmallFile();
  if (bytes.empty()) HBBP_SKIP("no compiler");
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> changed = bytes;
      changed[at] = value;
      ExerciseBytes(changed);
    }
  }
}

TEST_CASE("corrupted bytes of a file that is read by pread") {
  std::vector<uint8_t> bytes = SmallFile();
  if (bytes.empty()) HBBP_SKIP("no compiler");
  for (size_t at = 0; at < bytes.size(); at += 3) {
    int fd = ::memfd_create("image", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    std::vector<uint8_t> changed = bytes;
    changed[at] ^= 0xff;
    REQUIRE(::write(fd, changed.data(), changed.size()) == static_cast<ssize_t>(changed.size()));
    StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::FromFd(UniqueFd(fd), "memory file");
    if (image.ok()) Exercise(**image);
  }
}

TEST_CASE("a claimed number of sections costs no memory") {
  struct {
    Elf64_Ehdr header = {};
    Elf64_Shdr section = {};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_DYN;
  file.header.e_machine = EM_X86_64;
  file.header.e_version = EV_CURRENT;
  file.header.e_shoff = sizeof(file.header);
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.section.sh_size = uint64_t{1} << 40;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&file);
  ExerciseBytes({bytes, bytes + sizeof(file)});
}

TEST_CASE("a file that is deleted while it is open") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, test::kProgram, "-O2", path)) HBBP_SKIP("no compiler");
  StatusOr<std::unique_ptr<ElfImage>> before = ElfImage::Open(path);
  REQUIRE(before.ok());
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(std::filesystem::remove(path));
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::FromFd(std::move(fd), path);
  REQUIRE(image.ok());
  std::vector<AddressRange> functions = (*image)->AllFunctions();
  CHECK_FALSE(functions.empty());
  CHECK((*before)->AllFunctions() == functions);
}

TEST_CASE("a file that is truncated while it is open") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, test::kProgram, "-O2 -static", path)) HBBP_SKIP("no static libraries");
  uint64_t size = std::filesystem::file_size(path);
  for (uint64_t left : {size - 1, size / 2, size / 16, uint64_t{5000}, uint64_t{64}, uint64_t{0}}) {
    CAPTURE(left);
    if (left == size - 1) {
      std::filesystem::copy(path, directory.File("copy"));
    } else {
      std::filesystem::copy(path, directory.File("copy"),
                            std::filesystem::copy_options::overwrite_existing);
    }
    StatusOr<std::unique_ptr<ElfImage>> image =
        ElfImage::Open(directory.File("copy"), {.debug_root = ""});
    REQUIRE(image.ok());
    std::optional<ModuleAddress> early = (*image)->AddressOfOffset({0x1000});
    REQUIRE(early.has_value());
    std::span<const uint8_t> held = (*image)->DataAt(*early, 100);
    std::vector<uint8_t> copy(held.begin(), held.end());
    REQUIRE(::truncate(directory.File("copy").c_str(), static_cast<off_t>(left)) == 0);
    Exercise(**image);
    CHECK(std::equal(held.begin(), held.end(), copy.begin(), copy.end()));
  }
}

TEST_CASE("a file that is overwritten while it is open keeps what was read") {
  TemporaryDirectory directory;
  std::string path = directory.File("program");
  if (!Compile(directory, test::kProgram, "-O2", path)) HBBP_SKIP("no compiler");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, {.debug_root = ""});
  REQUIRE(image.ok());
  std::vector<AddressRange> functions = (*image)->AllFunctions();
  REQUIRE_FALSE(functions.empty());
  std::span<const uint8_t> code = (*image)->CodeAt(functions.front().start, 16);
  std::vector<uint8_t> copy(code.begin(), code.end());
  int fd = ::open(path.c_str(), O_WRONLY);
  REQUIRE(fd >= 0);
  std::vector<uint8_t> junk(std::filesystem::file_size(path), 0xee);
  REQUIRE(::write(fd, junk.data(), junk.size()) == static_cast<ssize_t>(junk.size()));
  ::close(fd);
  CHECK(std::equal(code.begin(), code.end(), copy.begin(), copy.end()));
  Exercise(**image);
}

}  // namespace
}  // namespace hbbp
