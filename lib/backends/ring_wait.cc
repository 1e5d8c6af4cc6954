#include "backends/ring_wait.h"

#include <cerrno>
#include <cstdint>

#include "base/clock.h"

namespace hbbp {
namespace {

constexpr uint64_t kMinIntervalNs = 500'000;

bool IsPast(const timespec& time) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t time_ns =
      static_cast<uint64_t>(time.tv_sec) * kSecondNs + static_cast<uint64_t>(time.tv_nsec);
  return ClockNs(CLOCK_MONOTONIC) >= time_ns;
}

}  // namespace

void RingWait::SetDescriptors(const std::vector<int>& descriptors) {
  polled_.clear();
  for (const int fd : descriptors) polled_.push_back({fd, POLLIN, 0});
}

bool RingWait::Wait(const timespec& deadline, Wakeup* wakeup) {
  constexpr timespec kRest = {0, kMinIntervalNs};
  constexpr timespec kUntilPostIsSeen = {0, 10'000'000};
  const bool is_early = ClockNs(CLOCK_MONOTONIC) - last_ns_ < kMinIntervalNs;
  if (!polled_.empty() && is_early) ::nanosleep(&kRest, nullptr);
  while (!polled_.empty() && !IsPast(deadline)) {
    if (wakeup->Take()) return false;
    const int found = ::ppoll(polled_.data(), polled_.size(), &kUntilPostIsSeen, nullptr);
    // A program that limits its descriptors below the number of these is refused.
    if (found < 0 && errno != EINTR) break;
    if (found <= 0) continue;
    for (const pollfd& poll : polled_) {
      if ((poll.revents & POLLIN) == 0) continue;
      last_ns_ = ClockNs(CLOCK_MONOTONIC);
      return true;
    }
    // The host has closed it, or all threads of the event have ended.
    std::erase_if(polled_, [](const pollfd& poll) { return poll.revents != 0; });
  }
  wakeup->WaitUntil(deadline);
  return false;
}

}  // namespace hbbp
