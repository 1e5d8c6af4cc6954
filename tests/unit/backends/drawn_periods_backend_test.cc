// Tests DrawnPeriodsBackend with the real kernel and its task clock. Collected keeps the samples of
// a run, Worker (cpu_worker.h) is a thread that uses as much CPU time as a test asks for, and Child
// a process that works before it executes a program.
#include "backends/drawn_periods_backend.h"

#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/wakeup.h"
#include "support/catch.h"
#include "support/cpu_work.h"
#include "support/cpu_worker.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct Collected : EventSink {
  void OnSample(const IpSample& sample) override { samples.push_back(sample); }

  uint64_t SamplesOf(pid_t tid) const {
    return static_cast<uint64_t>(std::count_if(
        samples.begin(), samples.end(),
        [tid](const IpSample& sample) { return sample.tid == static_cast<uint32_t>(tid); }));
  }
  uint64_t PeriodsOf(pid_t tid) const {
    uint64_t sum = 0;
    for (const IpSample& sample : samples) {
      if (sample.tid == static_cast<uint32_t>(tid)) sum += sample.period;
    }
    return sum;
  }

  std::vector<IpSample> samples;
};

Wakeup worker_wakeup;  // of a worker that waits for samples

BackendConfig ClockConfig(uint64_t period_ns, PeriodMode mode = PeriodMode::kFixed) {
  BackendConfig config;
  config.drain_request = &worker_wakeup;
  config.event = EventKind::kTaskClock;
  config.period_mode = mode;
  config.period = period_ns;
  return config;
}

void Finish(DrawnPeriodsBackend* backend, Collected* collected) {
  backend->Disable();
  backend->Drain(collected);
  backend->Close();
}

#define HBBP_START_OR_SKIP(backend, config, excluded, choice)              \
  do {                                                                     \
    const Status start_status = (backend).Start(config, excluded, choice); \
    if (start_status.code() == StatusCode::kPermission) {                  \
      HBBP_SKIP(start_status.message());                                   \
    }                                                                      \
    INFO(start_status.message());                                          \
    REQUIRE(start_status.ok());                                            \
  } while (false)

timespec In(uint64_t ns) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t deadline_ns = ClockNs(CLOCK_MONOTONIC) + ns;
  return {static_cast<time_t>(deadline_ns / kSecondNs), static_cast<long>(deadline_ns % kSecondNs)};
}

bool LinuxVersionAtLeast(int major, int minor) {
  utsname name;
  int found_major = 0, found_minor = 0;
  if (::uname(&name) != 0) return false;
  if (std::sscanf(name.release, "%d.%d", &found_major, &found_minor) != 2) return false;
  return std::pair(found_major, found_minor) >= std::pair(major, minor);
}

TEST_CASE("random periods are drawn for each sample, or for some twenty where they are many") {
  struct Case {
    uint64_t period;
    bool wakes;
    int drain_ms;
  };
  for (const Case& expected : {Case{10 * kMs, true, 100}, {kMs, true, 100}, {kMs / 10, false, 2}}) {
    DrawnPeriodsBackend backend(SourceKind::kEbs);
    BackendChoice choice;
    HBBP_START_OR_SKIP(backend, ClockConfig(expected.period, PeriodMode::kRandom), 0, &choice);
    CHECK((backend.sample_wait() != nullptr) == expected.wakes);
    CHECK(backend.DrainIntervalMs() == expected.drain_ms);
    backend.Close();
  }
}

// Returns how often a sample came at another distance than the one before it.
double ShareOfChanges(const Collected& collected, pid_t tid) {
  std::vector<uint64_t> intervals;
  uint64_t last_ns = 0;
  for (const IpSample& sample : collected.samples) {
    if (sample.tid != static_cast<uint32_t>(tid)) continue;
    if (last_ns != 0) intervals.push_back(sample.time_ns - last_ns);
    last_ns = sample.time_ns;
  }
  size_t changes = 0;
  for (size_t i = 1; i < intervals.size(); ++i) {
    const uint64_t longer = std::max(intervals[i], intervals[i - 1]);
    changes += longer - std::min(intervals[i], intervals[i - 1]) > kMs / 25;
  }
  return static_cast<double>(changes) / static_cast<double>(std::max<size_t>(intervals.size(), 1));
}

// What samples of two threads show, one of which starts later.
struct Shown {
  double changes_before, changes_later;  // ShareOfChanges
  double seen_before, seen_later;        // of the CPU time
};

