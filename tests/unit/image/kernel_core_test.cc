#include "image/kernel_core.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/core_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr uint64_t kText = 0xffffffff83c00000;
constexpr uint64_t kModules = 0xffffffffc0000000;

StatusOr<std::shared_ptr<const KernelCore>> FromBytes(const std::vector<uint8_t>& bytes) {
  UniqueFd fd(::memfd_create("core", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return KernelCore::FromFd(std::move(fd), "core");
}

CoreBuilder TwoSegments() {
  return CoreBuilder()
      .AddMemory(kModules, {9, 8, 7})
      .AddMemory(kText, {1, 2, 3, 4})
      .AddMemory(0x400000, {1})
      .SetVmcoreInfo("OSRELEASE=6.1.0\nBUILD-ID=ab01ff\nSYMBOL(_stext)=ffffffff83c00000\n");
}

std::vector<uint8_t> ReadFrom(const KernelCore& core, uint64_t address, size_t size) {
  std::vector<uint8_t> buffer(size);
  buffer.resize(core.Read({address}, buffer));
  return buffer;
}

TEST_CASE("memory of a kernel in a core file") {
  const auto core = FromBytes(TwoSegments().Take());
  REQUIRE(core.ok());
  // The segment below the upper half of the address space does not count.
  CHECK((*core)->segment_count() == 2);
  CHECK(ReadFrom(**core, kText, 2) == std::vector<uint8_t>{1, 2});
  CHECK(ReadFrom(**core, kText + 1, 100) == std::vector<uint8_t>{2, 3, 4});
  CHECK(ReadFrom(**core, kModules + 2, 1) == std::vector<uint8_t>{7});
  for (const uint64_t outside :
       {kText - 1, kText + 4, kModules + 3, uint64_t{0x400000}, UINT64_MAX}) {
    CHECK(ReadFrom(**core, outside, 8).empty());
    CHECK_FALSE((*core)->SegmentAround({outside}).has_value());
  }
  CHECK((*core)->SegmentAround({kText + 3}) == AddressRange{{kText}, {kText + 4}});
  CHECK((*core)->build_id() == std::vector<uint8_t>{0xab, 0x01, 0xff});
  CHECK((*core)->stext() == ModuleAddress{kText});
  CHECK((*core)->problem().empty());
}

TEST_CASE("a core file with more segments than its header can count") {
  const auto core = FromBytes(TwoSegments().CountInSectionHeader().Take());
  REQUIRE(core.ok());
  CHECK(ReadFrom(**core, kText, 4) == std::vector<uint8_t>{1, 2, 3, 4});
}

TEST_CASE("a core file of many gigabytes is read in place") {
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  const TemporaryFolder directory;
  const std::string path = directory.File("core");
  std::vector<uint8_t> head = CoreBuilder().AddMemory(kText, {1, 2, 3}).Take();
  // The segment claims the rest of a file of a tebibyte.
  const size_t size_at = sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz);
  const uint64_t size = 0x3fffffff;
  std::memcpy(head.data() + size_at, &size, sizeof(size));
  const uint64_t offset = kBytes - size;
  std::memcpy(head.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), &offset,
              sizeof(offset));
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (::ftruncate(fd.get(), kBytes) != 0) HBBP_SKIP("no files of that size here");
  REQUIRE(::pwrite(fd.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
  REQUIRE(::pwrite(fd.get(), "x", 1, kBytes - 1) == 1);
  const auto core = KernelCore::Open(path);
  REQUIRE(core.ok());
  CHECK(ReadFrom(**core, kText + size - 1, 9) == std::vector<uint8_t>{'x'});
  CHECK(ReadFrom(**core, kText, 2) == std::vector<uint8_t>{0, 0});
}

TEST_CASE("a core file that was cut is refused or used as far as it goes") {
  std::vector<uint8_t> whole = TwoSegments().Take();
  whole.pop_back();  // the segment that is not in the kernel's half
  size_t used = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto core = FromBytes({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    if (!core.ok()) {
      CHECK(core.status().code() == StatusCode::kBadFormat);
      CHECK(core.status().message().starts_with("core: "));
      continue;
    }
    ++used;
    CHECK((*core)->problem().find("truncated") != std::string::npos);
    CHECK((*core)->problem().find("byte " + std::to_string(size)) != std::string::npos);
    for (const uint64_t segment : {kText, kModules}) (void)ReadFrom(**core, segment, 16);
  }
  // These are the files with at least one byte of a segment, but not all.
  CHECK(used == 6);
}

TEST_CASE("no byte of a core file makes reading it unsafe") {
  const std::vector<uint8_t> whole = TwoSegments().Take();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = whole;
      bytes[i] = value;
      const auto core = FromBytes(bytes);
      if (!core.ok()) continue;
      for (const uint64_t address : {kText, kModules, kModules + 2, UINT64_MAX}) {
        const auto segment = (*core)->SegmentAround({address});
        CHECK((!segment || segment->Contains({address})));
        (void)ReadFrom(**core, address, 64);
      }
    }
  }
}

TEST_CASE("what is not a core file of a kernel is refused with the reason") {
  const auto message_of = [](const std::function<void(Elf64_Ehdr*, Elf64_Phdr*)>& change) {
    std::vector<uint8_t> bytes = CoreBuilder().AddMemory(kText, {1, 2, 3}).Take();
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::memcpy(&segment, bytes.data() + sizeof(header), sizeof(segment));
    change(&header, &segment);
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + sizeof(header), &segment, sizeof(segment));
    const auto core = FromBytes(bytes);
    REQUIRE_FALSE(core.ok());
    CHECK(core.status().code() == StatusCode::kBadFormat);
    return core.status().message();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_ident[0] = 0; }),
             Contains("not an ELF"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_type = ET_EXEC; }),
             Contains("vmlinux"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_machine = EM_AARCH64; }),
             Contains("x86-64"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_phentsize = 1; }), Contains("byte 54"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_phoff = INT64_MAX; }),
             Contains("program headers at byte"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_phnum = 4; }), Contains("truncated"));
  CHECK_THAT(message_of([](auto* header, auto*) { header->e_phnum = 0; }),
             Contains("none of its 0"));
  CHECK_THAT(message_of([](auto* header, auto*) {
               header->e_phnum = PN_XNUM;
               header->e_shoff = 1 << 20;
             }),
             Contains("byte 1048576"));
  CHECK_THAT(message_of([](auto*, auto* segment) { segment->p_offset = uint64_t{1} << 63; }),
             Contains("which no file has"));
  CHECK_THAT(message_of([](auto*, auto* segment) { segment->p_filesz = UINT64_MAX; }),
             Contains("which no file has"));
  CHECK_THAT(message_of([](auto*, auto* segment) { segment->p_vaddr = UINT64_MAX - 1; }),
             Contains("beyond the end of memory"));
  CHECK_THAT(message_of([](auto*, auto* segment) { segment->p_offset = 1 << 20; }),
             Contains("truncated"));
}

TEST_CASE("segments that overlap: the lower one counts") {
  const auto core =
      FromBytes(CoreBuilder().AddMemory(kText + 1, {9, 9}).AddMemory(kText, {1, 2, 3}).Take());
  REQUIRE(core.ok());
  CHECK((*core)->segment_count() == 1);
  CHECK(ReadFrom(**core, kText, 8) == std::vector<uint8_t>{1, 2, 3});
}

TEST_CASE("core files that are not there, not files, or not for everybody") {
  CHECK(KernelCore::Open("/nonexistent/core").status().code() == StatusCode::kNotFound);
  CHECK(KernelCore::Open("/dev/null").status().code() == StatusCode::kBadFormat);
  const auto live = KernelCore::Open(kLiveKernelCore);
  if (live.ok()) {
    CHECK((*live)->segment_count() > 0);
  } else {
    CHECK(live.status().message().find("vmlinux") != std::string::npos);
  }
}

}  // namespace
}  // namespace hbbp
