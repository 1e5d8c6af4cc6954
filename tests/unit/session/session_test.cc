// Sessions over a backend that does what the test says.
#include "session/session.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "support/catch.h"
#include "support/cpu_work.h"
#include "support/logged_lines.h"
#include "support/own_process.h"
#include "support/sanitizer.h"

namespace hbbp {
namespace {

// What all backends of a test did.
struct Log {
  std::atomic<int> starts{0};
  std::atomic<int> drains{0};
  std::atomic<int> disables{0};
  std::atomic<int> closes{0};
  std::atomic<int> forgets{0};
  std::atomic<pid_t> excluded{0};
  std::atomic<Wakeup*> drain_request{nullptr};
  std::atomic<int> waits{0};
  std::atomic<bool> signals_blocked{false};
};

struct Plan {
  SourceKind kind = SourceKind::kEbs;
  Status start_status;
  std::function<void()> on_start = [] {};
  std::function<void(EventSink*)> on_drain = [](EventSink*) {};
  int drain_interval_ms = 1;
  int longest_interval_ms = 0;  // 0: the backend has samples without CPU time
  std::function<Status(double)> on_factor = [](double) { return OkStatus(); };
  std::function<uint64_t()> sampling_ns = [] { return uint64_t{0}; };
};

class FakeBackend : public Backend {
 public:
  FakeBackend(Log* log, Plan plan) : log_(log), plan_(std::move(plan)) {}

  const char* name() const override { return "fake"; }
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override {
    ++log_->starts;
    log_->excluded = excluded;
    log_->drain_request = config.drain_request;
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    log_->signals_blocked = true;
    for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF, SIGRTMIN}) {
      if (::sigismember(&blocked, signal) != 1) log_->signals_blocked = false;
    }
    plan_.on_start();
    SourceChoice source;
    source.kind = plan_.kind;
    source.event = EventKind::kTaskClock;
    source.period = config.period;
    source.note = "a note";
    choice->sources = {std::move(source)};
    is_open_ = plan_.start_status.ok();
    return plan_.start_status;
  }
  // One sample of a thread that does not exist, where nothing is mapped.
  void Drain(EventSink* sink) override {
    ++log_->drains;
    if (!is_open_) return;
    IpSample sample;
    sample.tid = 1;
    sample.period = 100;
    sink->OnSample(sample);
    sink->OnLost(0, 2);
    sink->OnThrottled(0);
    plan_.on_drain(sink);
  }
  void Disable() override { ++log_->disables; }
  void Close() override {
    ++log_->closes;
    is_open_ = false;
  }
  Status SetPeriodFactor(double factor, EventSink*) override { return plan_.on_factor(factor); }
  uint64_t SamplingNs() const override { return plan_.sampling_ns(); }
  uint64_t BufferBytes() const override { return 0; }
  void ResetInChild() override {
    ++log_->forgets;
    is_open_ = false;
  }
  int DrainIntervalMs() const override {
    ++log_->waits;
    return plan_.drain_interval_ms;
  }
  int LongestIntervalMs() const override { return plan_.longest_interval_ms; }
  bool SamplesNeedCpuTime() const override { return plan_.longest_interval_ms != 0; }

 private:
  Log* const log_;
  const Plan plan_;
  bool is_open_ = false;
};

class Observer : public SessionObserver {
 public:
  void OnCheckpoint(ProfileData, CheckpointKind kind) override {
    if (kind == CheckpointKind::kLast) ++last_checkpoints;
    ++checkpoints;
  }

  std::atomic<int> checkpoints{0};
  std::atomic<int> last_checkpoints{0};
};

std::unique_ptr<Session> MakeSession(Log* log, Plan plan = {},
                                     const SessionSettings& settings = {}) {
  return std::make_unique<Session>(std::make_unique<FakeBackend>(log, std::move(plan)), settings);
}

std::unique_ptr<Session> MakeObserved(Log* log, Observer* observer, Plan plan = {},
                                      SessionSettings settings = {}) {
  settings.observer = observer;
  return MakeSession(log, std::move(plan), settings);
}