Shown DrainAtEachSample(PeriodMode mode, DrawnPeriodsBackend* backend, Worker* before) {
  const pid_t tid_before = before->tid();
  Collected collected;
  Worker later;
  const pid_t tid_later = later.tid();
  // Its own event is opened when the record of its birth is drained.
  backend->Drain(&collected);
  Wakeup wakeup;
  before->Work(400 * kMs);
  later.Work(400 * kMs);
  std::future<std::pair<uint64_t, uint64_t>> ended = std::async(
      std::launch::async, [&] { return std::pair(before->WaitForCpuNs(), later.WaitForCpuNs()); });
  while (ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (mode != PeriodMode::kRandom) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      backend->Drain(&collected);
    } else if (backend->sample_wait()->Wait(In(20 * kMs), &wakeup)) {
      backend->Drain(&collected);
    }
  }
  Finish(backend, &collected);
  const auto [before_ns, later_ns] = ended.get();
  const auto seen = [&](pid_t tid, uint64_t cpu_ns) {
    return static_cast<double>(collected.PeriodsOf(tid)) / static_cast<double>(cpu_ns);
  };
  return {ShareOfChanges(collected, tid_before), ShareOfChanges(collected, tid_later),
          seen(tid_before, before_ns), seen(tid_later, later_ns)};
}

TEST_CASE("who drains at each sample draws a period at each, for threads that start later, too") {
  std::vector<Shown> shown;
  for (const PeriodMode mode : {PeriodMode::kFixed, PeriodMode::kRandom}) {
    Worker before;
    (void)before.tid();
    DrawnPeriodsBackend backend(SourceKind::kEbs);
    BackendChoice choice;
    HBBP_START_OR_SKIP(backend, ClockConfig(2 * kMs, mode), 0, &choice);
    shown.push_back(DrainAtEachSample(mode, &backend, &before));
  }
  const Shown& random = shown[1];
  CHECK(random.seen_before == Approx(1).epsilon(0.15));
  CHECK(random.seen_later == Approx(1).epsilon(0.15));
  // Threads that wait for a CPU change distances as well.
  if (shown[0].changes_before > 0.3) HBBP_SKIP("this machine is too busy to see periods");
  CHECK(random.changes_before > 0.5);
  CHECK(random.changes_later > 0.5);
}

TEST_CASE("threads that are briefer than a period are sampled as often as they last") {
  constexpr uint64_t kPeriod = 2 * kMs;
  DrawnPeriodsBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  Collected collected;
  HBBP_START_OR_SKIP(backend, ClockConfig(kPeriod), 0, &choice);
  uint64_t spent_ns = 0, seen_ns = 0;
  size_t max_samples = 0;
  for (int i = 0; i < 400; ++i) {
    Worker worker;
    const pid_t tid = worker.tid();
    worker.Work(kPeriod * 3 / 4);
    spent_ns += worker.WaitForCpuNs();
    if (i % 10 != 0) continue;
    backend.Drain(&collected);
    max_samples = std::max<size_t>(max_samples, collected.SamplesOf(tid));
  }
  Finish(&backend, &collected);
  for (const IpSample& sample : collected.samples) {
    if (sample.tid != static_cast<uint32_t>(::gettid())) seen_ns += sample.period;
  }
  // Threads that start within the same twentieth of a second have their first sample at one moment.
  CHECK(seen_ns > spent_ns / 4);
  CHECK(seen_ns < spent_ns * 3 / 2);
  CHECK(max_samples <= 1);
}

TEST_CASE("brief threads that live at once keep their first samples when others are drawn") {
  constexpr uint64_t kPeriod = 20 * kMs;
  constexpr size_t kThreads = 30;
  DrawnPeriodsBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  Collected collected;
  HBBP_START_OR_SKIP(backend, ClockConfig(kPeriod), 0, &choice);
  std::vector<std::unique_ptr<Worker>> workers;
  uint64_t spent_ns = 0, seen_ns = 0;
  for (int round = 0; round < 6; ++round) {
    workers.clear();
    for (size_t i = 0; i < kThreads; ++i) workers.push_back(std::make_unique<Worker>());
    for (const auto& worker : workers) {
      (void)worker->tid();
      worker->Work(kPeriod * 3 / 4);
    }
    // Moments are drawn in between, as their records of birth are read.
    for (const auto& worker : workers) {
      spent_ns += worker->WaitForCpuNs();
      backend.Drain(&collected);
    }
  }
  Finish(&backend, &collected);
  for (const IpSample& sample : collected.samples) {
    if (sample.tid != static_cast<uint32_t>(::gettid())) seen_ns += sample.period;
  }
  CHECK(seen_ns < spent_ns * 2);
  // Before Linux 6.12, a draw takes away what others wait for.
  if (LinuxVersionAtLeast(6, 12)) CHECK(seen_ns > spent_ns / 4);
}

// Child executes this.
TEST_CASE("threads that work for a minute", "[.]") {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(std::make_unique<Worker>());
    workers.back()->Work(60'000 * kMs);
  }
}

