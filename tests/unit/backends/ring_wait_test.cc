#include "backends/ring_wait.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

timespec In(uint64_t ns) {
  const uint64_t deadline_ns = ClockNs(CLOCK_MONOTONIC) + ns;
  return {static_cast<time_t>(deadline_ns / kSecondNs), static_cast<long>(deadline_ns % kSecondNs)};
}

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(ends[1]);
  }
  UniqueFd read_end, write_end;
};

bool Wait(const std::vector<int>& descriptors, const timespec& deadline, Wakeup* wakeup) {
  RingWait wait;
  wait.SetDescriptors(descriptors);
  return wait.Wait(deadline, wakeup);
}

TEST_CASE("a readable descriptor ends a wait") {
  Wakeup wakeup;
  Pipe pipe, other;
  REQUIRE(::write(pipe.write_end.get(), "x", 1) == 1);
  const std::vector<int> descriptors = {other.read_end.get(), pipe.read_end.get()};
  CHECK(Wait(descriptors, In(60 * kSecondNs), &wakeup));
}

TEST_CASE("a call ends a wait for descriptors, and one for none") {
  Wakeup wakeup;
  Pipe pipe;
  wakeup.Post();
  CHECK_FALSE(Wait({pipe.read_end.get()}, In(600 * kSecondNs), &wakeup));
  wakeup.Post();
  CHECK_FALSE(Wait({}, In(600 * kSecondNs), &wakeup));
}

TEST_CASE("a wait ends at its deadline, also if its descriptors are closed or broken") {
  constexpr uint64_t kWaitNs = 20'000'000;
  Wakeup wakeup;
  Pipe pipe;
  Pipe ended;
  ended.write_end = UniqueFd();
  const int closed = Pipe().read_end.get();
  for (const std::vector<int>& descriptors :
       {std::vector<int>{pipe.read_end.get()}, std::vector<int>{ended.read_end.get(), closed}}) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    CHECK_FALSE(Wait(descriptors, In(kWaitNs), &wakeup));
    CHECK(ClockNs(CLOCK_MONOTONIC) - begin_ns >= kWaitNs);
  }
}

}  // namespace
}  // namespace hbbp