void WaitUntil(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The first thread of a process may bring another with it: that of the thread sanitizer.
size_t ThreadsWithoutSession() {
  std::thread([] {}).join();
  return ThreadsNow();
}

// Runs `body` in a child process and returns its exit status; a child that hangs is killed.
template <typename Body>
int InChild(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("start, stop, and what is wrong at the wrong time") {
  Log log;
  const auto session = MakeSession(&log);
  CHECK(session->Stop().code() == StatusCode::kInvalidState);
  REQUIRE(session->Start().ok());
  CHECK(session->Info().running);
  CHECK(session->Start().code() == StatusCode::kInvalidState);
  CHECK(session->Stop().ok());
  CHECK_FALSE(session->Info().running);
  CHECK(session->Stop().code() == StatusCode::kInvalidState);
  CHECK(log.starts == 1);
  CHECK(log.disables == 1);
  CHECK(log.closes == 1);
}

TEST_CASE("a restarted session goes on counting, as the same source") {
  Log log;
  const auto session = MakeSession(&log);
  REQUIRE(session->Start().ok());
  REQUIRE(session->Stop().ok());
  const SessionInfo first = session->Info();
  CHECK(first.samples > 0);
  CHECK(first.lost == 2 * first.samples);
  CHECK(first.throttled == first.samples);
  REQUIRE(session->Start().ok());
  REQUIRE(session->Stop().ok());
  const SessionInfo second = session->Info();
  CHECK(second.samples > first.samples);
  CHECK(second.duration_ns > first.duration_ns);
  CHECK(session->Info().duration_ns == second.duration_ns);
  const ProfileData data = session->Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].unmapped == second.samples);
  CHECK(data.sources[0].note == "a note");
  CHECK(data.duration_ns == second.duration_ns);
}

TEST_CASE("a snapshot says who was profiled, and since when") {
  Log log;
  const auto session = MakeSession(&log);
  CHECK(session->Snapshot().sources.empty());
  CHECK(session->Snapshot().start_time_ns == 0);
  const auto before = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                            std::chrono::nanoseconds(1));
  REQUIRE(session->Start().ok());
  const ProfileData data = session->Snapshot();
  CHECK(data.pid == static_cast<uint32_t>(::getpid()));
  CHECK(data.start_time_ns >= before);
  CHECK(data.command.find("session_test") != std::string::npos);
  CHECK(data.host.starts_with("Linux "));
  CHECK(data.duration_ns > 0);
}

TEST_CASE("the worker drains as often as the backend asks, and is the thread to be excluded") {
  Log log;
  const auto session = MakeSession(&log);
  REQUIRE(session->Start().ok());
  CHECK(log.excluded != 0);
  CHECK(log.excluded != ::gettid());
  WaitUntil([&log] { return log.drains >= 5; });
  REQUIRE(session->Stop().ok());
  const int drains = log.drains;
  CHECK(session->Info().samples == static_cast<uint64_t>(drains));
  CHECK(log.drains == drains);
}

TEST_CASE("the worker of a program that does nothing wakes as rarely as the backend allows") {
  Log log;
  Plan plan;
  plan.longest_interval_ms = 60'000;
  const auto session = MakeSession(&log, plan);
  REQUIRE(session->Start().ok());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  CHECK(log.waits < 100);
  CHECK(session->Stop().ok());
}

TEST_CASE("a report ends a long wait of the worker, and is followed by a drain, many by few") {
  constexpr auto kEach = std::chrono::milliseconds(1);
  constexpr int kReports = 1000;
  Log log;
  Plan plan;
  plan.drain_interval_ms = 60'000;
  const auto session = MakeSession(&log, plan);
  REQUIRE(session->Start().ok());
  Wakeup* const worker = log.drain_request;
  REQUIRE(worker != nullptr);
  for (int i = 0; i < 30 * kReports && log.drains < 2; ++i, std::this_thread::sleep_for(kEach)) {
    worker->Report();
  }
  CHECK(log.drains >= 2);
  for (int i = 0; i < kReports; ++i, std::this_thread::sleep_for(kEach)) worker->Report();
  CHECK(log.drains < kReports / 2);
  CHECK(session->Stop().ok());
}

TEST_CASE("the worker gets no signal of the program, whose own mask is left alone") {
  Log log;
  sigset_t before, after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  const auto session = MakeSession(&log);
  REQUIRE(session->Start().ok());
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  CHECK(log.signals_blocked);
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    CHECK(::sigismember(&before, signal) == ::sigismember(&after, signal));
  }
}

