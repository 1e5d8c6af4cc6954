// Tests Breakpoint with real debug registers and signals: hits, moving, threads, descriptors of the
// program and their limit, and errors. TrapHandler counts the hits while it exists. StatusOfChild()
// runs a test in a child process, where UseSmallTable() leaves the program few descriptors.
#include "trace/breakpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "perf/breakpoint_check.h"
#include "support/catch.h"
#include "trace/signal_data.h"

namespace hbbp::trace {
namespace {

[[gnu::noinline]] int First(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}
[[gnu::noinline]] int Second(int x) {
  asm volatile("" : "+r"(x));
  return x + 2;
}

uint64_t AddressOf(int (*function)(int)) { return reinterpret_cast<uint64_t>(function); }

std::atomic<int> hits;
std::atomic<uint64_t> hit_data, hit_ip;

void OnTrap(int, siginfo_t* info, void* raw_context) {
  ++hits;
  hit_data = SignalDataOf(*info);
  hit_ip = static_cast<uint64_t>(static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs[REG_RIP]);
}

class TrapHandler {
 public:
  TrapHandler() {
    hits = 0;
    struct sigaction action = {};
    action.sa_sigaction = &OnTrap;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTRAP, &action, &previous_);
  }
  ~TrapHandler() { ::sigaction(SIGTRAP, &previous_, nullptr); }

 private:
  struct sigaction previous_;
};

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// Some virtual machines have no debug registers.
bool HasBreakpoints() {
  Breakpoint breakpoint = {};
  if (breakpoint.Arm(AddressOf(&First), 0) != 0) return false;
  breakpoint.Disarm();
  return BreakpointsAreHit();
}

TEST_CASE("a breakpoint is hit at its address, with its data, and can be moved and taken away") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  TrapHandler handler;
  const size_t descriptors = OpenDescriptors();
  Breakpoint breakpoint = {};
  CHECK_FALSE(breakpoint.armed());
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0x1234'5678'9abc) == 0);
  CHECK(breakpoint.armed());
  CHECK(breakpoint.address() == AddressOf(&First));
  CHECK(First(1) == 2);
  CHECK(hits == 1);
  CHECK(hit_data == 0x1234'5678'9abc);
  CHECK(hit_ip == AddressOf(&First));
  REQUIRE(breakpoint.Arm(AddressOf(&Second), 7) == 0);
  CHECK(First(1) == 2);
  CHECK(hits == 1);
  CHECK(Second(1) == 3);
  CHECK(hits == 2);
  CHECK(hit_data == 7);
  breakpoint.Disarm();
  CHECK_FALSE(breakpoint.armed());
  CHECK(Second(1) == 3);
  CHECK(hits == 2);
  CHECK(OpenDescriptors() == descriptors);
}

TEST_CASE("only the thread that armed it is stopped") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  TrapHandler handler;
  Breakpoint breakpoint = {};
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0) == 0);
  std::thread([] { First(1); }).join();
  CHECK(hits == 0);
  First(1);
  CHECK(hits == 1);
  breakpoint.Disarm();
}

// Returns -1 if there is none.
int NumberOfBreakpoint() {
  int number = -1;
  DIR* directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    char target[64] = {};
    if (::readlinkat(::dirfd(directory), entry->d_name, target, sizeof(target) - 1) <= 0) continue;
    if (std::strcmp(target, "anon_inode:[perf_event]") == 0) number = std::atoi(entry->d_name);
  }
  ::closedir(directory);
  return number;
}

rlimit LimitOfDescriptors() {
  rlimit limit;
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return limit;
}

