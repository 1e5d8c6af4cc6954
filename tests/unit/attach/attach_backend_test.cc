// Tests branch tracing of a child of this process, and what it refuses.
#include "attach/attach_backend.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>

#include "attach/attach_check.h"
#include "attach/thread_times.h"
#include "base/files.h"
#include "base/linux_constants.h"
#include "support/branch_tracing.h"
#include "support/catch.h"
#include "support/perf_stand_in.h"
#include "unit/attach/child.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000;
constexpr uid_t kOther = 65534;

BackendConfig ConfigOf(const Child& child) {
  BackendConfig config;
  config.pid = child.pid();
  config.period = kPeriodNs;
  return config;
}

TEST_CASE("what bursts from outside do not have is refused") {
  const Child child(&Sleep);
  const auto refusal_of = [&child](auto change) {
    BackendConfig config = ConfigOf(child);
    change(&config);
    AttachBackend backend;
    BackendChoice choice;
    const Status status = backend.Start(config, 0, &choice);
    CHECK_FALSE(status.ok());
    CHECK(choice.sources.empty());
    return status.message();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refusal_of([](BackendConfig* config) { config->include_kernel = true; }),
             Contains("leave the kernel out"));
  CHECK_THAT(refusal_of([](BackendConfig* config) { config->event = EventKind::kInstructions; }),
             Contains("task-clock"));
  CHECK_THAT(refusal_of([](BackendConfig* config) { config->trace_mode = TraceMode::kBreakpoint; }),
             Contains("without breakpoints"));
  CHECK_THAT(refusal_of([](BackendConfig* config) {
               config->recorded_kinds = SetOf(RecordedKind::kAddress);
             }),
             Contains("without accesses to memory"));
  CHECK_THAT(refusal_of([](BackendConfig* config) { config->pid = ::getpid(); }),
             Contains("cannot stop itself"));
}

// Drains until there are so many bursts. Returns whether it took less than 20 seconds.
bool DrainBursts(size_t number, AttachBackend* backend, BranchSink* sink) {
  for (int i = 0; i < 20'000; ++i) {
    if (sink->bursts.size() >= number) return true;
    SleepMs(1);
    backend->Drain(sink);
  }
  return false;
}

TEST_CASE("without perf events, a thread is traced from outside all the same") {
  const Child child(&Spin);
  if (CheckAttach(child.pid()).code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  const PerfStandIn no_events([](const perf_event_attr&) { return std::optional<int>(EACCES); });
  AttachBackend backend;
  BackendChoice choice;
  REQUIRE(backend.Start(ConfigOf(child), 0, &choice).ok());
  REQUIRE(choice.sources.size() == 1);
  CHECK(choice.sources[0].period == kPeriodNs);
  CHECK(no_events.events().empty());
  BranchSink sink;
  REQUIRE(DrainBursts(5, &backend, &sink));
  CHECK(sink.bursts.front().first == static_cast<uint32_t>(child.pid()));
  CHECK(sink.statistics.bursts >= 5);
  CHECK(backend.SamplingNs() > 0);
  // A longer period keeps the worker asleep for longer, up to the time between looks at mappings.
  REQUIRE(backend.SetPeriodFactor(1000, &sink).ok());
  const size_t before = sink.bursts.size();
  REQUIRE(DrainBursts(before + 1, &backend, &sink));
  CHECK(backend.DrainIntervalMs() > 1);
  backend.Disable();
  const size_t at_end = sink.bursts.size();
  for (int i = 0; i < 20; ++i) {
    SleepMs(1);
    backend.Drain(&sink);
  }
  CHECK(sink.bursts.size() == at_end);
  CHECK(child.State() == 'R');
  backend.Close();
}

size_t CountPerfEvents() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry, error);
    if (!error && target == "anon_inode:[perf_event]") ++count;
  }
  return count;
}