// A child that works before it executes a program, and says when it does.
class Child {
 public:
  Child() {
    REQUIRE(::pipe(go_) == 0);
    REQUIRE(::pipe(time_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) BecomeProgram();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {go_[0], go_[1], time_[0], time_[1]}) ::close(fd);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // Returns when the program was executed.
  uint64_t Run() {
    uint64_t exec_ns = 0;
    REQUIRE(::write(go_[1], "g", 1) == 1);
    REQUIRE(::read(time_[0], &exec_ns, sizeof(exec_ns)) == sizeof(exec_ns));
    return exec_ns;
  }

  // Waits until it has had so much CPU time more, and drains the backend meanwhile.
  void WaitForCpu(uint64_t cpu_ns, DrawnPeriodsBackend* backend, EventSink* sink) const {
    clockid_t clock;
    REQUIRE(::clock_getcpuclockid(pid_, &clock) == 0);
    const uint64_t end_ns = ClockNs(clock) + cpu_ns;
    while (ClockNs(clock) < end_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      backend->Drain(sink);
    }
  }

 private:
  [[noreturn]] void BecomeProgram() {
    char go;
    const bool may_go = ::read(go_[0], &go, 1) == 1;
    Spin(30 * kMs);
    const uint64_t exec_ns = ClockNs(CLOCK_MONOTONIC);
    const bool was_said = ::write(time_[1], &exec_ns, sizeof(exec_ns)) == sizeof(exec_ns);
    if (may_go && was_said) {
      ::execl("/proc/self/exe", "test", "threads that work for a minute", nullptr);
    }
    ::_exit(127);
  }

  int go_[2], time_[2];
  pid_t pid_ = -1;
};

BackendConfig WaitingFor(const Child& child, PeriodMode mode = PeriodMode::kFixed) {
  BackendConfig config = ClockConfig(kMs, mode);
  config.pid = child.pid();
  config.enable_on_exec = true;
  return config;
}

size_t SamplesBefore(uint64_t time_ns, const Collected& collected) {
  return static_cast<size_t>(
      std::count_if(collected.samples.begin(), collected.samples.end(),
                    [time_ns](const IpSample& sample) { return sample.time_ns < time_ns; }));
}

TEST_CASE("samples begin at an exec if a process waits for that, and else before") {
  for (const bool enable_on_exec : {true, false}) {
    CAPTURE(enable_on_exec);
    Child child;
    BackendConfig config = WaitingFor(child);
    config.enable_on_exec = enable_on_exec;
    DrawnPeriodsBackend backend(SourceKind::kEbs);
    BackendChoice choice;
    Collected collected;
    HBBP_START_OR_SKIP(backend, config, 0, &choice);
    const uint64_t exec_ns = child.Run();
    child.WaitForCpu(50 * kMs, &backend, &collected);
    Finish(&backend, &collected);
    const size_t before = SamplesBefore(exec_ns, collected);
    CHECK((before == 0) == enable_on_exec);
    CHECK(collected.samples.size() > before + 10);
  }
}

TEST_CASE("threads that a program starts after an exec have random periods, too") {
  Child child;
  DrawnPeriodsBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  Collected collected;
  HBBP_START_OR_SKIP(backend, WaitingFor(child, PeriodMode::kRandom), 0, &choice);
  (void)child.Run();
  child.WaitForCpu(300 * kMs, &backend, &collected);
  Finish(&backend, &collected);
  uint64_t periods = 0;
  for (const IpSample& sample : collected.samples) {
    if (sample.tid != static_cast<uint32_t>(child.pid())) periods += sample.period;
  }
  CHECK(periods > 150 * kMs);
}

TEST_CASE("a session that has seen an exec is started again and samples at once") {
  Child child;
  DrawnPeriodsBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  Collected first, second;
  HBBP_START_OR_SKIP(backend, WaitingFor(child), 0, &choice);
  (void)child.Run();
  child.WaitForCpu(30 * kMs, &backend, &first);
  Finish(&backend, &first);
  REQUIRE(backend.Start(WaitingFor(child), 0, &choice).ok());
  child.WaitForCpu(30 * kMs, &backend, &second);
  Finish(&backend, &second);
  CHECK(first.samples.size() > 5);
  CHECK(second.samples.size() > 5);
}

TEST_CASE(
    "periods that are changed before an exec are changed when it comes, and samples begin then") {
  Child child;
  DrawnPeriodsBackend backend(SourceKind::kEbs);
  BackendChoice choice;
  Collected collected;
  HBBP_START_OR_SKIP(backend, WaitingFor(child), 0, &choice);
  REQUIRE(backend.SetPeriodFactor(4, &collected).ok());
  const uint64_t exec_ns = child.Run();
  child.WaitForCpu(100 * kMs, &backend, &collected);
  Collected later;
  child.WaitForCpu(100 * kMs, &backend, &later);
  Finish(&backend, &later);
  CHECK(SamplesBefore(exec_ns, collected) == 0);
  CHECK(later.samples.size() > 10);
  CHECK(later.samples.size() < 50);
  CHECK(std::all_of(later.samples.begin(), later.samples.end(),
                    [](const IpSample& sample) { return sample.period == 4 * kMs; }));
}

}  // namespace
}  // namespace hbbp