// Runs in a child, whose exit status says what differed.
int StatusOfChild(int (*body)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

constexpr int kNobody = 65534;
constexpr rlim_t kSmallTable = 8;

bool HasAllNumbers(int first, int limit) {
  bool has_all = true;
  for (int number = first; number < limit; ++number) {
    has_all = has_all && ::open("/dev/null", O_RDONLY | O_CLOEXEC) == number;
  }
  has_all = has_all && ::open("/dev/null", O_RDONLY | O_CLOEXEC) == -1 && errno == EMFILE;
  for (int number = first; number < limit; ++number) ::close(number);
  return has_all;
}

int UseSmallTable(rlim_t hard_limit) {
  constexpr int kFirst = 3;
  ::syscall(SYS_close_range, kFirst, ~0u, 0);
  const rlimit limit = {kSmallTable, hard_limit};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  if (::geteuid() == 0 && hard_limit == kSmallTable && ::setuid(kNobody) != 0) return 2;
  Breakpoint breakpoint = {};
  const int error_number = breakpoint.Arm(AddressOf(&First), 0);
  const bool is_expected = hard_limit > kSmallTable ? error_number == 0 : error_number == EMFILE;
  if (!is_expected || breakpoint.armed() != (error_number == 0)) return 3;
  if (!HasAllNumbers(kFirst, kSmallTable)) return 4;
  breakpoint.Disarm();
  rlimit after;
  if (::getrlimit(RLIMIT_NOFILE, &after) != 0) return 5;
  return after.rlim_cur == limit.rlim_cur && after.rlim_max == limit.rlim_max ? 0 : 6;
}

TEST_CASE("the program has all its descriptors, and its limit of them, while one is armed") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  CHECK(StatusOfChild([] { return UseSmallTable(4096); }) == 0);
}

TEST_CASE("there is no breakpoint where the program may need every descriptor") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  CHECK(StatusOfChild([] { return UseSmallTable(kSmallTable); }) == 0);
}

TEST_CASE("threads that arm breakpoints at the same time leave the limit as it was") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  const rlimit before = LimitOfDescriptors();
  const rlimit small = {512, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &small) == 0);
  std::atomic<int> armed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&armed] {
      for (int round = 0; round < 2000; ++round) {
        Breakpoint breakpoint = {};
        if (breakpoint.Arm(AddressOf(&Second), 0) == 0) ++armed;
        breakpoint.Disarm();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(armed > 0);
  CHECK(LimitOfDescriptors().rlim_cur == small.rlim_cur);
  CHECK(LimitOfDescriptors().rlim_max == small.rlim_max);
  CHECK(NumberOfBreakpoint() == -1);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("a program that closes the descriptor and takes its number keeps its own file") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  TrapHandler handler;
  const rlimit before = LimitOfDescriptors();
  constexpr rlim_t kLarge = 8192;
  const rlimit large = {kLarge, std::max(kLarge, before.rlim_max)};
  if (::setrlimit(RLIMIT_NOFILE, &large) != 0) HBBP_SKIP("no larger table of descriptors");
  Breakpoint breakpoint = {};
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0) == 0);
  const int number = NumberOfBreakpoint();
  REQUIRE(number > 1000);
  REQUIRE(::close(number) == 0);
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(::dup2(file, number) == number);
  breakpoint.Disarm();
  CHECK(::fcntl(number, F_GETFD) >= 0);
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0) == 0);
  REQUIRE(NumberOfBreakpoint() == number + 1);
  ::close(number + 1);
  REQUIRE(::dup2(file, number + 1) == number + 1);
  REQUIRE(breakpoint.Arm(AddressOf(&Second), 0) == 0);
  Second(1);
  CHECK(hits == 1);
  breakpoint.Disarm();
  CHECK(::fcntl(number, F_GETFD) >= 0);
  CHECK(::fcntl(number + 1, F_GETFD) >= 0);
  for (int fd : {file, number, number + 1}) ::close(fd);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("when all debug registers are taken it says so") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  std::vector<Breakpoint> taken;
  int error_number = 0;
  while (error_number == 0 && taken.size() < 16) {
    Breakpoint breakpoint = {};
    error_number = breakpoint.Arm(AddressOf(&Second) + taken.size(), 0);
    if (error_number == 0) taken.push_back(breakpoint);
  }
  CHECK(error_number == ENOSPC);
  CHECK(taken.size() == 4);
  for (Breakpoint& breakpoint : taken) breakpoint.Disarm();
}

TEST_CASE("kernel addresses are refused") {
  Breakpoint breakpoint = {};
  CHECK(breakpoint.Arm(0xffff'ffff'8000'0000, 0) != 0);
  CHECK_FALSE(breakpoint.armed());
}

}  // namespace
}  // namespace hbbp::trace
