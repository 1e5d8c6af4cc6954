// Tests what is known of code of this process: generated, changed and unmapped.
#include "probe/probed_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

class Page {
 public:
  Page()
      : bytes_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(bytes_ != MAP_FAILED);
  }
  ~Page() { Unmap(); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_); }
  void Write(const std::vector<uint8_t>& code) { std::memcpy(bytes_, code.data(), code.size()); }
  void Unmap() { ::munmap(bytes_, kSize); }

  static constexpr uint64_t kSize = 4096;

 private:
  void* bytes_;
};

ProductionSet Parse(const char* text) {
  StatusOr<ProductionSet> set = ProductionSet::Parse(text, {});
  REQUIRE(set.ok());
  return *std::move(set);
}

TEST_CASE("probed code: generated code is what it is at each execution") {
  const ProductionSet set = Parse("r: return => null, null\nj: branch => null, null");
  CountedModules modules;
  ProbedCode code(::getpid(), &set, &modules);
  Page page;
  page.Write({0xc3});  // ret
  CHECK(code.Decode(page.address()).instruction.fires[0] == 1);
  CHECK(code.Decode(page.address()).instruction.fires[0] == 1);
  page.Write({0xc3, 0x90});  // what follows does not matter
  CHECK(code.Decode(page.address()).instruction.fires[0] == 1);
  page.Write({0xeb, 0x10});  // jmp
  CHECK(code.Decode(page.address()).instruction.fires[0] == 2);
  page.Write({0x06});
  CHECK_FALSE(code.Decode(page.address()).is_instruction);
  page.Write({0xc3});
  CHECK(code.Decode(page.address()).is_instruction);
}

TEST_CASE("probed code: any address in a mapping has a location, also when it is gone") {
  const ProductionSet set = Parse("r: return => null, null");
  CountedModules modules;
  ProbedCode code(::getpid(), &set, &modules);
  const auto own = reinterpret_cast<uint64_t>(&Parse);
  CHECK(code.LocationOf(own).module == nullptr);
  CHECK(code.LocationOf(own).address == own);
  code.Decode(own);
  const CodeLocation start = code.LocationOf(own);
  REQUIRE(start.module != nullptr);
  const CodeLocation behind = code.LocationOf(own + 1);
  CHECK(behind.module == start.module);
  CHECK(behind.address == start.address + 1);
  CHECK(behind.function == start.address);

  Page page;
  page.Write({0xc3});
  code.Decode(page.address());
  page.Unmap();
  code.Unmap(page.address(), Page::kSize);
  CHECK(code.LocationOf(page.address() + 8).module == modules.generated());
  CHECK(code.LocationOf(page.address() + Page::kSize - 1).module != nullptr);
  CHECK(code.LocationOf(own).module == start.module);
}

[[gnu::noinline, gnu::used]] void NeverCalled() { ::_exit(1); }

// The thread sanitizer forbids writes to code.
[[gnu::noinline, gnu::no_sanitize_thread]] uint8_t ExchangeCode(uint8_t* byte, uint8_t value) {
  const uint8_t before = *byte;
  *byte = value;
  return before;
}

TEST_CASE("probed code: of a stream that is behind, code is that of the files") {
  const ProductionSet set = Parse("r: return => null, null");
  CountedModules modules;
  bool is_current = true;
  ProbedCode code(::getpid(), &set, &modules, [&is_current] { return is_current; });
  const auto address = reinterpret_cast<uint64_t>(&NeverCalled);
  auto* const bytes = reinterpret_cast<uint8_t*>(address);
  void* const page = reinterpret_cast<void*>(address & -Page::kSize);
  REQUIRE(::mprotect(page, 2 * Page::kSize, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  const uint8_t first = ExchangeCode(bytes, 0x06);
  REQUIRE(::mprotect(page, 2 * Page::kSize, PROT_READ | PROT_EXEC) == 0);
  const ProbedCode::Entry& entry = code.Decode(address);
  CHECK(entry.is_instruction);
  CHECK(entry.instruction.bytes[0] == first);
  CHECK(ProbedCode(::getpid(), &set, &modules).Decode(address).instruction.bytes[0] == 0);

  is_current = false;
  Page page_of_another;
  page_of_another.Write({0xc3});
  CHECK_FALSE(code.Decode(page_of_another.address()).is_instruction);
  CHECK(code.LocationOf(page_of_another.address()).module == nullptr);
  CHECK(code.Decode(reinterpret_cast<uint64_t>(&Parse)).is_instruction);
}

}  // namespace
}  // namespace hbbp::tools
