// Sessions that sample this process.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/perf_backend.h"
#include "backends/swbt.h"
#include "base/clock.h"
#include "collect/module_capture.h"
#include "profile/profile_file.h"
#include "session/session.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/cpu_work.h"
#include "support/event_builders.h"
#include "support/heap_use.h"
#include "support/loaded_library.h"
#include "support/own_process.h"
#include "support/sanitizer.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"

namespace hbbp {
namespace {

constexpr uint64_t kMs = 1'000'000;

SessionSettings Settings(uint64_t period_ns = kMs / 2) {
  SessionSettings settings;
  settings.backend.event = EventKind::kTaskClock;
  settings.backend.period = period_ns;
  return settings;
}

std::unique_ptr<Session> MakeSession(const SessionSettings& settings = Settings()) {
  return std::make_unique<Session>(std::make_unique<PerfBackend>(SourceKind::kEbs), settings);
}

uint64_t SamplesOfThread(const ProfileData& data, pid_t tid) {
  uint64_t samples = 0;
  for (const IpCount& count : data.counts) {
    if (data.threads[count.thread].tid == static_cast<uint32_t>(tid)) samples += count.samples;
  }
  return samples;
}

uint64_t SamplesInModule(const ProfileData& data, const std::string& path) {
  uint64_t samples = 0;
  for (const IpCount& count : data.counts) {
    if (data.modules[count.module].path == path) samples += count.samples;
  }
  return samples;
}

#define HBBP_START_OR_SKIP(session)                       \
  do {                                                    \
    const Status start_status = (session).Start();        \
    if (start_status.code() == StatusCode::kPermission) { \
      HBBP_SKIP(start_status.message());                  \
    }                                                     \
    INFO(start_status.message());                         \
    REQUIRE(start_status.ok());                           \
  } while (false)

TEST_CASE("a session that is started again and again takes no more memory") {
  if (HeapBytes() == 0) HBBP_SKIP("this allocator does not say what is in use");
  constexpr int kRounds = 100;
  constexpr int64_t kMaxGrowth = kRounds * 512;
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  REQUIRE(session->Stop().ok());
  const auto restart = [&session](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      REQUIRE(session->Start().ok());
      REQUIRE(session->Stop().ok());
    }
    return HeapBytes();
  };
  const int64_t before = restart(kRounds);
  const uint64_t counted_before = session->Info().memory_bytes;
  CHECK(restart(kRounds) - before < kMaxGrowth);
  CHECK(session->Info().memory_bytes < counted_before + kMaxGrowth);
}

// Returns how often threads of that name have slept.
uint64_t Sleeps(const std::string& name) {
  uint64_t sleeps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    std::getline(status, line);
    if (line != "Name:\t" + name) continue;
    while (std::getline(status, line)) {
      constexpr std::string_view kField = "voluntary_ctxt_switches:";
      if (line.starts_with(kField)) sleeps += std::stoull(line.substr(kField.size()));
    }
  }
  return sleeps;
}

TEST_CASE("the worker of a process that does nothing rarely wakes up") {
  const bool traces_branches = GENERATE(false, true);
  CAPTURE(traces_branches);
  std::unique_ptr<Backend> backend;
  if (traces_branches) {
    backend = std::make_unique<SwbtBackend>();
  } else {
    backend = std::make_unique<PerfBackend>(SourceKind::kEbs);
  }
  Session session(std::move(backend), Settings(20 * kMs));
  HBBP_START_OR_SKIP(session);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const uint64_t before = Sleeps("hbbp-worker");
  REQUIRE(before > 0);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  CHECK(Sleeps("hbbp-worker") - before <= (traces_branches ? 14 : 24));
}

TEST_CASE("a session takes its start time from the clocks of its recording") {
  SessionSettings settings = Settings();
  settings.realtime_offset_ns = 1'000'000'000'000'000'000;
  const auto session = MakeSession(settings);
  const uint64_t before_ns = ClockNs(CLOCK_MONOTONIC);
  HBBP_START_OR_SKIP(*session);
  const uint64_t after_ns = ClockNs(CLOCK_MONOTONIC);
  const uint64_t start_ns = session->Snapshot().start_time_ns - settings.realtime_offset_ns;
  CHECK(start_ns >= before_ns);
  CHECK(start_ns <= after_ns);
}

TEST_CASE("a program's own loop is found as its hottest block") {
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  Spin(100 * kMs);
  REQUIRE(session->Stop().ok());
  const Analysis profile = AnalyzeOrFail(session->Snapshot());
  const BlockRecord* hottest = nullptr;
  for (const BlockRecord& block : profile.blocks()) {
    if (hottest == nullptr || block.samples > hottest->samples) hottest = &block;
  }
  REQUIRE(hottest != nullptr);
  CHECK(profile.functions()[hottest->function].name.find("SpinABit") != std::string::npos);
  CHECK(profile.modules().CodeStateOf(hottest->module) == CodeState::kFile);
}

