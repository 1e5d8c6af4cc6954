#include "image/process_maps.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

Mapping ParseOne(const std::string& line) {
  StatusOr<std::vector<Mapping>> mappings = ParseProcessMaps(line + "\n");
  REQUIRE(mappings.ok());
  REQUIRE(mappings->size() == 1);
  return mappings->front();
}

TEST_CASE("a line of maps is read field by field") {
  Mapping mapping = ParseOne(
      "7f0000001000-7f0000003000 r-xp 00002000 fd:01 1234567                    "
      "/usr/lib/libx.so");
  CHECK(mapping.start.value == 0x7f0000001000);
  CHECK(mapping.end.value == 0x7f0000003000);
  CHECK(mapping.size() == 0x2000);
  CHECK(mapping.offset.value == 0x2000);
  CHECK(mapping.device_major == 0xfd);
  CHECK(mapping.device_minor == 1);
  CHECK(mapping.inode == 1234567);
  CHECK(mapping.readable);
  CHECK_FALSE(mapping.writable);
  CHECK(mapping.executable);
  CHECK_FALSE(mapping.shared);
  CHECK_FALSE(mapping.deleted);
  CHECK(mapping.path == "/usr/lib/libx.so");
  CHECK(mapping.IsFile());
}

TEST_CASE("mappings that are not files") {
  CHECK(ParseOne("1000-2000 rw-p 00000000 00:00 0 ").path.empty());
  CHECK(ParseOne("1000-2000 rw-p 00000000 00:00 0").path.empty());
  CHECK(ParseOne("1000-2000 r-xp 00000000 00:00 0            [vdso]").path == "[vdso]");
  CHECK(ParseOne("1000-2000 rw-p 00000000 00:00 0   [anon:my heap]").path == "[anon:my heap]");
  Mapping vsyscall =
      ParseOne("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]");
  CHECK(vsyscall.executable);
  CHECK_FALSE(vsyscall.readable);
  CHECK_FALSE(vsyscall.IsFile());
}

TEST_CASE("unusual paths") {
  Mapping spaces = ParseOne("1000-2000 r--s 00000000 08:01 5      /tmp/with  two spaces ");
  CHECK(spaces.path == "/tmp/with  two spaces ");
  CHECK(spaces.shared);
  CHECK(ParseOne("1000-2000 r--p 0 08:01 5 /tmp/a\\012b\\012").path == "/tmp/a\nb\n");

  Mapping memory_file = ParseOne("1000-2000 r-xp 00000000 00:01 77   /memfd:jit (deleted)");
  CHECK(memory_file.path == "/memfd:jit");
  CHECK(memory_file.deleted);

  // The name of the file ends like this, and it was then deleted.
  Mapping twice = ParseOne("1000-2000 r-xp 0 08:01 5   /tmp/x (deleted) (deleted)");
  CHECK(twice.path == "/tmp/x (deleted)");
  CHECK(twice.deleted);
}

TEST_CASE("lines that are not mappings are refused with their number") {
  for (const char* bad :
       {"", "zz", "1000", "1000-", "1000-2000", "1000-2000 rwx", "1000-2000 rwxq 0 0:0 0",
        "1000-2000 r-xp 0 0:0", "1000-2000 r-xp 0 00:00 0x", "2000-1000 r-xp 0 00:00 0",
        "1000-2000 r-xp 0 100000000:0 0", "11112222333344445-2 r-xp 0 0:0 0"}) {
    CAPTURE(bad);
    std::string text = "1000-2000 rw-p 00000000 00:00 0\n" + std::string(bad) + "\n";
    StatusOr<std::vector<Mapping>> mappings = ParseProcessMaps(text);
    REQUIRE_FALSE(mappings.ok());
    CHECK(mappings.status().code() == StatusCode::kBadFormat);
    CHECK(mappings.status().message().find("line 2") != std::string::npos);
  }
  CHECK(ParseProcessMaps("")->empty());
}

TEST_CASE("the own process") {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  RuntimeAddress here{reinterpret_cast<uint64_t>(&ParseOne)};
  int containing = 0;
  RuntimeAddress end{0};
  for (const Mapping& mapping : *mappings) {
    CHECK(end <= mapping.start);
    end = mapping.end;
    if (!mapping.Contains(here)) continue;
    ++containing;
    CHECK(mapping.executable);
    struct stat status;
    REQUIRE(::stat("/proc/self/exe", &status) == 0);
    CHECK(mapping.inode == status.st_ino);
  }
  CHECK(containing == 1);
  StatusOr<std::vector<Mapping>> by_pid = ReadProcessMaps(::getpid());
  REQUIRE(by_pid.ok());
  CHECK(by_pid->front() == mappings->front());
}

TEST_CASE("a deleted memory file of the own process") {
  int fd = ::memfd_create("hbbp test\nfile", 0);
  if (fd < 0) HBBP_SKIP("no memfd_create");
  REQUIRE(::ftruncate(fd, 4096) == 0);
  void* data = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(data != MAP_FAILED);
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  bool found = false;
  for (const Mapping& mapping : *mappings) {
    if (mapping.start.value != reinterpret_cast<uint64_t>(data)) continue;
    found = true;
    CHECK(mapping.path == "/memfd:hbbp test\nfile");
    CHECK(mapping.deleted);
    CHECK(mapping.shared);
  }
  CHECK(found);
  ::munmap(data, 4096);
  ::close(fd);
}

TEST_CASE("a process that does not exist") {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0x7ffffff0);
  REQUIRE_FALSE(mappings.ok());
  CHECK(mappings.status().code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace hbbp
