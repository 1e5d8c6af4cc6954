#include "trace/interpreter/code_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "trace/interpreter/micro_op.h"

namespace hbbp {
namespace {

using trace::Block;
using trace::BlockRef;
using trace::CodeCache;
using trace::kNoBlock;

constexpr size_t kCacheBytes = 4 << 20;
// The tables are for 256, 2,048 and 16,384 of them.
constexpr size_t kBytes = 256;
constexpr uint32_t kBlocks = 15'000;

struct DestroyCache {
  void operator()(CodeCache* cache) const { CodeCache::Destroy(cache); }
};
using Cache = std::unique_ptr<CodeCache, DestroyCache>;

Cache MakeCache() {
  Cache cache(CodeCache::Create(kCacheBytes, nullptr));
  REQUIRE(cache != nullptr);
  return cache;
}

BlockRef Add(CodeCache* cache, uint64_t ip) {
  alignas(Block) uint8_t bytes[kBytes] = {};
  auto* block = reinterpret_cast<Block*>(bytes);
  block->ip = ip;
  return cache->Add(*block, kBytes);
}

// Two blocks in three lines of code, or a block each two bytes.
uint64_t MakeIp(uint32_t number, bool is_dense) {
  return 0x55550000 + uint64_t{number} * (is_dense ? 2 : 96);
}

TEST_CASE("blocks are found in whichever table they were entered") {
  const bool is_dense = GENERATE(false, true);
  CAPTURE(is_dense);
  const Cache cache = MakeCache();
  std::vector<BlockRef> blocks;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    wrong += cache->Find(MakeIp(i, is_dense)) == kNoBlock ? 0 : 1;
    blocks.push_back(Add(cache.get(), MakeIp(i, is_dense)));
    REQUIRE(blocks.back() != kNoBlock);
    const uint32_t earlier = i / 2;
    wrong += cache->Find(MakeIp(earlier, is_dense)) == blocks[earlier] ? 0 : 1;
    if (i % 1000 == 0) cache->GrowAhead();
  }
  for (uint32_t i = 0; i < kBlocks; ++i) {
    wrong += cache->Find(MakeIp(i, is_dense)) == blocks[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(cache->Find(MakeIp(kBlocks, is_dense)) == kNoBlock);
}

TEST_CASE("of two blocks of one address, the newer is found, in a later table, too") {
  const Cache cache = MakeCache();
  constexpr uint64_t kIp = 0x1000;
  BlockRef last = kNoBlock;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    if (i % 700 == 0) {
      last = Add(cache.get(), kIp);
      CHECK(cache->Find(kIp) == last);
    } else {
      REQUIRE(Add(cache.get(), MakeIp(i, false)) != kNoBlock);
    }
  }
  CHECK(cache->Find(kIp) == last);
}

TEST_CASE("an empty cache has none of the blocks before") {
  const Cache cache = MakeCache();
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    uint32_t count = 0;
    while (Add(cache.get(), MakeIp(count, false)) != kNoBlock) ++count;
    CHECK(count > kBlocks);
    REQUIRE(cache->FlushIfFull());
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) found += cache->Find(MakeIp(i, false)) != kNoBlock ? 1 : 0;
    CHECK(found == 0);
  }
}

TEST_CASE("memory for the next blocks is resident before they are added") {
  constexpr size_t kPage = 4096, kAhead = 32;
  const Cache cache = MakeCache();
  const auto resident_pages = [&cache] {
    const auto end = reinterpret_cast<uintptr_t>(cache->blocks()) + cache->used_bytes();
    auto* const next = reinterpret_cast<void*>((end + kPage - 1) & ~(kPage - 1));
    unsigned char pages[kAhead] = {};
    REQUIRE(::mincore(next, kAhead * kPage, pages) == 0);
    return std::count_if(std::begin(pages), std::end(pages),
                         [](unsigned char page) { return (page & 1) != 0; });
  };
  cache->GrowAhead();
  CHECK(resident_pages() == 0);  // a process that has no burst pays for none
  for (uint32_t i = 0; i < kBlocks / 2; ++i)
    REQUIRE(Add(cache.get(), MakeIp(i, false)) != kNoBlock);
  CHECK(resident_pages() == 0);
  cache->GrowAhead();
  if (resident_pages() == 0) HBBP_SKIP("no MADV_POPULATE_WRITE here, which needs Linux 5.14");
  CHECK(resident_pages() == kAhead);
}

TEST_CASE("a table is resident before it is used") {
  constexpr size_t kPage = 4096;
  const Cache cache = MakeCache();
  const auto resident_pages = [&cache] {
    auto* const head = reinterpret_cast<uint8_t*>(cache.get());
    std::vector<unsigned char> pages(static_cast<size_t>(cache->blocks() - head) / kPage);
    REQUIRE(::mincore(head, pages.size() * kPage, pages.data()) == 0);
    return std::count_if(pages.begin(), pages.end(),
                         [](unsigned char page) { return (page & 1) != 0; });
  };
  const auto first = resident_pages();
  cache->GrowAhead();
  CHECK(resident_pages() == first);
  size_t added = 0;
  while (resident_pages() == first && added < kBlocks) {
    REQUIRE(Add(cache.get(), MakeIp(static_cast<uint32_t>(added++), false)) != kNoBlock);
    cache->GrowAhead();
  }
  CHECK(added > 10);
  // The next table is eight times as large, and all of it is there at once.
  if (resident_pages() < 8) HBBP_SKIP("no MADV_POPULATE_WRITE here, which needs Linux 5.14");
  CHECK(resident_pages() > 4 * first);
}

TEST_CASE("threads that add and find blocks at once find what they have added") {
  const Cache cache = MakeCache();
  constexpr int kThreads = 4;
  constexpr uint32_t kOwn = 3500;
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto ip = [thread](uint32_t i) { return MakeIp(i * kThreads + thread, true); };
      for (uint32_t i = 0; i < kOwn; ++i) {
        if (Add(cache.get(), ip(i)) == kNoBlock) ++wrong;
        const BlockRef found = cache->Find(ip(i / 3));
        if (found == kNoBlock || cache->At(found)->ip != ip(i / 3)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace hbbp
