#include "trace/handler_times.h"

#include <atomic>
#include <memory>
#include <thread>

#include "support/catch.h"

namespace hbbp::trace {
namespace {

TEST_CASE("a handler is at work from its begin to its end") {
  const auto times = std::make_unique<HandlerTimes>();
  CHECK_FALSE(times->Contain(0));
  CHECK_FALSE(times->Contain(150));
  times->Begin(100);
  CHECK_FALSE(times->Contain(99));
  CHECK(times->Contain(100));
  CHECK(times->Contain(1'000'000));
  times->End(200);
  CHECK(times->Contain(200));
  CHECK_FALSE(times->Contain(201));
  times->Begin(300);
  times->End(400);
  CHECK(times->Contain(150));
  CHECK_FALSE(times->Contain(250));
  CHECK(times->Contain(350));
}

TEST_CASE("the newest times are kept, and nothing is said of older ones") {
  const auto times = std::make_unique<HandlerTimes>();
  constexpr uint64_t kNumber = 5 * HandlerTimes::kKept / 2;
  int quarters = 0;
  for (uint64_t i = 1; i <= kNumber; ++i) {
    times->Begin(10 * i);
    if (times->HasBegunQuarter()) ++quarters;
    times->End(10 * i + 4);
  }
  CHECK(quarters == 10);
  constexpr uint64_t kOldest = kNumber - HandlerTimes::kKept + 2;
  for (uint64_t i = 1; i <= kNumber; ++i) {
    CAPTURE(i);
    REQUIRE(times->Contain(10 * i + 2) == (i >= kOldest));
    REQUIRE_FALSE(times->Contain(10 * i + 7));
  }
}

TEST_CASE("another thread may ask while a handler begins and ends") {
  const auto times = std::make_unique<HandlerTimes>();
  std::atomic<uint64_t> ended{0};
  constexpr uint64_t kNumber = 300'000;
  std::thread handler([&] {
    for (uint64_t i = 1; i <= kNumber; ++i) {
      times->Begin(10 * i);
      times->End(10 * i + 4);
      ended.store(i);
    }
  });
  uint64_t wrong = 0;
  for (uint64_t last = 0; last < kNumber;) {
    last = ended.load();
    if (last == 0) continue;
    // The interval has ended, unless the handler has reused it meanwhile.
    const bool inside = times->Contain(10 * last + 2), between = times->Contain(10 * last - 3);
    const bool is_kept = ended.load() - last < HandlerTimes::kKept / 2;
    if (is_kept && (!inside || between)) ++wrong;
  }
  handler.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace hbbp::trace