// Where interrupts are slow, a wake-up alone takes some 50 microseconds.
bool NapsAreShort() {
  const Child child(&Nap);
  auto times = ThreadTimes::Open(child.pid(), {});
  REQUIRE(times.ok());
  for (int i = 0; times->MeanSliceNs() == 0 && i < 20'000; ++i) {
    SleepMs(1);
    (void)times->TakeTime(child.pid());
  }
  return times->MeanSliceNs() > 0 && times->MeanSliceNs() < 40'000;
}

TEST_CASE("a process that switches often has no perf events for long") {
  if (!NapsAreShort()) HBBP_SKIP("switches take long here");
  bool had_events = true;
  const auto has_events_after = [&had_events](void (*run)(), int rounds) {
    const Child child(run);
    AttachBackend backend;
    BackendChoice choice;
    REQUIRE(backend.Start(ConfigOf(child), 0, &choice).ok());
    had_events = had_events && CountPerfEvents() > 0;
    BranchSink sink;
    for (int i = 0; i < rounds && CountPerfEvents() > 0; ++i) {
      SleepMs(1);
      backend.Drain(&sink);
    }
    const bool has_events = CountPerfEvents() > 0;
    backend.Disable();
    backend.Close();
    return has_events;
  };
  const Child child(&Sleep);
  if (CheckAttach(child.pid()).code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  const bool has_of_spinning = has_events_after(&Spin, 200);
  if (!had_events) HBBP_SKIP("no perf events here");
  CHECK(has_of_spinning);
  CHECK_FALSE(has_events_after(&Nap, 60'000));
}

// A word that the child shares with the test: 1 asks for a mapping of code, 2 says that it is
// there.
volatile int* g_request;

void NapAndMap() {
  for (;;) {
    ::usleep(10);
    if (*g_request != 1) continue;
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    (void)::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    *g_request = 2;
  }
}

TEST_CASE("what a process maps once its perf events have ended is reported") {
  if (!NapsAreShort()) HBBP_SKIP("switches take long here");
  void* const shared =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  g_request = static_cast<int*>(shared);
  const Child child(&NapAndMap);
  if (CheckAttach(child.pid()).code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  struct MappingSink : BranchSink {
    void OnMapping(MappingEvent) override { ++mappings; }
    int mappings = 0;
  } sink;
  AttachBackend backend;
  BackendChoice choice;
  REQUIRE(backend.Start(ConfigOf(child), 0, &choice).ok());
  for (int i = 0; CountPerfEvents() > 0; ++i) {
    REQUIRE(i < 60'000);
    SleepMs(1);
    backend.Drain(&sink);
  }
  const int before = sink.mappings;
  *g_request = 1;
  while (*g_request != 2) SleepMs(1);
  for (int i = 0; i < 3000 && sink.mappings == before; ++i) {
    SleepMs(1);
    backend.Drain(&sink);
  }
  CHECK(sink.mappings > before);
  backend.Disable();
  backend.Close();
}

TEST_CASE("a child that waits for its exec is not stopped until then") {
  using Flag = std::atomic<bool>;
  void* const shared =
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  static Flag* executes;
  executes = new (shared) Flag(false);
  const Child child([] {
    while (!*executes) g_sink = g_sink + 1;
    ::execl("/bin/sh", "sh", "-c", "while :; do :; done", nullptr);
  });
  if (CheckAttach(child.pid()).code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  BackendConfig config = ConfigOf(child);
  config.enable_on_exec = true;
  AttachBackend backend;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  BranchSink sink;
  for (int i = 0; i < 100; ++i) {
    CHECK(backend.DrainIntervalMs() == 1);
    SleepMs(1);
    backend.Drain(&sink);
  }
  CHECK(sink.bursts.empty());
  CHECK(sink.statistics.counters.empty());
  *executes = true;
  CHECK(DrainBursts(2, &backend, &sink));
  // Started again, they begin at once.
  backend.Close();
  sink.bursts.clear();
  REQUIRE(backend.Start(config, 0, &choice).ok());
  CHECK(DrainBursts(1, &backend, &sink));
  backend.Close();
  ::munmap(shared, kPageBytes);
}

TEST_CASE("a child of the tracing process does not trace on") {
  const Child child(&Spin);
  if (CheckAttach(child.pid()).code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  AttachBackend backend;
  BackendChoice choice;
  REQUIRE(backend.Start(ConfigOf(child), 0, &choice).ok());
  BranchSink sink;
  REQUIRE(DrainBursts(1, &backend, &sink));
  backend.ResetInChild();
  const size_t before = sink.bursts.size();
  backend.Disable();
  backend.Close();
  CHECK(sink.bursts.size() == before);
  CHECK(child.State() == 'R');
}

TEST_CASE("a process of another user is refused, with whose it is") {
  if (::geteuid() != 0) HBBP_SKIP("only root can become another user");
  const Child child([] {
    const pid_t parent = ::getppid();
    if (::setresuid(kOther, kOther, kOther) != 0) ::_exit(2);
    const Status refusal = CheckAttach(parent);
    const bool is_named = refusal.message().find("belongs to user 0") != std::string::npos;
    ::_exit(refusal.code() == StatusCode::kPermission && is_named ? 0 : 1);
  });
  CHECK(child.ExitStatus() == 0);
}

char g_yama_level;

// Has /proc/sys/kernel/yama/ptrace_scope be a file of this process.
bool SetYamaLevel(char level) {
  constexpr char kDirectory[] = "/proc/sys/kernel";
  if (::unshare(CLONE_NEWNS) != 0) return false;
  (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (::mount("tmpfs", kDirectory, "tmpfs", 0, "mode=0755") != 0) return false;
  if (::chdir(kDirectory) != 0 || ::mkdir("yama", 0755) != 0) return false;
  const int file = ::open("yama/ptrace_scope", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const char line[] = {level, '\n'};
  return file >= 0 && ::write(file, line, sizeof(line)) == sizeof(line) && ::close(file) == 0;
}

// Tries to attach to a process of the same user that does not permit it. Status 0 if the message is
// the right one, 1 if it is not, 2 if the test cannot be made here.
void CheckYamaMessage() {
  if (!SetYamaLevel(g_yama_level) || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(2);
  const pid_t sleeper = ::fork();
  if (sleeper == 0) {
    (void)::prctl(PR_SET_DUMPABLE, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Sleep();
  }
  // Dumpable processes have files of their user.
  const std::string directory = "/proc/" + std::to_string(sleeper);
  struct stat of_root = {};
  for (int i = 0; i < 5000; ++i) {
    if (::stat(directory.c_str(), &of_root) == 0 && of_root.st_uid != kOther) break;
    ::usleep(1000);
  }
  const Status refusal = CheckAttach(sleeper);
  const std::string& message = refusal.message();
  const std::string expected =
      g_yama_level == '0' ? "it has changed its rights or forbids it"
      : g_yama_level == '3'
          ? "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot"
          : std::string("kernel.yama.ptrace_scope is ") + g_yama_level + ": set it to 0";
  const bool is_right =
      refusal.code() == StatusCode::kPermission && message.find(expected) != std::string::npos;
  ::kill(sleeper, SIGKILL);
  ::_exit(is_right ? 0 : 1);
}

TEST_CASE("a refusal by yama says what to change") {
  if (::geteuid() != 0) HBBP_SKIP("only root can become another user");
  for (const char level : {'0', '1', '2', '3'}) {
    CAPTURE(level);
    g_yama_level = level;
    const Child child(&CheckYamaMessage);
    const int status = child.ExitStatus();
    if (status == 2) HBBP_SKIP("no file of /proc can be replaced here");
    CHECK(status == 0);
  }
}

TEST_CASE("a thread of the kernel is refused") {
  constexpr pid_t kKthreadd = 2;
  const StatusOr<std::string> name = ReadTextFile("/proc/2/comm");
  if (!name.ok() || *name != "kthreadd\n") HBBP_SKIP("no threads of the kernel are visible here");
  const Status refusal = CheckAttach(kKthreadd);
  CHECK(refusal.code() == StatusCode::kUnsupported);
  CHECK_THAT(refusal.message(), Catch::Matchers::Contains("is a thread of the kernel"));
}

}  // namespace
}  // namespace hbbp
