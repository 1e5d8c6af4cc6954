#include "trace/handler_reserve.h"

#include <cstdint>

#include "support/catch.h"

namespace hbbp {
namespace {

using trace::HandlerReserve;

constexpr uint64_t kMs = 1'000'000;

TEST_CASE("half of the reserve of handlers is for the first quarter of a second") {
  HandlerReserve reserve;
  reserve.Reset(12 * kMs);
  CHECK(reserve.Take(1) == 0);
  reserve.Advance(250 * kMs);
  CHECK(reserve.Take(kMs) == kMs);
  const uint64_t rest = reserve.Take(100 * kMs);
  CHECK(rest > 4.99 * kMs);
  CHECK(rest <= 5 * kMs);
  CHECK(reserve.Take(1) == 0);
  reserve.Advance(750 * kMs);
  CHECK(reserve.Take(100 * kMs) == 11 * kMs - rest);
  reserve.Advance(5000 * kMs);
  CHECK(reserve.Take(1) == 0);
}

TEST_CASE("bursts that cost a millisecond are spread over the first second") {
  HandlerReserve reserve;
  reserve.Reset(12 * kMs);
  uint64_t debt = 0;
  int bursts = 0, bursts_at_half = 0;
  for (int sample = 0; sample < 200; ++sample) {
    reserve.Advance(5 * kMs);
    debt -= reserve.Take(debt);
    if (debt == 0) {
      debt = kMs;
      ++bursts;
    }
    if (sample < 100) bursts_at_half = bursts;
  }
  CHECK(bursts == 13);  // the first one costs nothing that was saved
  CHECK(bursts_at_half >= 9);
  CHECK(bursts_at_half <= 10);
}

TEST_CASE("a session without a reserve has none") {
  HandlerReserve reserve;
  reserve.Reset(0);
  reserve.Advance(2000 * kMs);
  CHECK(reserve.Take(1) == 0);
}

}  // namespace
}  // namespace hbbp
