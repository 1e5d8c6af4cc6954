#include "perf_data/record_queue.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/failing_host.h"

namespace hbbp {
namespace {

// Time, and a number that distinguishes records of the same time.
using Stamp = std::pair<uint64_t, uint8_t>;

struct Flushed {
  void operator()(std::span<const uint8_t> record, const RecordQueue::Entry& entry) {
    stamps.emplace_back(entry.time, record.front());
    is_whole &= record.size() == 1 + entry.time % 7u;
  }
  std::vector<Stamp> stamps;
  bool is_whole = true;
};

void Push(RecordQueue* queue, const Stamp& stamp) {
  const std::vector<uint8_t> record(1 + stamp.first % 7, stamp.second);
  queue->Push(record, stamp.first, nullptr, 0);
}

TEST_CASE("records leave the queue by time, those of one time in their order") {
  std::mt19937 random(4);
  for (const uint64_t times : {1, 3, 50, 1000000}) {
    RecordQueue queue;
    std::vector<Stamp> expected;
    for (size_t i = 0; i < 251; ++i) {
      expected.emplace_back(random() % times, static_cast<uint8_t>(i));
      Push(&queue, expected.back());
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Stamp& a, const Stamp& b) { return a.first < b.first; });
    Flushed flushed;
    queue.Flush(queue.MedianTime(), flushed);
    CHECK(flushed.stamps.size() > 125);
    CHECK(queue.latest() == expected.back().first);
    queue.Flush(UINT64_MAX, flushed);
    CHECK(flushed.stamps == expected);
    CHECK(flushed.is_whole);
    CHECK(queue.bytes() == 0);
  }
}

TEST_CASE("runs of many processors are merged") {
  for (const size_t runs : {1, 2, 3, 8, 17}) {
    RecordQueue queue;
    std::vector<Stamp> expected;
    for (size_t run = 0; run < runs; ++run) {
      for (uint64_t i = 0; i < 20; ++i) {
        expected.emplace_back(i * 3 + run % 4, static_cast<uint8_t>(run));
        Push(&queue, expected.back());
      }
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Stamp& a, const Stamp& b) { return a.first < b.first; });
    Flushed flushed;
    queue.Flush(20, flushed);
    queue.Flush(UINT64_MAX, flushed);
    CHECK(flushed.stamps == expected);
  }
}

TEST_CASE("records are in the queue as a whole or not at all, whichever allocation fails") {
  for (const int every : {1, 2, 3, 5}) {
    CAPTURE(every);
    FailingHost host;
    host.every = every;
    CountedMemory memory(host.allocator());
    {
      RecordQueue queue(&memory);
      std::vector<Stamp> expected;
      Flushed flushed;
      for (uint64_t i = 0; i < 400; ++i) {
        const Stamp stamp = {i * 7 % 400, static_cast<uint8_t>(i)};
        if (HasMemoryFor([&] { Push(&queue, stamp); })) expected.push_back(stamp);
        CHECK(queue.size() + flushed.stamps.size() == expected.size());
        if (i % 50 == 49) queue.Flush(queue.MedianTime(), flushed);
      }
      queue.Flush(UINT64_MAX, flushed);
      std::sort(expected.begin(), expected.end());
      std::sort(flushed.stamps.begin(), flushed.stamps.end());
      CHECK(flushed.stamps == expected);
      CHECK(flushed.is_whole);
      CHECK(expected.empty() == (every == 1));
      queue.Shrink();
      CHECK(memory.used() == 0);
    }
    CHECK(host.live == 0);
  }
}

TEST_CASE("an empty queue") {
  RecordQueue queue;
  Flushed flushed;
  queue.Flush(UINT64_MAX, flushed);
  CHECK(flushed.stamps.empty());
  CHECK(queue.MedianTime() == 0);
}

}  // namespace
}  // namespace hbbp