TEST_CASE("a snapshot can be taken from another thread while the session runs") {
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  std::atomic<bool> is_over{false};
  int shrunk = 0;
  std::thread observer([&] {
    uint64_t last = 0;
    while (!is_over) {
      uint64_t samples = 0;
      for (const IpCount& count : session->Snapshot().counts) samples += count.samples;
      shrunk += samples < last;
      last = samples;
    }
  });
  Spin(100 * kMs);
  is_over = true;
  observer.join();
  CHECK(session->Info().running);
  CHECK(shrunk == 0);
  CHECK(SamplesOfThread(session->Snapshot(), ::gettid()) > 20);
}

// Burns the CPU of the worker that drains it.
class BusyBackend : public Backend {
 public:
  const char* name() const override { return "busy"; }
  Status Start(const BackendConfig&, pid_t, BackendChoice*) override { return OkStatus(); }
  void Drain(EventSink*) override { Spin(5 * kMs); }
  void Disable() override {}
  void Close() override {}
  Status SetPeriodFactor(double, EventSink*) override { return OkStatus(); }
  uint64_t SamplingNs() const override { return 0; }
  uint64_t BufferBytes() const override { return 0; }
  void ResetInChild() override {}
  int DrainIntervalMs() const override { return 1; }
};

TEST_CASE("two sessions run at once, and neither counts a worker of the other") {
  const auto first = MakeSession();
  HBBP_START_OR_SKIP(*first);
  Session busy(std::make_unique<BusyBackend>(), {});
  REQUIRE(busy.Start().ok());
  const auto second = MakeSession();
  REQUIRE(second->Start().ok());
  Spin(100 * kMs);
  for (Session* session : {first.get(), second.get()}) {
    REQUIRE(session->Stop().ok());
    const ProfileData data = session->Snapshot();
    CHECK(SamplesOfThread(data, ::gettid()) > 20);
    for (const ThreadRecord& thread : data.threads) CHECK(thread.name != "hbbp-worker");
  }
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

TEST_CASE("starting and stopping many times leaves nothing behind") {
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  REQUIRE(session->Stop().ok());
  const size_t fds = OpenFds();
  const size_t threads = ThreadsNow();
  uint64_t resident = 0;
  int failures = 0;
  for (int i = 0; i < 200; ++i) {
    failures += !session->Start().ok();
    SpinABit();
    failures += !session->Stop().ok();
    if (i == 50) resident = ResidentBytes();
  }
  CHECK(failures == 0);
  // Modules with samples stay pinned: a few descriptors that do not grow with the number of runs.
  CHECK(OpenFds() <= fds + 8);
  CHECK(HasAtMostThreads(threads));
  CHECK(MappedRings() == 0);
  // A sanitizer keeps what was freed.
  if (!kHasSanitizer) CHECK(ResidentBytes() < resident + (4u << 20));
}

TEST_CASE("a destroyed session leaves nothing behind, even if it ran") {
  const size_t fds = OpenFds();
  {
    const auto session = MakeSession();
    HBBP_START_OR_SKIP(*session);
    Spin(10 * kMs);
  }
  CHECK(OpenFds() == fds);
  CHECK(MappedRings() == 0);
}

TEST_CASE("parent and child are sampled each by itself after a fork") {
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  Spin(20 * kMs);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    if (session->Info().running || session->Info().samples != 0) ::_exit(1);
    Spin(20 * kMs);
    if (!session->Snapshot().counts.empty()) ::_exit(2);
    // It cannot start threads in the child of a process with threads.
    if (kHasThreadSanitizer) ::_exit(0);
    if (!session->Start().ok()) ::_exit(3);
    Spin(50 * kMs);
    if (!session->Stop().ok()) ::_exit(4);
    const ProfileData data = session->Snapshot();
    for (const ThreadRecord& thread : data.threads) {
      if (thread.pid != static_cast<uint32_t>(::getpid())) ::_exit(5);
    }
    const uint64_t samples = SamplesOfThread(data, ::gettid());
    ::_exit(samples > 10 && samples < 1000 ? 0 : 6);
  }
  Spin(50 * kMs);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  REQUIRE(session->Stop().ok());
  const ProfileData data = session->Snapshot();
  for (const ThreadRecord& thread : data.threads) {
    CHECK(thread.pid == static_cast<uint32_t>(::getpid()));
  }
  CHECK(SamplesOfThread(data, ::gettid()) > 70);
}

using SpinFunction = void(uint64_t);

