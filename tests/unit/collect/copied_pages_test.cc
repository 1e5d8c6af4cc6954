#include "collect/copied_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "support/catch.h"
#include "support/jit_memory.h"

namespace hbbp {
namespace {

const std::vector<uint8_t>& FindBytes(const std::vector<CopiedPages::Copy>& copies,
                                      uint64_t address, uint32_t generation) {
  const auto copy = std::find_if(copies.begin(), copies.end(), [&](const CopiedPages::Copy& c) {
    return c.address == address && c.generation == generation;
  });
  REQUIRE(copy != copies.end());
  return *copy->bytes;
}

TEST_CASE("a page is copied with its neighbours, as far as they are readable") {
  JitMemory memory(3);
  memory.Put(0, {0xaa});
  memory.Put(2 * JitMemory::kPage, {0xbb});
  REQUIRE(::mprotect(memory.At(JitMemory::kPage), JitMemory::kPage, PROT_NONE) == 0);
  CopiedPages pages(0);
  CHECK_FALSE(pages.Refresh({memory.address()}));
  std::vector<CopiedPages::Copy> copies = pages.Copies();
  CHECK(FindBytes(copies, memory.address(), 0).front() == 0xaa);
  CHECK(FindBytes(copies, memory.address(), 0).size() == JitMemory::kPage);
  CHECK(std::none_of(copies.begin(), copies.end(), [&](const CopiedPages::Copy& copy) {
    return copy.address == memory.address() + JitMemory::kPage;
  }));
  REQUIRE(::mprotect(memory.At(JitMemory::kPage), JitMemory::kPage, PROT_READ) == 0);
}

TEST_CASE("code that is added to a page is copied, once a round") {
  JitMemory memory(3);
  const uint64_t address = memory.address() + JitMemory::kPage;
  CopiedPages pages(0);
  pages.Refresh({address});
  memory.Put(JitMemory::kPage + 100, {0x90, 0xc3});
  CHECK_FALSE(pages.Refresh({address}));
  CHECK(FindBytes(pages.Copies(), address, 0)[100] == 0);
  pages.BeginRound();
  CHECK_FALSE(pages.Refresh({address}));
  CHECK(FindBytes(pages.Copies(), address, 0)[100] == 0x90);
  CHECK(FindBytes(pages.Copies(), address, 0)[101] == 0xc3);
}

TEST_CASE("where a counted instruction changes, a generation begins and the old code is kept") {
  JitMemory memory(3);
  memory.Put(JitMemory::kPage + 10, {0x90});
  memory.Put(JitMemory::kPage + 30, {0x48, 0x31, 0xc0});
  const uint64_t page = memory.address() + JitMemory::kPage;
  CopiedPages pages(0);
  pages.Refresh({page + 30});
  pages.BeginRound();
  memory.Put(JitMemory::kPage + 10, {0x91});
  CHECK_FALSE(pages.Refresh({page + 30}));

  pages.BeginRound();
  memory.Put(JitMemory::kPage + 32, {0xd8});
  const auto begun = pages.Refresh({page + 200});
  REQUIRE(begun);
  CHECK(begun->number == 1);
  CHECK(begun->start.value == page - JitMemory::kPage);
  CHECK(begun->end.value == page + 2 * JitMemory::kPage);
  CHECK(FindBytes(pages.Copies(), page, 0)[32] == 0xc0);
  CHECK(FindBytes(pages.Copies(), page, 0)[10] == 0x91);
  CHECK(FindBytes(pages.Copies(), page, 1)[32] == 0xd8);

  // The new generation does not have the counts of the old one.
  pages.BeginRound();
  memory.Put(JitMemory::kPage + 32, {0xc0});
  CHECK_FALSE(pages.Refresh({page + 200}));
  pages.BeginRound();
  memory.Put(JitMemory::kPage + 200, {0x90});
  CHECK(pages.Refresh({page + 200})->number == 2);
}

TEST_CASE("what was counted in a page counts when its neighbour is refreshed") {
  JitMemory memory(4);
  const uint64_t page = memory.address() + JitMemory::kPage;
  CopiedPages pages(0);
  pages.Refresh({page});
  pages.BeginRound();
  memory.Put(JitMemory::kPage, {0x90});
  CHECK(pages.Refresh({page + JitMemory::kPage}));
}

TEST_CASE("code that was freed stays as it was") {
  CopiedPages pages(0);
  uint64_t address = 0;
  {
    JitMemory memory(3);
    address = memory.address() + JitMemory::kPage;
    memory.Put(JitMemory::kPage, {0x90, 0xc3});
    pages.Refresh({address});
  }
  pages.BeginRound();
  CHECK_FALSE(pages.Refresh({address}));
  CHECK(FindBytes(pages.Copies(), address, 0)[1] == 0xc3);
}

TEST_CASE("generations beyond the limit are merged into the last") {
  JitMemory memory(3);
  const uint64_t page = memory.address() + JitMemory::kPage;
  CopiedPages pages(0);
  pages.Refresh({page});
  uint32_t generations = 0;
  for (uint32_t i = 1; i < 2 * CopiedPages::kMaxGenerations; ++i) {
    pages.BeginRound();
    memory.Put(JitMemory::kPage, {static_cast<uint8_t>(i)});
    if (pages.Refresh({page})) ++generations;
  }
  CHECK(generations == CopiedPages::kMaxGenerations - 1);
  CHECK(FindBytes(pages.Copies(), page, generations)[0] ==
        static_cast<uint8_t>(2 * CopiedPages::kMaxGenerations - 1));
}

}  // namespace
}  // namespace hbbp
