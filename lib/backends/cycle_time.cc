#include "backends/cycle_time.h"

#include <sys/prctl.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace hbbp {
namespace {

constexpr int kRounds = 5;
constexpr uint64_t kRoundsOfLoop = 700;

// Multiplications that each wait for the one before take three cycles on all processors of the last
// ten years. (Additions of constants may take none, and rounds of short loops half of one.)
constexpr uint64_t kCyclesOfRound = 3 * 10;

void SpendRounds(uint64_t rounds) {
  uint64_t product = rounds;
  asm volatile(
      "1:\n\t"
      ".rept 10\n\t"
      "imul %1, %1\n\t"
      ".endr\n\t"
      "dec %0\n\t"
      "jnz 1b"
      : "+r"(rounds), "+r"(product)
      :
      : "cc");
}

bool MayReadTicks() {
  int mode = PR_TSC_ENABLE;
  const bool is_refused = ::prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
  return !is_refused;
}

}  // namespace

CycleTime MeasureCycleTime() {
  CycleTime time;
  const bool has_ticks = MayReadTicks();
  // The fastest round was not interrupted.
  uint64_t fastest_ns = UINT64_MAX, ticks_of_fastest = 0, ns_of_read = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t first_tick = has_ticks ? __rdtsc() : 0;
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    SpendRounds(kRoundsOfLoop);
    const uint64_t end_ns = ClockNs(CLOCK_MONOTONIC);
    const uint64_t last_tick = has_ticks ? __rdtsc() : 0;
    if (end_ns - begin_ns >= fastest_ns) continue;
    fastest_ns = end_ns - begin_ns;
    ticks_of_fastest = last_tick - first_tick;
  }
  time.ns_per_cycle =
      static_cast<double>(std::max<uint64_t>(1, fastest_ns)) / (kRoundsOfLoop * kCyclesOfRound);
  if (!has_ticks || ticks_of_fastest == 0) return time;
  time.ns_per_tick = static_cast<double>(fastest_ns) / static_cast<double>(ticks_of_fastest);
  constexpr int kReads = 20;
  constexpr uint64_t kMaxNsOfRead = 100;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    for (int i = 0; i < kReads; ++i) (void)__rdtsc();
    ns_of_read = std::min(ns_of_read, (ClockNs(CLOCK_MONOTONIC) - begin_ns) / kReads);
  }
  time.may_read_ticks = ns_of_read <= kMaxNsOfRead;
  return time;
}

}  // namespace hbbp