void SpinInLibrary(const LoadedLibrary& library, uint64_t cpu_ns) {
  SpinFunction* const spin = library.As<SpinFunction>("tiny_spin");
  const uint64_t begin = ThreadCpuNs();
  while (ThreadCpuNs() - begin < cpu_ns) spin(1'000'000);
}

void CheckTinySpin(const ProfileData& data, const std::string& path) {
  const Analysis profile = AnalyzeOrFail(data);
  uint64_t in_loop = 0;
  for (const BlockRecord& block : profile.blocks()) {
    if (data.modules[block.module].path != path) continue;
    CHECK(profile.functions()[block.function].name == "tiny_spin");
    if (block.block.instruction_count == 2) in_loop += block.samples;
  }
  CHECK(in_loop > 20);
  CHECK(profile.UnexplainedOfSource(0) <= profile.totals().of_source[0] / 20);
}

TEST_CASE("a library that was loaded and unloaded during the session keeps its blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  LoadedLibrary library(path);
  REQUIRE(library.ok());
  SpinInLibrary(library, 50 * kMs);
  library.Close();
  REQUIRE(session->Stop().ok());
  CheckTinySpin(session->Snapshot(), path);
}

TEST_CASE("so does one that is loaded soon after the start of a session by timers") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  SharedStart shared;
  shared.prefers_timers = true;
  SessionSettings settings = Settings();
  settings.backend.period = 0;
  settings.backend.event = EventKind::kAuto;
  settings.backend.shared_start = &shared;
  const auto session = std::make_unique<Session>(std::make_unique<SwbtBackend>(), settings);
  HBBP_START_OR_SKIP(*session);
  LoadedLibrary library(path);
  REQUIRE(library.ok());
  SpinInLibrary(library, 500 * kMs);
  REQUIRE(session->Stop().ok());
  const ProfileData data = session->Snapshot();
  CAPTURE(data.sources.front().trace.method);
  const Analysis profile = AnalyzeOrFail(data);
  double in_loop = 0;
  for (const BlockRecord& block : profile.blocks()) {
    if (data.modules[block.module].path == path) in_loop += block.samples;
  }
  CHECK(in_loop > 5);
}

TEST_CASE(
    "a library that is deleted or replaced while it runs keeps its blocks, also when stored") {
  for (bool replaced : {false, true}) {
    CAPTURE(replaced);
    const TemporaryFolder directory;
    const std::string path = directory.File("lib.so");
    if (!BuildTinyLibrary(path, "old")) HBBP_SKIP("there is no compiler");
    REQUIRE(BuildTinyLibrary(directory.File("new.so"), "new"));
    const auto session = MakeSession();
    HBBP_START_OR_SKIP(*session);
    const LoadedLibrary library(path);
    REQUIRE(library.ok());
    SpinInLibrary(library, 50 * kMs);
    // Its samples are settled, so it was seen while its file was there.
    (void)session->Snapshot();
    if (replaced) {
      std::filesystem::rename(directory.File("new.so"), path);
    } else {
      std::filesystem::remove(path);
    }
    SpinInLibrary(library, 20 * kMs);
    REQUIRE(session->Stop().ok());
    ProfileData data = session->Snapshot();
    CheckTinySpin(data, path);
    for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
    REQUIRE(SaveProfile(data, directory.File("profile")).ok());
    const StatusOr<ProfileData> stored = LoadProfile(directory.File("profile"));
    REQUIRE(stored.ok());
    CheckTinySpin(*stored, path);
  }
}

TEST_CASE("libraries that follow each other at the same address are reported apart") {
  const TemporaryFolder directory;
  std::vector<std::string> paths;
  for (const char* name : {"a.so", "b.so", "c.so"}) {
    paths.push_back(directory.File(name));
    if (!BuildTinyLibrary(paths.back(), name)) HBBP_SKIP("there is no compiler");
  }
  const auto session = MakeSession();
  HBBP_START_OR_SKIP(*session);
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> spent_ns;
  for (const std::string& path : paths) {
    LoadedLibrary library(path);
    REQUIRE(library.ok());
    addresses.push_back(library.AddressOf("tiny_spin"));
    SpinInLibrary(library, (20 + 10 * addresses.size()) * kMs);
  }
  REQUIRE(session->Stop().ok());
  const ProfileData data = session->Snapshot();
  if (addresses[0] != addresses[1] || addresses[1] != addresses[2]) {
    WARN("the loader put the libraries at different addresses");
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    const double expected = static_cast<double>(20 + 10 * (i + 1)) * 2;
    const auto samples = static_cast<double>(SamplesInModule(data, paths[i]));
    CHECK(samples > 0.7 * expected);
    CHECK(samples < 1.3 * expected);
  }
}

}  // namespace
}  // namespace hbbp
