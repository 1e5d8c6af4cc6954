// GrowingMemory by itself, by several threads, and where there is little memory or address space,
// by children that limit their own.
#include "trace/interpreter/large_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/sanitizer.h"
#include "trace/interpreter/guarded_memory.h"
#include "trace/tracer.h"

namespace hbbp::trace {
namespace {

constexpr size_t kReserved = 64 << 20;

TEST_CASE("a first part of what is reserved may be used, and is zero") {
  GrowingMemory memory;
  CHECK_FALSE(memory.Use(1));
  REQUIRE(memory.Reserve(kReserved));
  CHECK(memory.usable() == 0);
  CHECK(memory.Use(0));
  REQUIRE(memory.Use(100'000));
  for (size_t i = 0; i < 100'000; i += 1000) {
    CHECK(memory.start()[i] == 0);
    memory.start()[i] = 7;
  }
  CHECK(memory.usable() >= 100'000);
  CHECK(memory.usable() < 1 << 20);
  const auto start = reinterpret_cast<uint64_t>(memory.start());
  CHECK_FALSE(IsReadable(start + memory.usable()));
  REQUIRE(memory.Use(kReserved));
  CHECK(IsReadable(start + kReserved - 1));
  CHECK(memory.start()[99'000] == 7);
  CHECK_FALSE(memory.Use(kReserved + (4 << 20)));
  CHECK(memory.Contains(start));
  CHECK_FALSE(memory.Contains(start + memory.reserved()));
  memory.Release();
  CHECK_FALSE(IsReadable(start));
  CHECK_FALSE(memory.Use(1));
}

TEST_CASE("threads may ask for more at the same time") {
  GrowingMemory memory;
  REQUIRE(memory.Reserve(kReserved));
  std::vector<std::thread> threads;
  for (size_t number = 0; number < 4; ++number) {
    threads.emplace_back([&memory, number] {
      for (size_t at = number; at < kReserved; at += 64 << 10) {
        if (memory.Use(at + 1)) memory.start()[at] = static_cast<uint8_t>(number + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t wrong = 0;
  for (size_t at = 0; at < kReserved; at += 64 << 10) {
    for (size_t number = 0; number < 4; ++number) {
      if (memory.start()[at + number] != number + 1) ++wrong;
    }
  }
  CHECK(wrong == 0);
  memory.Release();
}

TEST_CASE("what is reserved and not in use may be given back") {
  GrowingMemory memory;
  memory.Shrink(0);
  REQUIRE(memory.Reserve(kReserved));
  REQUIRE(memory.Use(3 << 20));
  memory.start()[(3 << 20) - 1] = 5;
  memory.Shrink(kReserved);
  CHECK(memory.reserved() == kReserved);
  memory.Shrink(8 << 20);
  CHECK(memory.reserved() == 8 << 20);
  uint8_t* const behind = memory.start() + (8 << 20);
  // Others may have it now, and it is not touched.
  void* const other =
      ::mmap(behind, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  REQUIRE(other == behind);
  CHECK_FALSE(memory.Use((8 << 20) + 1));
  CHECK_FALSE(memory.Contains(reinterpret_cast<uint64_t>(behind)));
  CHECK(memory.Use(8 << 20));
  CHECK_FALSE(IsReadable(reinterpret_cast<uint64_t>(behind)));
  memory.Shrink(1 << 20);
  CHECK(memory.reserved() == 8 << 20);
  CHECK(memory.start()[(3 << 20) - 1] == 5);
  memory.Release();
  CHECK(::munmap(other, 4096) == 0);
}

TEST_CASE("threads may ask for more while it is given back") {
  for (int round = 0; round < 20; ++round) {
    GrowingMemory memory;
    REQUIRE(memory.Reserve(kReserved));
    std::atomic<bool> was_refused{false};
    std::thread user([&] {
      for (size_t bytes = 64 << 10; bytes <= kReserved && !was_refused; bytes += 64 << 10) {
        was_refused = !memory.Use(bytes);
        if (!was_refused) memory.start()[bytes - 1] = 1;
      }
    });
    while (memory.usable() < 4 << 20) std::this_thread::yield();
    memory.Shrink(1 << 20);
    const size_t left = memory.reserved();
    user.join();
    CHECK(memory.usable() <= left);
    CHECK(was_refused == (left < kReserved));
    memory.Release();
  }
}

struct Pages {
  long mapped = -1;
  long resident = -1;
};

Pages PagesInUse() {
  Pages pages;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return pages;
  if (std::fscanf(file, "%ld %ld", &pages.mapped, &pages.resident) != 2) pages = {};
  std::fclose(file);
  return pages;
}

int WaitStatus(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE("where memory is locked, only what may be used is in memory") {
  constexpr int kCannotLock = 1, kCannotReserve = 2, kTakesTooMuch = 3;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr long kMaxPages = 512;
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) ::_exit(kCannotLock);
    const long before = PagesInUse().resident;
    GrowingMemory memory;
    if (!memory.Reserve(kReserved) || !memory.Use(4096)) {
      ::_exit(errno == EAGAIN ? kCannotLock : kCannotReserve);
    }
    ::_exit(PagesInUse().resident - before < kMaxPages ? 0 : kTakesTooMuch);
  }
  const int status = WaitStatus(child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotLock) HBBP_SKIP("not so much memory may be locked here");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("the tracer gives back what it has reserved for more threads and code") {
  if constexpr (kHasSanitizer) HBBP_SKIP("sanitizers take address space without bound");
  constexpr int kNotOpened = 1, kKeepsTooMuch = 2, kNotOpenedAgain = 3, kGivesBackUnasked = 4;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr long kPagesOfMegabyte = 256;
    const long before = PagesInUse().mapped;
    if (Tracer::Get().Open({}) != 0) ::_exit(kNotOpened);
    const long opened = PagesInUse().mapped;
    Tracer::Get().ReleaseUnused();
    if (PagesInUse().mapped != opened) ::_exit(kGivesBackUnasked);
    Tracer::Get().ReleaseUnusedFor(1 << 30);
    const long left = PagesInUse().mapped;
    if (left - before > 32 * kPagesOfMegabyte) ::_exit(kKeepsTooMuch);
    Tracer::Get().Close();
    if (Tracer::Get().Open({}) != 0) ::_exit(kNotOpenedAgain);
    ::_exit(PagesInUse().mapped > left ? kKeepsTooMuch : 0);
  }
  CHECK(WaitStatus(child) == 0);
}

TEST_CASE("where there is no address space for the tables, nothing is asked of them") {
  if constexpr (kHasSanitizer) HBBP_SKIP("sanitizers take address space without bound");
  constexpr int kNeverRefused = 1, kNeverOpened = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr rlim_t kMegabyte = 1 << 20;
    const auto used = static_cast<rlim_t>(PagesInUse().mapped) * 4096;
    bool was_refused = false;
    for (rlim_t more = kMegabyte; more < 256 * kMegabyte; more += kMegabyte) {
      const rlimit limit = {used + more, RLIM_INFINITY};
      ::setrlimit(RLIMIT_AS, &limit);
      if (Tracer::Get().Open({}) == 0) ::_exit(was_refused ? 0 : kNeverRefused);
      was_refused = true;
      (void)Tracer::Get().Owns(kMegabyte);
    }
    ::_exit(kNeverOpened);
  }
  CHECK(WaitStatus(child) == 0);
}

}  // namespace
}  // namespace hbbp::trace
