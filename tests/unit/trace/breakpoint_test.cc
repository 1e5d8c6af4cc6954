#include "trace/breakpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "trace/tracer_layout.h"

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
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// Some machines lend no debug registers.
bool HasBreakpoints() {
  Breakpoint breakpoint = {};
  if (breakpoint.Arm(AddressOf(&First), 0, 0) != 0) return false;
  breakpoint.Disarm();
  return true;
}

TEST_CASE("a breakpoint is hit at its address, with its data, and can be moved and taken away") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  TrapHandler handler;
  const size_t descriptors = OpenDescriptors();
  Breakpoint breakpoint = {};
  CHECK_FALSE(breakpoint.armed());
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0x1234'5678'9abc, 0) == 0);
  CHECK(breakpoint.armed());
  CHECK(breakpoint.address() == AddressOf(&First));
  CHECK(First(1) == 2);
  CHECK(hits == 1);
  CHECK(hit_data == 0x1234'5678'9abc);
  CHECK(hit_ip == AddressOf(&First));
  REQUIRE(breakpoint.Arm(AddressOf(&Second), 7, 0) == 0);
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
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0, 0) == 0);
  std::thread([] { First(1); }).join();
  CHECK(hits == 0);
  First(1);
  CHECK(hits == 1);
  breakpoint.Disarm();
}

TEST_CASE("descriptors that the program chooses itself are left to it") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest);
  Breakpoint breakpoint = {};
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0, lowest + 100) == 0);
  const int now_lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(now_lowest == lowest);
  ::close(now_lowest);
  breakpoint.Disarm();
}

TEST_CASE("a program that closes the descriptor and takes its number keeps its own file") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  TrapHandler handler;
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int number = lowest + 100;
  ::close(lowest);
  Breakpoint breakpoint = {};
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0, number) == 0);
  REQUIRE(::close(number) == 0);
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(::dup2(file, number) == number);
  breakpoint.Disarm();
  CHECK(::fcntl(number, F_GETFD) >= 0);
  REQUIRE(breakpoint.Arm(AddressOf(&First), 0, number) == 0);
  ::close(number + 1);
  REQUIRE(::dup2(file, number + 1) == number + 1);
  REQUIRE(breakpoint.Arm(AddressOf(&Second), 0, number) == 0);
  Second(1);
  CHECK(hits == 1);
  breakpoint.Disarm();
  CHECK(::fcntl(number, F_GETFD) >= 0);
  CHECK(::fcntl(number + 1, F_GETFD) >= 0);
  for (int fd : {file, number, number + 1}) ::close(fd);
}

TEST_CASE("when all debug registers are taken it says so") {
  if (!HasBreakpoints()) HBBP_SKIP("no debug registers with sigtrap here");
  std::vector<Breakpoint> taken;
  int error_number = 0;
  while (error_number == 0 && taken.size() < 16) {
    Breakpoint breakpoint = {};
    error_number = breakpoint.Arm(AddressOf(&Second) + taken.size(), 0, 0);
    if (error_number == 0) taken.push_back(breakpoint);
  }
  CHECK(error_number == ENOSPC);
  CHECK(taken.size() == 4);
  for (Breakpoint& breakpoint : taken) breakpoint.Disarm();
}

TEST_CASE("kernel addresses are refused") {
  Breakpoint breakpoint = {};
  CHECK(breakpoint.Arm(0xffff'ffff'8000'0000, 0, 0) != 0);
  CHECK_FALSE(breakpoint.armed());
}

}  // namespace
}  // namespace hbbp::trace
