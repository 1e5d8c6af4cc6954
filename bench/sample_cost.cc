// Measures the time that a sample takes from its thread: an interrupt and a record, which CPU time
// includes, but no clock shows separately.
//
//   bench/sample_cost [ROUNDS [instructions]]
//
// The same loop runs without sampling and with periods from 1,000,000 to 50,000 (nanoseconds of the
// task clock, or instructions), in turns. Two figures result: the slope of a line through the
// medians of the additional CPU time of the loop by the number of samples; and the median duration
// of its standstills by the time stamp counter, when nearly all that interrupts it are samples.
#include <hbbp/hbbp.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::array<uint64_t, 6> kPeriods = {0, 1'000'000, 400'000, 200'000, 100'000, 50'000};
constexpr int kTurns = 400'000;
// This is longer than an iteration of the loop, and shorter than any interrupt.
constexpr uint64_t kStandstillNs = 250;
// Longer ones are time slices of other programs, not interrupts.
constexpr uint64_t kLongestNs = 50'000;

struct Window {
  uint64_t cpu_ns = 0;
  uint64_t samples = 0;
  std::vector<uint64_t> standstills;  // ticks
};

uint64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

double TicksPerNs() {
  const uint64_t begin_ns = NowNs(CLOCK_MONOTONIC), begin = __rdtsc();
  while (NowNs(CLOCK_MONOTONIC) - begin_ns < 20'000'000) {
  }
  const uint64_t ticks = __rdtsc() - begin;
  return static_cast<double>(ticks) / static_cast<double>(NowNs(CLOCK_MONOTONIC) - begin_ns);
}

void Work(double ticks_per_ns, Window* window) {
  const auto shortest = static_cast<uint64_t>(ticks_per_ns * kStandstillNs);
  const auto longest = static_cast<uint64_t>(ticks_per_ns * kLongestNs);
  const uint64_t begin_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
  uint64_t last = __rdtsc();
  for (int i = 0; i < kTurns; ++i) {
    const uint64_t now = __rdtsc();
    const uint64_t still = now - last;
    if (still > shortest && still < longest) window->standstills.push_back(still);
    last = now;
  }
  window->cpu_ns = NowNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

bool Run(hbbp_event event, uint64_t period, double ticks_per_ns, Window* window) {
  window->standstills.reserve(4096);
  if (period == 0) {
    Work(ticks_per_ns, window);
    return true;
  }
  HBBP_INIT(hbbp_session_options, options);
  HBBP_INIT(hbbp_session_info, info);
  HBBP_INIT(hbbp_error, error);
  options.source = HBBP_SOURCE_EBS;
  options.event = event;
  options.period = period;
  hbbp_session* session = nullptr;
  if (hbbp_session_create(&options, &session, &error) != HBBP_OK ||
      hbbp_session_start(session, &error) != HBBP_OK) {
    std::fprintf(stderr, "sample_cost: %s\n", error.message);
    hbbp_session_destroy(session);
    return false;
  }
  Work(ticks_per_ns, window);
  hbbp_session_stop(session, nullptr);
  hbbp_session_get_info(session, &info, nullptr);
  window->samples = info.samples;
  hbbp_session_destroy(session);
  return true;
}

template <typename T>
double Median(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// The results for one period, over all rounds.
struct Measured {
  std::vector<double> extra_ns;  // CPU time minus that of the round's window without samples
  std::vector<uint64_t> samples;
  std::vector<uint64_t> standstills;  // ticks
};

class Line {
 public:
  void Add(double x, double y) {
    ++count_;
    x_ += x, y_ += y, xx_ += x * x, xy_ += x * y;
  }
  // Returns the slope by least squares.
  double Slope() const { return (count_ * xy_ - x_ * y_) / (count_ * xx_ - x_ * x_); }

 private:
  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
  const bool is_of_instructions = argc > 2 && std::strcmp(argv[2], "instructions") == 0;
  const hbbp_event event = is_of_instructions ? HBBP_EVENT_INSTRUCTIONS : HBBP_EVENT_TASK_CLOCK;
  const double ticks_per_ns = TicksPerNs();
  std::array<Measured, kPeriods.size()> measured;
  for (int round = 0; round < rounds; ++round) {
    std::array<Window, kPeriods.size()> windows;
    for (size_t i = 0; i < windows.size(); ++i) {
      // The order rotates from round to round.
      const size_t k = (i + static_cast<size_t>(round)) % windows.size();
      if (!Run(event, kPeriods[k], ticks_per_ns, &windows[k])) return 1;
    }
    for (size_t k = 0; k < windows.size(); ++k) {
      measured[k].extra_ns.push_back(static_cast<double>(windows[k].cpu_ns) -
                                     static_cast<double>(windows[0].cpu_ns));
      measured[k].samples.push_back(windows[k].samples);
      measured[k].standstills.insert(measured[k].standstills.end(), windows[k].standstills.begin(),
                                     windows[k].standstills.end());
    }
  }
  std::printf("   period  samples  extra CPU us  standstills a window  median us\n");
  Line line;
  for (size_t k = 0; k < kPeriods.size(); ++k) {
    const double samples = Median(measured[k].samples), extra_ns = Median(measured[k].extra_ns);
    // Without a session there is no cost of the session itself either, so it is left out.
    if (kPeriods[k] != 0) line.Add(samples, extra_ns);
    std::printf("%9.0f %8.0f %13.1f %21.1f %10.2f\n", static_cast<double>(kPeriods[k]), samples,
                extra_ns / 1e3, static_cast<double>(measured[k].standstills.size()) / rounds,
                Median(measured[k].standstills) / ticks_per_ns / 1e3);
  }
  std::printf("%.2f us of CPU time a sample\n", line.Slope() / 1e3);
  return 0;
}