TEST_CASE("a start that fails leaves the session stopped, and it may be tried again") {
  Log log;
  Plan plan;
  plan.start_status = MakeStatus(StatusCode::kPermission, "refused");
  const auto session = MakeSession(&log, plan);
  const size_t threads = ThreadsWithoutSession();
  for (int i = 1; i <= 2; ++i) {
    const Status status = session->Start();
    CHECK(status.code() == StatusCode::kPermission);
    CHECK(status.message() == "refused");
    CHECK_FALSE(session->Info().running);
    CHECK(session->Stop().code() == StatusCode::kInvalidState);
  }
  WaitUntil([threads] { return ThreadsNow() == threads; });
  CHECK(session->Snapshot().sources.empty());
}

TEST_CASE("a session that runs is stopped when it is destroyed") {
  Log log;
  const size_t threads = ThreadsWithoutSession();
  REQUIRE(MakeSession(&log)->Start().ok());
  CHECK(log.closes == 1);
  WaitUntil([threads] { return ThreadsNow() == threads; });
}

TEST_CASE("a checkpoint that is asked for has been taken when the call returns") {
  Log log;
  Plan plan;
  plan.drain_interval_ms = 10'000;
  Observer observer;
  const auto session = MakeObserved(&log, &observer, plan);
  CHECK_FALSE(session->CheckpointNow(10));
  for (int run = 1; run <= 3; ++run) {
    REQUIRE(session->Start().ok());
    for (int i = 0; i < 3; ++i) {
      const int before = observer.checkpoints;
      CHECK(session->CheckpointNow(20'000));
      CHECK(observer.checkpoints > before);
    }
    REQUIRE(session->Stop().ok());
    CHECK_FALSE(session->CheckpointNow(10));
  }
}

TEST_CASE("many may ask for a checkpoint at once") {
  Log log;
  Plan plan;
  plan.drain_interval_ms = 10'000;
  Observer observer;
  const auto session = MakeObserved(&log, &observer, plan);
  REQUIRE(session->Start().ok());
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const int before = observer.checkpoints;
        served += session->CheckpointNow(60'000) && observer.checkpoints > before;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(served == 8 * 20);
}

TEST_CASE("a checkpoint that comes too late for its caller does not answer the next one") {
  Log log;
  Plan plan;
  std::atomic<bool> may_go_on{false};
  plan.on_start = [&may_go_on] { WaitUntil([&may_go_on] { return may_go_on.load(); }); };
  Observer observer;
  const auto session = MakeObserved(&log, &observer, plan);
  std::thread start([&session] { CHECK(session->Start().ok()); });
  WaitUntil([&log] { return log.starts == 1; });
  CHECK_FALSE(session->CheckpointNow(5));
  may_go_on = true;
  start.join();
  WaitUntil([&observer] { return observer.checkpoints >= 1; });
  const int before = observer.checkpoints;
  CHECK(session->CheckpointNow(20'000));
  CHECK(observer.checkpoints > before);
}

TEST_CASE("without being asked, checkpoints come by themselves") {
  Log log;
  Observer observer;
  const auto session = MakeObserved(&log, &observer);
  REQUIRE(session->Start().ok());
  WaitUntil([&observer] { return observer.checkpoints >= 1; });
  CHECK(session->Stop().ok());
}

TEST_CASE("the first checkpoint can have been taken when the session has started") {
  Log log;
  Plan plan;
  plan.drain_interval_ms = 10'000;
  Observer observer;
  SessionSettings settings;
  settings.has_checkpoint_at_start = true;
  const auto session = MakeObserved(&log, &observer, plan, settings);
  REQUIRE(session->Start().ok());
  CHECK(observer.checkpoints >= 1);
}

TEST_CASE("a checkpoint is the last one if it was asked for") {
  Log log;
  Observer observer;
  const auto session = MakeObserved(&log, &observer);
  REQUIRE(session->Start().ok());
  WaitUntil([&observer] { return observer.checkpoints >= 1; });
  CHECK(observer.last_checkpoints == 0);
  CHECK(session->CheckpointNow(20'000));
  CHECK(observer.last_checkpoints == 1);
}

TEST_CASE("sampling ends by itself at the deadline") {
  Log log;
  SessionSettings settings;
  settings.deadline_ns = 1;
  const auto session = MakeSession(&log, {}, settings);
  REQUIRE(session->Start().ok());
  WaitUntil([&session] { return !session->Info().running; });
  CHECK(log.closes == 1);
  const uint64_t duration = session->Info().duration_ns;
  CHECK(session->Snapshot().duration_ns == duration);
  CHECK(session->Stop().ok());
  CHECK(log.closes == 1);
  CHECK(session->Info().duration_ns == duration);
}

TEST_CASE("all functions may be called at once") {
  Log log;
  Observer observer;
  const auto session = MakeObserved(&log, &observer);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  const auto repeat = [&](auto action) {
    threads.emplace_back([&is_over, action] {
      while (!is_over) action();
    });
  };
  repeat([&] { (void)session->Snapshot(); });
  repeat([&] { (void)session->Info(); });
  repeat([&] { (void)session->CheckpointNow(1); });
  repeat([&] { (void)session->Stop(); });
  int started = 0;
  for (int i = 0; i < 100; ++i) started += session->Start().ok();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  (void)session->Stop();
  CHECK(started > 0);
  CHECK(log.starts == log.closes);
}

TEST_CASE("in a child made by fork the session is stopped and empty, in the parent it goes on") {
  Log log;
  const auto session = MakeSession(&log);
  REQUIRE(session->Start().ok());
  WaitUntil([&session] { return session->Info().samples > 3; });
  const int result = InChild([&] {
    if (log.forgets != 1) return 1;
    if (session->Info().running) return 2;
    if (session->Info().samples != 0 || session->Info().duration_ns != 0) return 3;
    if (!session->Snapshot().sources.empty()) return 4;
    if (session->Stop().code() != StatusCode::kInvalidState) return 5;
    if (session->CheckpointNow(10)) return 6;
    // It cannot start threads in the child of a process with threads.
    if (kHasThreadSanitizer) return 0;
    if (!session->Start().ok()) return 7;
    while (session->Info().samples < 3) ::usleep(1000);
    if (session->Snapshot().pid != static_cast<uint32_t>(::getpid())) return 8;
    if (!session->Stop().ok()) return 9;
    return 0;
  });
  CHECK(result == 0);
  CHECK(log.forgets == 0);
  CHECK(session->Info().running);
  const int drains = log.drains;
  WaitUntil([&] { return log.drains > drains + 3; });
  CHECK(session->Stop().ok());
}

TEST_CASE("a child made while another thread starts or stops a session can go on") {
  if (kHasSanitizer) HBBP_SKIP("a sanitizer's own locks do not survive the fork of a busy process");
  Log log;
  std::atomic<bool> is_over{false};
  const auto session = MakeSession(&log);
  std::thread starter([&] {
    while (!is_over) {
      (void)session->Start();
      (void)session->Stop();
    }
  });
  int failures = 0;
  for (int i = 0; i < 50; ++i) {
    failures += InChild([&] {
                  if (!session->Start().ok()) return 1;
                  return session->Stop().ok() ? 0 : 2;
                }) != 0;
  }
  is_over = true;
  starter.join();
  CHECK(failures == 0);
}

TEST_CASE("a child made while another thread waits for its start can destroy the session") {
  if (kHasSanitizer) HBBP_SKIP("a sanitizer's own locks do not survive the fork of a busy process");
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    Log log;
    std::atomic<bool> may_go_on{false};
    Plan plan;
    plan.on_start = [&may_go_on] { WaitUntil([&may_go_on] { return may_go_on.load(); }); };
    auto session = MakeSession(&log, plan);
    std::thread starter([&session] { (void)session->Start(); });
    WaitUntil([&log] { return log.starts == 1; });
    std::thread releaser([&may_go_on] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      may_go_on = true;
    });
    failures += InChild([&session] {
                  session.reset();
                  return 0;
                }) != 0;
    releaser.join();
    starter.join();
  }
  CHECK(failures == 0);
}

uint64_t Now() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Bursts of 5 branches around a loop that is somewhere in this program.
void DeliverBurst(EventSink* sink, uint32_t tid) {
  const auto code = reinterpret_cast<uint64_t>(&DeliverBurst);
  const std::vector<TakenBranch> branches(5, {{code + 20}, {code + 10}});
  BurstSample burst;
  burst.pid = static_cast<uint32_t>(::getpid());
  burst.tid = tid;
  burst.time_ns = Now();
  burst.period = 1000;
  burst.branches = branches;
  sink->OnBurst(burst);
}

TEST_CASE("bursts get into the snapshots, counted from every run") {
  Log log;
  std::atomic<uint64_t> bursts{0};
  std::atomic<uint64_t> bursts_of_run{0};
  Plan plan;
  plan.kind = SourceKind::kSwbt;
  plan.on_start = [&] { bursts_of_run = 0; };
  plan.on_drain = [&](EventSink* sink) {
    DeliverBurst(sink, 77);
    DeliverBurst(sink, static_cast<uint32_t>(log.excluded));
    ++bursts;
    TraceStatistics statistics;
    statistics.mode = "lookahead";
    statistics.method = "a method";
    statistics.bursts = ++bursts_of_run;
    sink->OnTraceStatistics(0, statistics);
  };
  auto session =
      std::make_unique<Session>(std::make_unique<FakeBackend>(&log, plan), SessionSettings());
  for (int run = 0; run < 2; ++run) {
    REQUIRE(session->Start().ok());
    WaitUntil([&] { return bursts_of_run >= 3; });
    const ProfileData running = session->Snapshot();
    REQUIRE(running.sources.size() == 1);
    CHECK(running.sources[0].trace.bursts > 0);
    REQUIRE(session->Stop().ok());
  }
  const ProfileData data = session->Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].kind == SourceKind::kSwbt);
  CHECK(data.sources[0].trace.mode == "lookahead");
  CHECK(data.sources[0].trace.bursts == bursts);
  CHECK(data.sources[0].trace.counters ==
        std::vector<std::pair<std::string, uint64_t>>{{"worker-bursts", bursts}});
  const auto code = reinterpret_cast<uint64_t>(&DeliverBurst);
  REQUIRE(data.branches.size() == 2);
  CHECK(data.branches[0].number == 4 * bursts);
  CHECK(data.branches[0].weights == 1000.0 * static_cast<double>(bursts));
  CHECK(data.branches[1].number == bursts);
  CHECK_FALSE(data.branches[1].HasStream());
  const ModuleRecord& module = data.modules[data.branches[0].to_module];
  CHECK(module.pinned_file != nullptr);
  CHECK(data.branches[0].to % 4096 == (code + 10) % 4096);
}

TEST_CASE("periods become longer while sampling costs more than its budget") {
  Log log;
  LoggedLines lines;
  std::atomic<double> factor{1};
  const uint64_t begin_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  Plan plan;
  plan.on_factor = [&factor](double longer) {
    factor = longer;
    return OkStatus();
  };
  // A tenth of the CPU time: what periods are is not a matter.
  plan.sampling_ns = [begin_ns] { return (ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 10; };
  SessionSettings settings;
  settings.backend.max_overhead = 0.01;
  settings.log = lines.settings();
  const auto session = MakeSession(&log, plan, settings);
  REQUIRE(session->Start().ok());
  WaitUntil([&] {
    Spin(1'000'000);
    return factor > 10;
  });
  REQUIRE(session->Stop().ok());
  const SessionInfo info = session->Info();
  CHECK(info.period_factor == factor);
  CHECK(info.period_changes >= 1);
  CHECK(info.overhead_ns > info.cpu_ns / 20);
  CHECK(lines.Count("times those asked for, for a max_overhead of 0.01") ==
        static_cast<int>(info.period_changes));
  CHECK(session->Snapshot().sources.at(0).note.find("to keep to the budget") != std::string::npos);
  CHECK(lines.Count("samples were lost") >= 1);
  CHECK(lines.Count("held sampling back") >= 1);
  CHECK(lines.Count("a note") == 1);
  CHECK(lines.Count("stopped after") == 1);
}

TEST_CASE("where periods cannot be changed, that is logged once and sampling goes on") {
  Log log;
  LoggedLines lines;
  std::atomic<int> asked{0};
  const uint64_t begin_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  Plan plan;
  plan.on_factor = [&asked](double) {
    ++asked;
    return MakeStatus(StatusCode::kBusy, "no descriptors");
  };
  plan.sampling_ns = [begin_ns] { return ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin_ns; };
  SessionSettings settings;
  settings.backend.max_overhead = 0.01;
  settings.log = lines.settings();
  const auto session = MakeSession(&log, plan, settings);
  REQUIRE(session->Start().ok());
  WaitUntil([&] {
    Spin(1'000'000);
    return asked > 0;
  });
  Spin(200'000'000);
  REQUIRE(session->Stop().ok());
  CHECK(asked == 1);
  CHECK(lines.Count("periods cannot be changed: no descriptors") == 1);
  CHECK(session->Info().period_factor == 1);
  CHECK(session->Info().samples > 0);
}

TEST_CASE("a snapshot that is cancelled leaves the session as it was") {
  Log log;
  const auto session = MakeSession(&log, Plan());
  REQUIRE(session->Start().ok());
  CancelFlag flag;
  flag.Set(true);
  Work work;
  work.cancel = &flag;
  CHECK_THROWS_AS(session->Snapshot(work), WorkCancelled);
  flag.Set(false);
  std::vector<uint64_t> steps;
  work.progress = [&](uint64_t done, uint64_t all) {
    steps.push_back(done);
    CHECK(done <= all);
  };
  const uint64_t samples = session->Info().samples;
  (void)session->Snapshot(work);
  CHECK(steps.size() >= 3);
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  // Called off after each of its steps.
  for (size_t step = 0; step < steps.size(); ++step) {
    size_t calls = 0;
    flag.Set(false);
    work.progress = [&](uint64_t, uint64_t) { flag.Set(++calls > step); };
    CHECK_THROWS_AS(session->Snapshot(work), WorkCancelled);
  }
  CHECK(session->Info().samples >= samples);
  REQUIRE(session->Stop().ok());
  CHECK(session->Snapshot().sources.size() == 1);
}

TEST_CASE("its log neither starts nor stops a session") {
  Log log;
  Session* itself = nullptr;
  std::atomic<int> logged{0}, refused{0};
  SessionSettings settings;
  settings.log = {[&](LogLevel, const char*) {
                    logged += 2;
                    for (const Status& status : {itself->Start(), itself->Stop()}) {
                      const bool names_log = status.message().find("log") != std::string::npos;
                      if (status.code() == StatusCode::kInvalidState && names_log) ++refused;
                    }
                  },
                  LogLevel::kInfo};
  const auto session = MakeSession(&log, {}, settings);
  itself = session.get();
  REQUIRE(session->Start().ok());
  WaitUntil([&] { return logged > 6; });  // also of what is lost, by the worker
  REQUIRE(session->Stop().ok());
  CHECK(refused == logged);
  CHECK(log.starts == 1);
  CHECK_FALSE(session->IsInLog());
}

// As the lock of an interpreter: the worker waits for it in the log, and who has it forks.
TEST_CASE("a fork does not wait for the log of a worker that is being stopped") {
  if (kHasSanitizer) HBBP_SKIP("a sanitizer's own locks do not survive the fork of a busy process");
  Log log;
  std::atomic<bool> is_started{false}, is_in_log{false}, has_forked{false}, gave_up{false};
  SessionSettings settings;
  settings.log = {[&](LogLevel, const char*) {
                    if (!is_started) return;
                    is_in_log = true;
                    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
                    while (!has_forked && !gave_up) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                      gave_up = ClockNs(CLOCK_MONOTONIC) - begin_ns > 10'000'000'000;
                    }
                  },
                  LogLevel::kInfo};
  const auto session = MakeSession(&log, {}, settings);
  REQUIRE(session->Start().ok());
  is_started = true;
  WaitUntil([&] { return is_in_log.load(); });
  Status stopped;
  std::thread stopper([&] { stopped = session->Stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int result = InChild([&] {
    has_forked = true;
    if (session->Info().running) return 1;
    if (!session->Start().ok()) return 2;
    return session->Stop().ok() ? 0 : 3;
  });
  has_forked = true;
  stopper.join();
  CHECK_FALSE(gave_up);
  CHECK(result == 0);
  CHECK(stopped.ok());
  CHECK(session->Stop().code() == StatusCode::kInvalidState);
}

TEST_CASE("who stops a session that is being stopped, or starts it, comes after that") {
  Log log;
  std::atomic<bool> is_started{false}, is_in_log{false}, may_go_on{false};
  SessionSettings settings;
  settings.log = {[&](LogLevel, const char*) {
                    if (!is_started) return;
                    is_in_log = true;
                    WaitUntil([&] { return may_go_on.load(); });
                  },
                  LogLevel::kInfo};
  const auto session = MakeSession(&log, {}, settings);
  REQUIRE(session->Start().ok());
  is_started = true;
  WaitUntil([&] { return is_in_log.load(); });
  std::atomic<int> stopped{0}, wrong{0}, over{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Status status = session->Stop();
      (status.ok() ? stopped : wrong) += 1;
      ++over;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(over == 0);
  may_go_on = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(stopped == 1);
  CHECK(wrong == 3);
  CHECK(session->Start().ok());
}

TEST_CASE("the CPU time of a process that has ended is kept") {
  Log log;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) Spin(1'000'000);
  }
  SessionSettings settings;
  settings.backend.pid = child;
  const auto session = MakeSession(&log, {}, settings);
  REQUIRE(session->Start().ok());
  uint64_t used_ns = 0;
  WaitUntil([&] {
    used_ns = session->Info().cpu_ns;
    return used_ns > 20'000'000;
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(session->Info().cpu_ns >= used_ns);
  REQUIRE(session->Stop().ok());
  CHECK(session->Info().cpu_ns >= used_ns);
}

// Memory of a host whose lock is not taken for a fork.
struct LockedHeap {
  std::mutex mutex;

  Allocator allocator() {
    return {[](size_t size, size_t alignment, void* heap) -> void* {
              std::lock_guard lock(static_cast<LockedHeap*>(heap)->mutex);
              return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
            },
            [](void* memory, size_t, size_t, void* heap) {
              std::lock_guard lock(static_cast<LockedHeap*>(heap)->mutex);
              std::free(memory);
            },
            this};
  }
};

TEST_CASE("a fork does not wait for the allocator of the host") {
  Log log;
  LockedHeap heap;
  SessionSettings settings;
  settings.allocator = heap.allocator();
  const auto session = MakeSession(&log, {}, settings);
  REQUIRE(session->Start().ok());
  WaitUntil([&session] { return session->Info().samples > 3; });
  REQUIRE(session->Stop().ok());
  std::atomic<bool> is_locked{false}, may_unlock{false};
  std::thread other([&] {
    std::lock_guard lock(heap.mutex);
    is_locked = true;
    WaitUntil([&] { return may_unlock.load(); });
  });
  WaitUntil([&] { return is_locked.load(); });
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = -1;
  pid_t ended = 0;
  for (int i = 0; i < 1000 && ended == 0; ++i) {
    ended = ::waitpid(child, &status, WNOHANG);
    ::usleep(10'000);
  }
  CHECK(ended == child);
  CHECK(status == 0);
  if (ended != child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  may_unlock = true;
  other.join();
  // Where it can be used, the child gives back what the parent had.
  const uint64_t bytes = session->Info().memory_bytes;
  CHECK(InChild([&] {
          const SessionInfo info = session->Info();
          if (info.samples != 0) return 1;
          return info.memory_bytes < bytes ? 0 : 2;
        }) == 0);
}

TEST_CASE("a child made by fork has nothing of its parent's budgets") {
  Log log;
  const uint64_t begin_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  Plan plan;
  plan.sampling_ns = [begin_ns] { return (ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 10; };
  SessionSettings settings;
  settings.backend.max_overhead = 0.01;
  const auto session = MakeSession(&log, plan, settings);
  REQUIRE(session->Start().ok());
  WaitUntil([&] {
    Spin(1'000'000);
    return session->Info().period_changes > 0;
  });
  CHECK(session->Info().recent_overhead > 0);
  CHECK(InChild([&] {
          const SessionInfo info = session->Info();
          if (info.period_changes != 0) return 1;
          if (info.period_factor != 1) return 2;
          if (info.recent_overhead != 0) return 3;
          return info.cpu_ns == 0 && info.overhead_ns == 0 ? 0 : 4;
        }) == 0);
}

}  // namespace
}  // namespace hbbp
