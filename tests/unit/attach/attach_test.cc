// Tests stops and bursts of a child of this process.
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attach/attach_check.h"
#include "attach/page_faults.h"
#include "attach/process_pages.h"
#include "attach/process_tracer.h"
#include "attach/thread_stop.h"
#include "attach/thread_times.h"
#include "base/files.h"
#include "base/linux_constants.h"
#include "base/unique_fd.h"
#include "support/catch.h"
#include "support/sanitizer.h"
#include "unit/attach/child.h"

namespace hbbp {
namespace {

constexpr trace::BurstLimits kLimits = {256, 0, 0};

volatile double g_zero;
sigjmp_buf g_environment;

// Stops the child where it spins, and traces it. A child that has just begun may still be
// elsewhere. Returns false where ptrace is refused.
template <typename Use>
bool UseFullBurst(const Child& child, ProcessTracer* tracer, Use use) {
  for (int i = 0; i < 1000; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) return false;
    REQUIRE(outcome == StopOutcome::kStopped);
    const TracedBurst burst = tracer->Trace(stop, kLimits);
    if (burst.end == trace::StopReason::kFull) {
      use(&stop, burst);
      return true;
    }
    stop.LetGo();
    ::usleep(1000);
  }
  FAIL("no burst was full");
  return false;
}

void WaitForEvents() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
  epoll_event event;
  const int found = ::epoll_wait(::epoll_create1(0), &event, 1, 500);
  ::_exit(found < 0 ? errno : found);
}

// Divides by zero with a trap, from whose handler it jumps.
void DivideAgain() {
  struct sigaction action = {};
  action.sa_flags = SA_NODEFER;
  action.sa_handler = [](int) { ::siglongjmp(g_environment, 1); };
  ::sigaction(SIGFPE, &action, nullptr);
  for (;;) {
    if (sigsetjmp(g_environment, 0) != 0) continue;
    ::feenableexcept(FE_DIVBYZERO);
    for (int i = 0; i < 1000; ++i) g_sink = g_sink + 1;
    g_sink = static_cast<uint64_t>(1 / g_zero);
  }
}

// Pages of this process, one byte of which says which they are.
class Pages {
 public:
  static constexpr size_t kCount = 3;

