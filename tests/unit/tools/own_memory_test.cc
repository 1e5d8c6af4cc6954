// Tests the allocator of the preload libraries. It is that of this whole program: of the C++
// library, of Catch2, and of the C library.
#include "preload/own_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace hbbp::preload {
namespace {

struct Block {
  uint8_t* memory = nullptr;
  size_t bytes = 0;
  uint8_t content = 0;
};

bool IsIntact(const Block& block) {
  for (size_t i = 0; i < block.bytes; ++i) {
    if (block.memory[i] != block.content) return false;
  }
  return true;
}

bool IsAligned(const void* memory, size_t alignment) {
  return reinterpret_cast<uintptr_t>(memory) % alignment == 0;
}

Block Fill(void* memory, size_t bytes, uint8_t content) {
  ::memset(memory, content, bytes);
  return {static_cast<uint8_t*>(memory), bytes, content};
}

size_t RandomSize(std::mt19937* random) {
  const size_t limit = size_t{1} << (*random)() % 19;
  return (*random)() % (limit + 1);
}

// Allocates, grows, shrinks and frees, and returns whether no block ever held what it should not.
bool UseAtRandom(unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<Block> blocks(64);
  bool is_intact = true;
  for (int i = 0; i < steps; ++i) {
    Block& block = blocks[random() % blocks.size()];
    is_intact = is_intact && IsIntact(block);
    const size_t bytes = RandomSize(&random);
    const auto content = static_cast<uint8_t>(random());
    switch (random() % 4) {
      case 0:
        ::free(block.memory);
        block = Fill(::malloc(bytes), bytes, content);
        break;
      case 1: {
        const Block grown = {static_cast<uint8_t*>(::realloc(block.memory, bytes + 1)),
                             std::min(bytes, block.bytes), block.content};
        is_intact = is_intact && IsIntact(grown);
        block = Fill(grown.memory, bytes, content);
        break;
      }
      case 2: {
        const size_t alignment = size_t{16} << random() % 9;
        ::free(block.memory);
        block = Fill(::aligned_alloc(alignment, bytes), bytes, content);
        is_intact = is_intact && IsAligned(block.memory, alignment);
        break;
      }
      default:
        ::free(block.memory);
        block = {static_cast<uint8_t*>(::calloc(bytes, 1)), bytes, 0};
        is_intact = is_intact && IsIntact(block);
        break;
    }
    is_intact = is_intact && IsAligned(block.memory, 16);
  }
  for (const Block& block : blocks) {
    is_intact = is_intact && IsIntact(block);
    ::free(block.memory);
  }
  return is_intact;
}

TEST_CASE("blocks do not overlap, and keep what is in them") { CHECK(UseAtRandom(1, 200'000)); }

TEST_CASE("threads allocate at the same time") {
  std::atomic<bool> is_intact{true};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i, &is_intact] {
      if (!UseAtRandom(i, 50'000)) is_intact = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(is_intact);
}

// Returns whether all whole pages of the block are in memory.
bool IsInMemory(const uint8_t* block, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + kPageBytes - 1) & -kPageBytes;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) & -kPageBytes;
  std::vector<unsigned char> pages((end - begin) / kPageBytes);
  if (::mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) != 0) return false;
  return std::all_of(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
}

TEST_CASE("blocks of many sizes are in memory at once, also when they are used again") {
  constexpr int kPopulate = 23;  // MADV_POPULATE_WRITE
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool can_populate = ::madvise(page, 4096, kPopulate) == 0;
  ::munmap(page, 4096);
  if (!can_populate) HBBP_SKIP("no MADV_POPULATE_WRITE here, which needs Linux 5.14");
  for (const size_t bytes : {20'000, 60'000, 70'000, 200'000, 900'000, 5'000'000}) {
    CAPTURE(bytes);
    auto* const other = static_cast<uint8_t*>(::malloc(bytes));
    const Block kept = Fill(other, bytes, 7);
    for (int i = 0; i < 3; ++i) {
      errno = 123;
      auto* const block = static_cast<uint8_t*>(::malloc(bytes));
      CHECK(errno == 123);
      if (bytes < 1'000'000) CHECK(IsInMemory(block, bytes));
      CHECK(IsIntact(Fill(block, bytes, 9)));
      ::free(block);
    }
    CHECK(IsIntact(kept));
    ::free(other);
  }
}

TEST_CASE("memory that was freed is used again") {
  void* const first = ::malloc(1000);
  ::free(first);
  void* const second = ::malloc(990);
  CHECK(second == first);
  ::free(second);
}

TEST_CASE("blocks do not come where something was unmapped") {
  constexpr size_t kBytes = 8 << 20;
  void* const area = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  ::munmap(area, kBytes);
  std::vector<void*> blocks;
  for (size_t bytes = 1 << 10; bytes <= size_t{2} << 20; bytes *= 2) {
    blocks.push_back(::malloc(bytes));
  }
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  CHECK(::mmap(area, kBytes, PROT_NONE, kFlags, -1, 0) == area);
  ::munmap(area, kBytes);
  for (void* const block : blocks) ::free(block);
}

TEST_CASE("what is too much is refused") {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2}) {
    errno = 0;
    CHECK(::malloc(bytes) == nullptr);
    CHECK(errno == ENOMEM);
  }
  volatile size_t count = SIZE_MAX / 2;
  CHECK(::calloc(count, 4) == nullptr);
  CHECK_THROWS_AS(::operator new(count), std::bad_alloc);
  CHECK(::realloc(nullptr, count) == nullptr);
}

int StatusOfChild(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// Forks while other threads allocate. The child would wait for ever for a lock that one of them
// had.
void ForkOften(bool at_any_point) {
  std::atomic<bool> should_end{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([i, &should_end] {
      while (!should_end) ::free(::malloc(16 + i));
    });
  }
  bool all_ended = true;
  for (int i = 0; i < 1000; ++i) {
    std::unique_ptr<ForkAtAnyPoint> scope;
    if (at_any_point) scope = std::make_unique<ForkAtAnyPoint>();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(UseAtRandom(7, 10) ? 0 : 1);
    }
    all_ended = all_ended && StatusOfChild(child) == 0;
  }
  should_end = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(all_ended);
}

TEST_CASE("children of fork can allocate") { ForkOften(false); }

TEST_CASE("children of a fork in a signal handler can allocate") { ForkOften(true); }

}  // namespace
}  // namespace hbbp::preload
