#include "backends/blocked_time.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "backends/threads.h"
#include "base/clock.h"
#include "base/own_status.h"
#include "support/catch.h"

namespace hbbp {
namespace {

void SpinFor(uint64_t milliseconds) {
  const uint64_t end = ClockNs(CLOCK_THREAD_CPUTIME_ID) + milliseconds * 1'000'000;
  while (ClockNs(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

void Block(int signal, bool blocks) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

constexpr auto kNowhere = [](pid_t) { return false; };

TEST_CASE("a thread blocks what it has blocked, and others do not") {
  CHECK_FALSE(BlocksSignal(::gettid(), SIGUSR2));
  Block(SIGUSR2, true);
  CHECK(BlocksSignal(::gettid(), SIGUSR2));
  CHECK_FALSE(BlocksSignal(::gettid(), SIGUSR1));
  Block(SIGUSR2, false);
  CHECK_FALSE(BlocksSignal(::gettid(), SIGUSR2));
  CHECK_FALSE(BlocksSignal(0x7fffff00, SIGUSR2));
}

TEST_CASE("CPU time counts between two checks that find the signal blocked") {
  BlockedTime time;
  time.Begin(SIGUSR2);
  const std::vector<pid_t> threads = {::gettid()};
  SpinFor(5);
  time.Scan(threads, kNowhere);
  SpinFor(5);
  time.Scan(threads, kNowhere);
  CHECK(time.ns() == 0);
  Block(SIGUSR2, true);
  SpinFor(5);
  time.Scan(threads, kNowhere);
  CHECK(time.ns() == 0);
  SpinFor(20);
  time.Scan(threads, kNowhere);
  Block(SIGUSR2, false);
  const uint64_t ns = time.ns();
  CHECK(ns >= 20'000'000);
  SpinFor(5);
  time.Scan(threads, kNowhere);
  CHECK(time.ns() == ns);
  time.Begin(SIGUSR2);
  CHECK(time.ns() == 0);
}

TEST_CASE("the mask of a handler says nothing of the thread") {
  BlockedTime time;
  time.Begin(SIGUSR2);
  const std::vector<pid_t> threads = {::gettid()};
  Block(SIGUSR2, true);
  int asked = 0;
  const auto begins_meanwhile = [&asked](pid_t) { return ++asked % 2 == 0; };
  for (int i = 0; i < 3; ++i) {
    SpinFor(2);
    time.Scan(threads, [](pid_t) { return true; });
    time.Scan(threads, begins_meanwhile);
  }
  Block(SIGUSR2, false);
  CHECK(time.ns() == 0);
}

TEST_CASE("of many threads each has its turn") {
  constexpr int kThreads = 40;
  std::atomic<int> ready{0};
  std::atomic<bool> goes_on{false}, ends{false};
  std::vector<std::thread> pool;
  for (int i = 0; i < kThreads; ++i) {
    pool.emplace_back([&] {
      Block(SIGUSR2, true);
      ++ready;
      while (!goes_on) ::usleep(100);
      SpinFor(1);
      ++ready;
      while (!ends) ::usleep(100);
    });
  }
  while (ready != kThreads) ::usleep(100);
  const StatusOr<std::vector<pid_t>> threads = ListThreads();
  REQUIRE(threads.ok());
  BlockedTime time;
  time.Begin(SIGUSR2);
  for (int i = 0; i < 3; ++i) time.Scan(*threads, kNowhere);
  goes_on = true;
  while (ready != 2 * kThreads) ::usleep(100);
  for (int i = 0; i < 3; ++i) time.Scan(*threads, kNowhere);
  ends = true;
  for (std::thread& thread : pool) thread.join();
  CHECK(time.ns() >= kThreads * 1'000'000);
}

}  // namespace
}  // namespace hbbp