  Pages() {
    void* const memory = ::mmap(nullptr, kCount * kPageBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    bytes_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < kCount; ++i) Set(i, static_cast<uint8_t>(i + 1));
  }
  ~Pages() { ::munmap(bytes_, kCount * kPageBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void Set(size_t page, uint8_t value) { std::memset(PageAt(page), value, kPageBytes); }
  void Unmap(size_t page) { REQUIRE(::munmap(PageAt(page), kPageBytes) == 0); }
  // Returns what a burst reads in the page, or 0 if it cannot.
  uint8_t ReadBy(ProcessPages* reader, size_t page) const {
    const trace::MemoryReader memory = reader->reader();
    const auto address = reinterpret_cast<uint64_t>(PageAt(page));
    if (memory.copy(memory.program, address) == trace::PageCopy::kUnreadable) return 0;
    return memory.pages[trace::MemoryReader::OffsetOf(address + kPageBytes - 1)];
  }

 private:
  uint8_t* PageAt(size_t page) const { return bytes_ + page * kPageBytes; }

  uint8_t* bytes_;
};

bool StopsAtOnce(ThreadStop* stop) { return stop->Stop() == StopOutcome::kStopped; }

}  // namespace

TEST_CASE("a system call that a stop has interrupted goes on") {
  const Child child(&WaitForEvents);
  child.WaitForState('S');
  for (int i = 0; i < 10; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    if (stop.Stop() == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    CHECK(stop.IsInSystemCall());
    stop.LetGo();
    ::usleep(1000);
  }
  CHECK(child.ExitStatus() == 0);
}

TEST_CASE("a signal that comes during a stop ends the system call") {
  const Child child(&WaitForEvents);
  child.WaitForState('S');
  ThreadStop stop(child.pid(), child.pid(), true);
  if (stop.Stop() == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
  ::kill(child.pid(), SIGUSR1);
  stop.LetGo();
  CHECK(child.ExitStatus() == EINTR);
}

TEST_CASE("a process that is stopped by a signal stays so") {
  const Child child(&Spin);
  ::kill(child.pid(), SIGSTOP);
  child.WaitForState('T');
  ThreadStop stop(child.pid(), child.pid(), true);
  const StopOutcome outcome = stop.Stop();
  if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
  CHECK(outcome == StopOutcome::kInSignal);
  stop.LetGo();
  ::usleep(10'000);
  CHECK(child.State() == 'T');
}

TEST_CASE("stops are of threads that there are, and that no other traces") {
  CHECK(ThreadStop(INT32_MAX, INT32_MAX, false).Stop() == StopOutcome::kGone);
  const Child ended([] {});
  ended.WaitForState('Z');
  CHECK(ThreadStop(ended.pid(), ended.pid(), true).Stop() == StopOutcome::kGone);
  const Child child(&Spin);
  ThreadStop first(child.pid(), child.pid(), true);
  if (!StopsAtOnce(&first)) HBBP_SKIP("ptrace is refused");
  CHECK(ThreadStop(child.pid(), child.pid(), true).Stop() == StopOutcome::kRefused);
}

TEST_CASE("pages that two bursts have read are copied ahead, as they are now") {
  Pages pages;
  ProcessPages reader(::getpid());
  for (int i = 0; i < 2; ++i) {
    reader.Begin();
    CHECK(pages.ReadBy(&reader, 0) == 1);
    CHECK(pages.ReadBy(&reader, 1) == 2);
    CHECK(pages.ReadBy(&reader, 1) == 2);
    CHECK(reader.read_pages() == 2);
    CHECK(reader.unread_pages() == 0);
    CHECK(reader.calls() == 2);
  }
  pages.Set(0, 77);
  reader.Begin();
  CHECK(pages.ReadBy(&reader, 0) == 77);
  CHECK(reader.calls() == 1);
  CHECK(reader.read_pages() == 1);
  CHECK(reader.unread_pages() == 1);
  CHECK(pages.ReadBy(&reader, 2) == 3);
  CHECK(reader.calls() == 2);
}

TEST_CASE("a page that no burst reads any longer is not copied ahead") {
  Pages pages;
  ProcessPages reader(::getpid());
  for (int i = 0; i < 5; ++i) {
    reader.Begin();
    CHECK(pages.ReadBy(&reader, 0) == 1);
  }
  for (int i = 0; i < 10; ++i) reader.Begin();
  CHECK(reader.calls() == 0);
  CHECK(reader.unread_pages() == 0);
}

TEST_CASE("a page that is gone does not keep others from being read") {
  Pages pages;
  ProcessPages reader(::getpid());
  reader.Begin();
  for (int burst = 0; burst < 2; ++burst) {
    for (size_t i = 0; i < Pages::kCount; ++i) CHECK(pages.ReadBy(&reader, i) == i + 1);
    reader.Begin();
  }
  pages.Unmap(1);
  for (int i = 0; i < 2; ++i) {
    reader.Begin();
    CHECK(pages.ReadBy(&reader, 0) == 1);
    CHECK(pages.ReadBy(&reader, 1) == 0);
    CHECK(pages.ReadBy(&reader, 2) == 3);
  }
}

TEST_CASE("pages next to each other and of arrays a power of two apart have different slots") {
  using trace::MemoryReader;
  for (const uint64_t page : {0x7fffull, 0xffull, 0x5555'5555ull, 0x7f12'3456'7ull}) {
    const uint64_t address = page * kPageBytes;
    CAPTURE(address);
    for (uint64_t next = 1; next <= 64; ++next) {
      CHECK(MemoryReader::SlotOf(address + next * kPageBytes) != MemoryReader::SlotOf(address));
    }
    for (int bit = 12; bit < 36; ++bit) {
      CAPTURE(bit);
      CHECK(MemoryReader::SlotOf(address + (uint64_t{1} << bit)) != MemoryReader::SlotOf(address));
    }
  }
}

TEST_CASE("pages that share a slot are both read") {
  constexpr size_t kBytes = 2 * trace::MemoryReader::kPagesBytes;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const bytes = static_cast<uint8_t*>(memory);
  const auto start = reinterpret_cast<uint64_t>(bytes);
  size_t other = kPageBytes;
  while (trace::MemoryReader::SlotOf(start + other) != trace::MemoryReader::SlotOf(start)) {
    other += kPageBytes;
    REQUIRE(other < kBytes);
  }
  bytes[0] = 1;
  bytes[other] = 2;
  ProcessPages pages(::getpid());
  const trace::MemoryReader reader = pages.reader();
  for (int i = 0; i < 3; ++i) {
    pages.Begin();
    for (const size_t offset : {size_t{0}, other}) {
      REQUIRE(reader.copy(reader.program, start + offset) == trace::PageCopy::kUsed);
      CHECK(reader.pages[trace::MemoryReader::OffsetOf(start + offset)] == (offset == 0 ? 1 : 2));
    }
  }
  ::munmap(memory, kBytes);
}

TEST_CASE("a page is new for as long as nothing has accessed it") {
  constexpr size_t kCount = 200;
  void* const memory = ::mmap(nullptr, kCount * kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  (void)::madvise(memory, kCount * kPageBytes, MADV_NOHUGEPAGE);
  auto* const bytes = static_cast<uint8_t*>(memory);
  for (size_t page = 0; page < kCount; page += 2) bytes[page * kPageBytes] = 1;
  ProcessPages pages(::getpid());
  const trace::MemoryReader reader = pages.reader();
  const auto copy = [&](size_t page) {
    return reader.copy(reader.program, reinterpret_cast<uint64_t>(bytes) + page * kPageBytes);
  };
  pages.Begin();
  if (copy(1) != trace::PageCopy::kNew) HBBP_SKIP("/proc/self/pagemap does not show pages");
  CHECK(copy(1) == trace::PageCopy::kUsed);
  for (size_t page = 2; page < kCount; ++page) {
    CHECK(copy(page) == (page % 2 == 0 ? trace::PageCopy::kUsed : trace::PageCopy::kNew));
  }
  pages.Begin();
  for (size_t page = 0; page < kCount; ++page) CHECK(copy(page) == trace::PageCopy::kUsed);
  ::munmap(memory, kCount * kPageBytes);
}

TEST_CASE("pages of a file that one page fault brings along are new once") {
  constexpr size_t kCount = 16;
  char name[] = "/tmp/hbbp-pages-XXXXXX";
  const UniqueFd file(::mkstemp(name));
  REQUIRE(file.valid());
  ::unlink(name);
  const std::vector<char> content(kCount * kPageBytes, 1);
  REQUIRE(::write(file.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
  void* const memory = ::mmap(nullptr, content.size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  ProcessPages pages(::getpid());
  const trace::MemoryReader reader = pages.reader();
  pages.Begin();
  size_t present = 0, faults = 0;
  for (size_t page = 0; page < kCount; ++page) {
    const uint64_t address = reinterpret_cast<uint64_t>(memory) + page * kPageBytes;
    unsigned char is_resident = 0;
    REQUIRE(::mincore(reinterpret_cast<void*>(address), kPageBytes, &is_resident) == 0);
    present += is_resident & 1;
    if (reader.copy(reader.program, address) == trace::PageCopy::kNew) ++faults;
  }
  ::munmap(memory, content.size());
  if (present != kCount) HBBP_SKIP("the file is not in memory");
  CHECK(faults <= kCount / 2);
}

TEST_CASE("what a page fault takes is measured") {
  CHECK(MeasurePageFaultNs() > 20);
  CHECK(MeasurePageFaultNs() < 1e7);
}

TEST_CASE("a traced burst is what the process then executes") {
  const Child child(&Spin);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  for (int i = 0; i < 5; ++i) {
    const bool is_traced =
        UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, const TracedBurst& burst) {
          REQUIRE(burst.branches.size() == kLimits.branches);
          CHECK(burst.instructions >= burst.branches.size() - 1);
          CHECK(burst.instructions <= burst.interpreted);
          CHECK_FALSE(burst.cost.is_cut);
          const Verification verified = (*tracer)->Verify(stop, burst);
          CHECK(verified.branches == burst.branches.size());
          CHECK(verified.disagreements == 0);
          CHECK_FALSE(verified.registers_disagree);
        });
    if (!is_traced) HBBP_SKIP("ptrace is refused");
  }
}

TEST_CASE("a traced burst says how many string instructions repeated nothing") {
  const Child child([] {
    for (;;) {
      uint64_t count = 0;
      asm volatile("rep movsb" : "+c"(count) : : "rsi", "rdi", "memory");
    }
  });
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  const bool is_traced =
      UseFullBurst(child, tracer->get(), [&](ThreadStop*, const TracedBurst& burst) {
        CHECK(burst.cost.memory_use.empty_repeats >= burst.branches.size() - 1);
      });
  if (!is_traced) HBBP_SKIP("ptrace is refused");
}

TEST_CASE("verification finds a branch that was not taken so, and other registers") {
  const Child child(&Spin);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  const bool is_traced =
      UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, TracedBurst burst) {
        std::vector<TakenBranch> branches(burst.branches.begin(), burst.branches.end());
        branches[100].to += 1;
        burst.branches = branches;
        const Verification verified = (*tracer)->Verify(stop, burst);
        CHECK(verified.branches == 100);
        CHECK(verified.disagreements == 1);
        CHECK(verified.disagreement_at == branches[100].from);
      });
  if (!is_traced) HBBP_SKIP("ptrace is refused");
  UseFullBurst(child, tracer->get(), [&](ThreadStop* stop, TracedBurst burst) {
    burst.branches = burst.branches.first(100);
    CHECK((*tracer)->Verify(stop, burst).registers_disagree);
  });
}

TEST_CASE("an exception of floating point is the process's own") {
  if (kHasThreadSanitizer) HBBP_SKIP("its runtime ends the child");
  const Child child(&DivideAgain);
  auto tracer = ProcessTracer::Create(child.pid());
  REQUIRE(tracer.ok());
  int bursts = 0;
  for (int i = 0; i < 200; ++i) {
    ThreadStop stop(child.pid(), child.pid(), true);
    const StopOutcome outcome = stop.Stop();
    if (outcome == StopOutcome::kRefused) HBBP_SKIP("ptrace is refused");
    if (outcome != StopOutcome::kStopped) continue;
    (void)(*tracer)->Trace(stop, {3000, 0, 0});
    ++bursts;
    stop.LetGo();
    ::usleep(200);
  }
  CHECK(bursts > 10);
  CHECK(child.State() == 'R');
}

TEST_CASE("running threads are listed, and sleeping ones are not; CPU time is counted once") {
  const Child spins(&Spin), sleeps(&Sleep);
  sleeps.WaitForState('S');
  auto of_spinning = ThreadTimes::Open(spins.pid(), {});
  auto of_sleeping = ThreadTimes::Open(sleeps.pid(), {});
  REQUIRE(of_spinning.ok());
  REQUIRE(of_sleeping.ok());
  (void)of_spinning->TakeTime(spins.pid());
  ::usleep(50'000);
  CHECK(of_spinning->ListRunning() == std::vector<pid_t>{spins.pid()});
  CHECK(of_spinning->TakeTime(spins.pid()) > 1'000'000);
  CHECK(of_sleeping->ListRunning().empty());
  CHECK(of_sleeping->TakeTime(sleeps.pid()) == 0);
  CHECK(ThreadTimes::Open(spins.pid(), {sleeps.pid()}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("the length of slices is known once there are enough of them") {
  const Child naps(&Nap);
  auto times = ThreadTimes::Open(naps.pid(), {});
  REQUIRE(times.ok());
  CHECK(times->MeanSliceNs() == 0);
  for (int i = 0; times->MeanSliceNs() == 0; ++i) {
    REQUIRE(i < 20'000);
    ::usleep(1000);
    (void)times->TakeTime(naps.pid());
  }
  CHECK(times->MeanSliceNs() < 500'000);
}

TEST_CASE("what cannot be attached to is refused with its reason") {
  CHECK(CheckAttach(::getpid()).code() == StatusCode::kInvalidArgument);
  CHECK(CheckAttach(INT32_MAX).code() == StatusCode::kNotFound);
  {
    const Child child([] {});
    child.WaitForState('Z');
    CHECK(CheckAttach(child.pid()).code() == StatusCode::kUnsupported);
  }
  const Child child(&Spin);
  CHECK(ParentOf(child.pid()) == ::getpid());
  const Status status = CheckAttach(child.pid());
  if (status.code() == StatusCode::kPermission) HBBP_SKIP("ptrace is refused");
  CHECK(status.ok());
  ThreadStop stop(child.pid(), child.pid(), true);
  REQUIRE(StopsAtOnce(&stop));
  CHECK(CheckAttach(child.pid()).code() == StatusCode::kBusy);
}

}  // namespace hbbp
