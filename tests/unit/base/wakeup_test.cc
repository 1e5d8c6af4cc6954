#include "base/wakeup.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

Wakeup of_handler;

timespec In(uint64_t ns) {
  const uint64_t deadline_ns = ClockNs(CLOCK_MONOTONIC) + ns;
  return {static_cast<time_t>(deadline_ns / kSecondNs), static_cast<long>(deadline_ns % kSecondNs)};
}

uint64_t WaitedNs(Wakeup* wakeup, uint64_t longest_ns) {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  wakeup->WaitUntil(In(longest_ns));
  return ClockNs(CLOCK_MONOTONIC) - begin_ns;
}

TEST_CASE("without a call a wait ends at its deadline, also at one that is over") {
  Wakeup wakeup;
  CHECK(WaitedNs(&wakeup, 20'000'000) >= 20'000'000);
  wakeup.WaitUntil({0, 0});
}

TEST_CASE("calls before a wait end the next one only") {
  Wakeup wakeup;
  wakeup.Post();
  wakeup.Post();
  CHECK(WaitedNs(&wakeup, 60 * kSecondNs) < 30 * kSecondNs);
  CHECK(WaitedNs(&wakeup, 20'000'000) >= 20'000'000);
  wakeup.Post();
  wakeup.Reset();
  CHECK(WaitedNs(&wakeup, 20'000'000) >= 20'000'000);
}

TEST_CASE("no call of another thread is lost") {
  constexpr int kRounds = 2000;
  Wakeup there, back;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      there.WaitUntil(In(60 * kSecondNs));
      back.Post();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    there.Post();
    REQUIRE(WaitedNs(&back, 60 * kSecondNs) < 30 * kSecondNs);
  }
  other.join();
}

TEST_CASE("a signal handler ends the wait that it interrupts, and another handler does not") {
  struct sigaction action = {};
  struct sigaction previous;
  action.sa_handler = [](int signal_number) {
    if (signal_number == SIGUSR2) of_handler.Post();
  };
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGUSR2, &action, &previous);
  std::atomic<bool> has_ended{false};
  std::atomic<bool> has_begun{false};
  std::thread waiter([&] {
    has_begun = true;
    of_handler.WaitUntil(In(60 * kSecondNs));
    has_ended = true;
  });
  while (!has_begun) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK_FALSE(has_ended);
  ::pthread_kill(waiter.native_handle(), SIGUSR2);
  waiter.join();
  CHECK(has_ended);
  ::sigaction(SIGUSR1, &previous, nullptr);
  ::sigaction(SIGUSR2, &previous, nullptr);
}

TEST_CASE("a report ends a wait for it, and does nothing when none is expected") {
  Wakeup wakeup;
  wakeup.Report();
  CHECK_FALSE(wakeup.WaitUntil(In(0)));
  CHECK_FALSE(wakeup.TakeReport());
  wakeup.ExpectReport();
  wakeup.Report();
  wakeup.Report();
  CHECK(wakeup.WaitUntil(In(60 * kSecondNs)));
  CHECK(wakeup.TakeReport());
  CHECK_FALSE(wakeup.TakeReport());
  CHECK_FALSE(wakeup.WaitUntil(In(0)));
}

TEST_CASE("a report is no longer expected after the wait, or after a reset") {
  Wakeup wakeup;
  wakeup.ExpectReport();
  SECTION("the wait is over") { CHECK_FALSE(wakeup.TakeReport()); }
  SECTION("reset") {
    wakeup.Report();
    wakeup.Reset();
  }
  wakeup.Report();
  CHECK_FALSE(wakeup.WaitUntil(In(0)));
  CHECK_FALSE(wakeup.TakeReport());
}

}  // namespace
}  // namespace hbbp
