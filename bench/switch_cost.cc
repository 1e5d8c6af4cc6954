// Measures what an event adds to a context switch: by disabling and enabling it, as
// perf/switch_cost.h does at the start of sessions, and by real switches, which that approximates.
//
//   bench/switch_cost
//
// Two threads on one CPU wake each other through pipes. It prints their CPU time per switch: the
// minimum of some runs, with no event, with one without hardware, and with each event that this
// machine has. Then two processes do, of which one has events, as a client and a traced server.
#include "perf/switch_cost.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "perf/perf_event.h"

namespace hbbp {
namespace {

constexpr int kRuns = 15;
constexpr int kRounds = 2'000;

perf_event_attr UserEvent(uint32_t type, uint64_t config, uint64_t period) {
  perf_event_attr attr = MakePerfEventAttr(type, config);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sample_period = period;
  return attr;
}

void StayOnOneCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(::sched_getcpu(), &cpus);
  ::sched_setaffinity(0, sizeof(cpus), &cpus);
}

// Returns the CPU time of kRounds replies, or of kRounds questions.
uint64_t Play(const perf_event_attr* attr, int from, int to, bool begins) {
  const UniqueFd event(attr != nullptr ? RawPerfEventOpen(*attr, 0, -1) : -1);
  const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  char byte = 0;
  for (int i = 0; i < kRounds; ++i) {
    if (begins && ::write(to, &byte, 1) != 1) return 0;
    if (::read(from, &byte, 1) != 1) return 0;
    if (!begins && ::write(to, &byte, 1) != 1) return 0;
  }
  return ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

double SwitchNsByPipes(const perf_event_attr* attr) {
  double min_ns = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    int there[2], back[2];
    if (::pipe(there) != 0 || ::pipe(back) != 0) return 0;
    uint64_t asks_ns = 0, answers_ns = 0;
    std::thread answers([&] { answers_ns = Play(attr, there[0], back[1], false); });
    std::thread asks([&] { asks_ns = Play(attr, back[0], there[1], true); });
    asks.join();
    answers.join();
    for (const int fd : {there[0], there[1], back[0], back[1]}) ::close(fd);
    min_ns = std::min(min_ns, static_cast<double>(asks_ns + answers_ns) / (2.0 * kRounds));
  }
  return min_ns;
}

// Returns the time of a question and its answer, where the process that asks has these events.
double AnswerNsOfProcess(std::span<const perf_event_attr> attrs) {
  int there[2], back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(there[1]);
    char byte = 0;
    while (::read(there[0], &byte, 1) == 1 && ::write(back[1], &byte, 1) == 1) continue;
    ::_exit(0);
  }
  if (child < 0) return 0;
  std::vector<UniqueFd> events;
  for (const perf_event_attr& attr : attrs) events.emplace_back(RawPerfEventOpen(attr, 0, -1));
  double min_ns = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    (void)Play(nullptr, back[0], there[1], true);
    min_ns = std::min(min_ns, static_cast<double>(ClockNs(CLOCK_MONOTONIC) - begin_ns) / kRounds);
  }
  for (const int fd : {there[0], there[1], back[0], back[1]}) ::close(fd);
  ::waitpid(child, nullptr, 0);
  return min_ns;
}

int Main() {
  StayOnOneCpu();
  const perf_event_attr dummy = UserEvent(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0);
  const double without_ns = SwitchNsByPipes(&dummy);
  std::printf("no event          %6.0f ns a switch\n", SwitchNsByPipes(nullptr));
  std::printf("without hardware  %6.0f ns a switch\n", without_ns);
  constexpr uint64_t kLong = uint64_t{1} << 40;
  const struct {
    const char* name;
    perf_event_attr attr;
  } kEvents[] = {
      {"task-clock", UserEvent(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, kLong)},
      {"instructions", UserEvent(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, kLong)},
  };
  for (const auto& event : kEvents) {
    const std::optional<uint64_t> measured_ns = MeasureSwitchNs(event.attr);
    if (!measured_ns) {
      std::printf("%-16s  unavailable here\n", event.name);
      continue;
    }
    std::printf("%-16s  %6.0f ns a switch more than without hardware; by enabling: %.0f\n",
                event.name, SwitchNsByPipes(&event.attr) - without_ns,
                static_cast<double>(*measured_ns));
  }
  const perf_event_attr of_both[] = {dummy, kEvents[0].attr};
  const double plain_ns = AnswerNsOfProcess({});
  std::printf(
      "of a process      %6.0f ns more with an event without hardware, %.0f with a clock, too\n",
      AnswerNsOfProcess({of_both, 1}) - plain_ns, AnswerNsOfProcess(of_both) - plain_ns);
  return 0;
}

}  // namespace
}  // namespace hbbp

int main() { return hbbp::Main(); }
