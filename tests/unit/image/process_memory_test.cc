#include "image/process_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

RuntimeAddress AddressOf(const void* pointer) { return {reinterpret_cast<uint64_t>(pointer)}; }

TEST_CASE("own memory is copied") {
  const char text[] = "some text";
  std::vector<uint8_t> buffer(sizeof(text));
  CHECK(ReadProcessMemory(0, AddressOf(text), buffer) == sizeof(text));
  CHECK(std::memcmp(buffer.data(), text, sizeof(text)) == 0);
  CHECK(ReadProcessMemory(::getpid(), AddressOf(text), buffer) == sizeof(text));
}

TEST_CASE("a read ends before the first page that cannot be read") {
  constexpr size_t kPage = 4096;
  constexpr size_t kPages = 200;
  auto* data = static_cast<uint8_t*>(
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(data != MAP_FAILED);
  for (size_t i = 0; i < kPages * kPage; ++i) data[i] = static_cast<uint8_t>(i / kPage + i);
  for (size_t good_pages : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{130}}) {
    CAPTURE(good_pages);
    REQUIRE(::mprotect(data, kPages * kPage, PROT_READ | PROT_WRITE) == 0);
    std::vector<uint8_t> expected(data + 100, data + kPage * good_pages + 100);
    REQUIRE(::mprotect(data + good_pages * kPage, (kPages - good_pages) * kPage, PROT_NONE) == 0);
    std::vector<uint8_t> buffer(kPages * kPage - 100);
    size_t size = good_pages == 0 ? 0 : good_pages * kPage - 100;
    CHECK(ReadProcessMemory(0, AddressOf(data + 100), buffer) == size);
    buffer.resize(size);
    expected.resize(size);
    CHECK(buffer == expected);
  }
  ::munmap(data, kPages * kPage);
}

TEST_CASE("nothing is read where nothing is") {
  std::vector<uint8_t> buffer(64);
  CHECK(ReadProcessMemory(0, {0}, buffer) == 0);
  CHECK(ReadProcessMemory(0, {UINT64_MAX - 10}, buffer) == 0);
  CHECK(ReadProcessMemory(0x7ffffff0, AddressOf(buffer.data()), buffer) == 0);
  CHECK(ReadProcessMemory(0, AddressOf(buffer.data()), {}) == 0);
}

}  // namespace
}  // namespace hbbp
