#include "trace/burst_buffer.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace hbbp::trace {
namespace {

class Pool {
 public:
  Pool(uint32_t capacity, uint32_t free, uint32_t in_memory = 0) {
    REQUIRE(memory_.Reserve((in_memory != 0 ? in_memory : capacity) * sizeof(BurstBuffer)));
    pool_.Init(&memory_, capacity);
    pool_.Allow(free);
  }
  ~Pool() { memory_.Release(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  BurstBufferPool* operator->() { return &pool_; }

 private:
  GrowingMemory memory_;
  BurstBufferPool pool_;
};

TEST_CASE("every free buffer is taken once") {
  Pool pool(3, 2);
  const uint32_t first = pool->Take(), second = pool->Take();
  CHECK(std::set<uint32_t>{first, second} == std::set<uint32_t>{0, 1});
  CHECK(pool->Take() == BurstBufferPool::kNone);
  pool->Allow(1);
  CHECK(pool->Take() == 2);
  pool->Allow(1);
  CHECK(pool->Take() == BurstBufferPool::kNone);
  pool->Recycle(first);
  CHECK(pool->Take() == first);
}

TEST_CASE("a buffer without memory is not taken, and not lost") {
  constexpr uint32_t kInMemory = 128, kCapacity = 200;  // reserved memory is a multiple of 2 MB
  Pool pool(kCapacity, kCapacity, kInMemory);
  for (uint32_t i = 0; i < kInMemory; ++i) CHECK(pool->Take() == i);
  for (int attempt = 0; attempt < 3; ++attempt) CHECK(pool->Take() == BurstBufferPool::kNone);
  CHECK(pool->begun() == kInMemory);
  pool->Recycle(7);
  CHECK(pool->Take() == 7);
}

TEST_CASE("full buffers come in the order in which they became full") {
  Pool pool(5, 5);
  for (int i = 0; i < 5; ++i) pool->Take();
  for (uint32_t index : {3u, 1u, 4u, 0u}) pool->PushFull(index);
  std::vector<uint32_t> taken;
  pool->TakeFull([&](uint32_t index) { taken.push_back(index); });
  CHECK(taken == std::vector<uint32_t>{3, 1, 4, 0});
  taken.clear();
  pool->TakeFull([&](uint32_t index) { taken.push_back(index); });
  CHECK(taken.empty());
}

TEST_CASE("a full buffer may be given back while the others are visited") {
  Pool pool(4, 3);
  for (int i = 0; i < 3; ++i) pool->PushFull(pool->Take());
  int visits = 0;
  pool->TakeFull([&](uint32_t index) {
    ++visits;
    pool->Recycle(index);
  });
  CHECK(visits == 3);
}

TEST_CASE("threads that take, fill and give back at once lose nothing and share nothing") {
  constexpr uint32_t kBuffers = 8;
  constexpr int kRounds = 20'000;
  Pool pool(kBuffers, kBuffers);
  std::atomic<bool> shared{false};
  std::atomic<int> fillers{3};
  std::atomic<uint32_t> owners[kBuffers] = {};
  std::atomic<int> filled{0};
  const auto fill = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const uint32_t index = pool->Take();
      if (index == BurstBufferPool::kNone) continue;
      if (owners[index].exchange(1) != 0) shared = true;
      owners[index] = 0;
      ++filled;
      pool->PushFull(index);
    }
    --fillers;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(fill);
  int drained = 0;
  const auto drain = [&](uint32_t index) {
    ++drained;
    pool->Recycle(index);
  };
  while (fillers != 0) pool->TakeFull(drain);
  for (std::thread& thread : threads) thread.join();
  pool->TakeFull(drain);
  CHECK_FALSE(shared);
  CHECK(drained == filled);
  std::set<uint32_t> left;
  for (uint32_t i = 0; i < kBuffers; ++i) left.insert(pool->Take());
  CHECK(left.size() == kBuffers);
  CHECK(left.count(BurstBufferPool::kNone) == 0);
}

}  // namespace
}  // namespace hbbp::trace
