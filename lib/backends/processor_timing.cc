// Each quantity is measured by a loop that nothing else limits, five times; the fastest run was not
// interrupted. The loops take turns, so that what slows a machine for some ten microseconds slows
// one run of each, and not all of one. Cycles are counted by multiplications of integers that each
// wait for the one before, which take three on all processors of the last ten years. (Additions of
// constants may take none, and rounds of short loops half of one.)
#include "backends/processor_timing.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "base/clock.h"
#include "base/independent_code.h"
#include "base/linux_constants.h"
#include "base/raw_syscall.h"
#include "base/unique_fd.h"

namespace hbbp {
namespace {

constexpr int kRuns = 5;
constexpr uint64_t kRounds = 300;
constexpr uint64_t kRoundsOfCycles = 700;
constexpr uint64_t kRoundsOfRepeats = 12;
constexpr uint64_t kRoundsOfPauses = 3;
constexpr uint64_t kFewRounds = 60;  // of what is needed less exactly
constexpr uint64_t kStepsOfRound = 8;
constexpr uint64_t kCyclesOfMultiplication = 3;
// A loop's own instructions are hidden by what it measures, unless that is how many it executes.
constexpr uint64_t kRoundsOfWidth = 100;

// The body of a loop of %0 rounds, each of which has the instructions `times` times.
#define HBBP_LOOP(times, instructions) \
  "1:\n\t"                             \
  ".rept " #times "\n\t" instructions  \
  ".endr\n\t"                          \
  "dec %0\n\t"                         \
  "jnz 1b"

void MultiplyIntegers(uint64_t rounds) {
  uint64_t product = rounds;
  asm volatile(HBBP_LOOP(8, "imul %1, %1\n\t") : "+r"(rounds), "+r"(product) : : "cc");
}

// Lines point at each other in a ring, so many that no load of the loop has the same address twice
// in a row: some processors then take the value for the same, and do not wait for it.
void LoadAddresses(uint64_t rounds) {
  struct alignas(64) Line {
    Line* next;
  } lines[13];
  for (int i = 0; i < 13; ++i) lines[i].next = &lines[(i + 1) % 13];
  Line* line = lines;
  asm volatile(HBBP_LOOP(8, "mov (%1), %1\n\t") : "+r"(rounds), "+r"(line) : : "cc", "memory");
}

void AddInMemory(uint64_t rounds) {
  uint64_t word = 0;
  asm volatile(HBBP_LOOP(8,
                         "mov %1, %%rax\n\t"
                         "add %%rdi, %%rax\n\t"
                         "mov %%rax, %1\n\t")
               : "+r"(rounds), "+m"(word)
               :
               : "cc", "rax");
}

void AddFloatsInMemory(uint64_t rounds) {
  double word = 0;
  asm volatile(HBBP_LOOP(8,
                         "movsd %1, %%xmm0\n\t"
                         "addsd %%xmm0, %%xmm0\n\t"
                         "movsd %%xmm0, %1\n\t")
               : "+r"(rounds), "+m"(word)
               :
               : "cc", "xmm0");
}

void AddFloats(uint64_t rounds) {
  double sum = 0;
  asm volatile(HBBP_LOOP(8, "addsd %1, %1\n\t") : "+r"(rounds), "+x"(sum) : : "cc");
}

void MultiplyFloats(uint64_t rounds) {
  double product = 1;
  asm volatile(HBBP_LOOP(8, "mulsd %1, %1\n\t") : "+r"(rounds), "+x"(product) : : "cc");
}

// Between neighbours in a line it would take half as long again.
template <int kWords>
void MoveWords(uint64_t rounds) {
  alignas(64) const uint64_t from[8] = {};
  alignas(64) uint64_t to[8];
  asm volatile(HBBP_LOOP(8,
                         "mov %1, %%rsi\n\t"
                         "mov %2, %%rdi\n\t"
                         "mov %3, %%ecx\n\t"
                         "rep movsq\n\t")
               : "+r"(rounds)
               : "r"(from), "r"(to), "i"(kWords)
               : "cc", "memory", "rsi", "rdi", "rcx");
}

void AddVectors(uint64_t rounds) {
  const __m128i zero = _mm_setzero_si128();
  __m128i sum = zero;
  asm volatile(HBBP_LOOP(8, "paddd %2, %1\n\t") : "+r"(rounds), "+x"(sum) : "x"(zero) : "cc");
}

void MultiplyVectors(uint64_t rounds) {
  __m128i product = _mm_setzero_si128();
  asm volatile(HBBP_LOOP(8, "pmullw %1, %1\n\t") : "+r"(rounds), "+x"(product) : : "cc");
}

void ScanBits(uint64_t rounds) {
  uint64_t bits = 1;
  asm volatile(HBBP_LOOP(8, "bsf %1, %1\n\t") : "+r"(rounds), "+r"(bits) : : "cc");
}

// What the registers of x87 have may be anything, and those of MMX, too.
void AddX87(uint64_t rounds) {
  alignas(16) unsigned char before[512];
  asm volatile(
      "fxsave %1\n\t"
      "fninit\n\t"
      "fldz\n\t" HBBP_LOOP(8, "fadd %%st(0), %%st\n\t") "\n\t"
      "fxrstor %1"
      : "+r"(rounds), "+m"(before)
      :
      : "cc");
}

void Transfer(uint64_t rounds) {
  __m128i value = _mm_setzero_si128();
  asm volatile(HBBP_LOOP(8,
                         "movq %1, %%rax\n\t"
                         "movq %%rax, %1\n\t")
               : "+r"(rounds), "+x"(value)
               :
               : "cc", "rax");
}

void AddLocked(uint64_t rounds) {
  uint64_t word = 0;
  asm volatile(HBBP_LOOP(8, "lock addq $1, %1\n\t") : "+r"(rounds), "+m"(word) : : "cc");
}

void Pause(uint64_t rounds) { asm volatile(HBBP_LOOP(8, "pause\n\t") : "+r"(rounds) : : "cc"); }

void StoreWords(uint64_t rounds) {
  uint64_t word = 0;
  asm volatile(HBBP_LOOP(32, "mov %%rax, %1\n\t") : "+r"(rounds), "=m"(word) : : "cc");
}

uint64_t NsOfRun(void (*loop)(uint64_t), uint64_t rounds) {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  loop(rounds);
  return ClockNs(CLOCK_MONOTONIC) - begin_ns;
}

// Returns the ns of the fastest run, with those of reading the clock.
double FastestNs(void (*loop)(uint64_t), uint64_t rounds) {
  uint64_t fastest = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) fastest = std::min(fastest, NsOfRun(loop, rounds));
  return static_cast<double>(std::max<uint64_t>(1, fastest));
}

bool TicksAreRefused() {
  int mode = PR_TSC_ENABLE;
  return ::prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
}

bool MayReadTicks() {
  if (TicksAreRefused()) return false;
  constexpr int kReads = 20;
  constexpr double kMaxNsOfRead = 100;
  const auto read = [](uint64_t) {
    for (int i = 0; i < kReads; ++i) (void)__rdtsc();
  };
  return FastestNs(read, 0) <= kReads * kMaxNsOfRead;
}

// Both are read behind the clock, which may take as long as a quarter of the loop.
double NsPerTick() {
  double fastest_ns = 0, ticks_of_fastest = 0;
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    const uint64_t first_tick = __rdtsc();
    MultiplyIntegers(kRoundsOfCycles);
    const auto ns = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - begin_ns);
    const auto ticks = static_cast<double>(__rdtsc() - first_tick);
    if (run != 0 && ns >= fastest_ns) continue;
    fastest_ns = ns;
    ticks_of_fastest = ticks;
  }
  return fastest_ns / std::max(1.0, ticks_of_fastest);
}

uint64_t TicksOfLoad(const volatile uint8_t* byte) {
  _mm_lfence();
  const uint64_t begin = __rdtsc();
  _mm_lfence();
  (void)*byte;
  _mm_lfence();
  const uint64_t end = __rdtsc();
  _mm_lfence();
  return end - begin;
}

uint64_t TicksOfStore(volatile uint8_t* byte) {
  _mm_lfence();
  const uint64_t begin = __rdtsc();
  _mm_lfence();
  *byte = 1;
  _mm_mfence();
  const uint64_t end = __rdtsc();
  _mm_lfence();
  return end - begin;
}

// Returns the mean of what timing a load takes whose line is in the first cache. The counter of
// some processors counts in steps of 26 and more, so that single readings say little.
double TicksOfHit() {
  constexpr int kReadings = 64;
  const volatile uint8_t byte = 0;
  uint64_t fewest = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    uint64_t sum = 0;
    for (int i = 0; i < kReadings; ++i) sum += TicksOfLoad(&byte);
    fewest = std::min(fewest, sum);
  }
  return static_cast<double>(fewest) / kReadings;
}

// Pages of which two lines each were used, none next to another, so that their translations are in
// different lines of the page table, and none a part of a huge page. Their first use was timed.
class UsedPages {
 public:
  static constexpr size_t kPages = 8;

  UsedPages() {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    bytes_ = static_cast<volatile uint8_t*>(memory);
    (void)::madvise(memory, kBytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kTimed; ++i) {
      ticks_of_fault_[i] = TicksOfStore(Line(i));
      ticks_of_call_[i] = TicksOfProviding(i, 0);
      ticks_of_providing_[i] = TicksOfProviding(kTimed + i, kPageBytes);
      ticks_of_first_use_[i] = TicksOfLoad(Line(kTimed + i));
    }
    Use();
  }
  ~UsedPages() {
    if (is_mapped()) ::munmap(const_cast<uint8_t*>(bytes_), kBytes);
  }
  UsedPages(const UsedPages&) = delete;
  UsedPages& operator=(const UsedPages&) = delete;

  bool is_mapped() const { return bytes_ != nullptr; }
  void Use() const {
    for (size_t page = 0; page < kPages; ++page) {
      *Line(page) = 1;
      *OtherLine(page) = 1;
    }
  }
  volatile uint8_t* Line(size_t page) const { return bytes_ + page * (kStride + kLineBytes); }
  volatile uint8_t* OtherLine(size_t page) const { return Line(page) + kHalfPage; }

  double TicksOfFault() const { return is_mapped() ? MiddleOf(ticks_of_fault_) : 0; }

  // Returns what of a page fault is outside the kernel, to a clock: the first use of a page that
  // the kernel has provided already, and a third of what is neither that nor the kernel's work, for
  // the way back. (Interrupts on the way into the kernel come there, in the kernel.) 0 if it is not
  // known.
  double TicksOfFaultOutsideKernel() const {
    if (!is_mapped() || !can_provide_) return 0;
    const double of_use = MiddleOf(ticks_of_first_use_);
    const double of_kernel = MiddleOf(ticks_of_providing_) - MiddleOf(ticks_of_call_);
    const double of_switches = MiddleOf(ticks_of_fault_) - of_use - of_kernel;
    return of_use + std::max(0.0, of_switches) / 3;
  }

 private:
  static constexpr size_t kStride = size_t{8} << 12;  // the page table has as many in a line
  static constexpr size_t kLineBytes = 64;            // another set of the cache for each
  static constexpr size_t kHalfPage = 2048;
  static constexpr size_t kBytes = kPages * kStride;
  static constexpr size_t kTimed = kPages / 2;
  using Ticks = std::array<uint64_t, kTimed>;

  // The kernel makes so much of the page present, which older ones refuse.
  uint64_t TicksOfProviding(size_t page, size_t bytes) {
    const auto start = reinterpret_cast<uint64_t>(Line(page)) & ~(kPageBytes - 1);
    const uint64_t begin = __rdtsc();
    const auto* const memory = reinterpret_cast<void*>(start);
    if (trace::RawSyscall(SYS_madvise, memory, bytes, kPopulateForWriting) != 0) {
      can_provide_ = false;
    }
    return __rdtsc() - begin;
  }

  // The first ones are slow.
  static double MiddleOf(Ticks ticks) {
    std::sort(ticks.begin(), ticks.end());
    return static_cast<double>(ticks[(kTimed - 1) / 2]);
  }

  volatile uint8_t* bytes_ = nullptr;
  bool can_provide_ = true;
  Ticks ticks_of_fault_ = {}, ticks_of_call_ = {}, ticks_of_providing_ = {},
        ticks_of_first_use_ = {};
};

// Has the calling thread interrupted as in front of a burst: by a timer that lets no other thread
// run, which could evict what is measured afterwards.
class InterruptingTimer {
 public:
  explicit InterruptingTimer(double ns_per_tick)
      : fd_(static_cast<int>(trace::RawSyscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC))),
        ticks_of_wait_(static_cast<uint64_t>(2 * kDelayNs / std::max(ns_per_tick, 0.01))) {}

  void Wait() const {
    const itimerspec soon = {.it_interval = {}, .it_value = {0, kDelayNs}};
    if (!fd_.valid() || trace::RawSyscall(SYS_timerfd_settime, fd_.get(), 0, &soon, nullptr) != 0) {
      const timespec shortest = {0, 1};
      trace::RawSyscall(SYS_nanosleep, &shortest, nullptr);
      return;
    }
    const uint64_t begin = __rdtsc();
    while (__rdtsc() - begin < ticks_of_wait_) {
    }
  }

  // Returns false if the last interrupt has not come yet, as without timers of high resolution: the
  // next ones are those of sleeping.
  bool HasInterrupted() {
    itimerspec left = {};
    if (fd_.valid()) trace::RawSyscall(SYS_timerfd_gettime, fd_.get(), &left);
    const bool has_interrupted = left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0;
    if (!has_interrupted) fd_.Reset();
    return has_interrupted;
  }

 private:
  static constexpr long kDelayNs = 20'000;

  UniqueFd fd_;
  const uint64_t ticks_of_wait_;
};

// Some machines discard all translations of addresses whenever the kernel is entered, and virtual
// ones at each interrupt, so also in front of each burst (page-table isolation without PCID, some
// hypervisors); others discard none. Returns what the first load of a page takes beyond that of a
// second line, behind the interrupt of a timer: what that has evicted from caches delays both.
double TicksOfPageWalk(const UsedPages& pages, double ns_per_tick) {
  constexpr size_t kSweeps = 6;
  constexpr double kMinNs = 3, kMaxNs = 40;  // noise; longer than any from caches
  if (!pages.is_mapped()) return 0;
  InterruptingTimer timer(ns_per_tick);
  std::array<double, kSweeps> ticks_of_sweeps;
  for (size_t sweep = 0; sweep < kSweeps;) {
    pages.Use();
    timer.Wait();
    std::array<int64_t, UsedPages::kPages> ticks;
    for (size_t page = 0; page < UsedPages::kPages; ++page) {
      const auto of_first = static_cast<int64_t>(TicksOfLoad(pages.Line(page)));
      const auto of_second = static_cast<int64_t>(TicksOfLoad(pages.OtherLine(page)));
      ticks[page] = of_first - of_second;
    }
    if (!timer.HasInterrupted()) continue;
    // An interrupt may be in any of them.
    std::sort(ticks.begin(), ticks.end());
    const auto first = ticks.begin() + ticks.size() / 4, last = ticks.end() - ticks.size() / 4;
    ticks_of_sweeps[sweep++] = static_cast<double>(std::accumulate(first, last, int64_t{0})) /
                               static_cast<double>(last - first);
  }
  // Another program may have run in any of them.
  std::sort(ticks_of_sweeps.begin(), ticks_of_sweeps.end());
  const double median = (ticks_of_sweeps[kSweeps / 2 - 1] + ticks_of_sweeps[kSweeps / 2]) / 2;
  return median * ns_per_tick < kMinNs ? 0 : std::min(median, kMaxNs / ns_per_tick);
}

// These separate what the model hides anyway (a line in the second cache), misses, and what is none
// (an interrupt, a page fault).
constexpr double kMinMissNs = 20;
constexpr double kMaxMissNs = 1500;

// Where a hypervisor keeps page tables of its own, it has a part in each page fault. What is
// shorter than a microsecond is the exception itself, and page faults that look like cache misses
// are not counted.
double NsOfPageFault(const UsedPages& pages, double ns_per_tick) {
  constexpr double kMinNs = 1000;
  const double ns = pages.TicksOfFaultOutsideKernel() * ns_per_tick;
  return ns < kMinNs || pages.TicksOfFault() * ns_per_tick <= kMaxMissNs ? 0 : ns;
}

trace::AccessTiming TimingOfAccesses(const UsedPages& pages, double ns_per_tick) {
  const auto ticks = [ns_per_tick](double ns) {
    return static_cast<uint16_t>(std::min(65535.0, ns / ns_per_tick));
  };
  trace::AccessTiming timing;
  timing.hit = static_cast<uint16_t>(std::clamp(TicksOfHit(), 1.0, 65535.0));
  timing.page_walk = static_cast<uint16_t>(std::min(TicksOfPageWalk(pages, ns_per_tick), 65535.0));
  timing.min_miss = ticks(kMinMissNs);
  timing.max_miss = ticks(kMaxMissNs);
  return timing;
}

// Programs may have exceptions of floating point enabled, which would end them here.
class DefaultFloats {
 public:
  DefaultFloats() { _mm_setcsr(kDefault); }
  ~DefaultFloats() { _mm_setcsr(before_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;
  const unsigned before_ = _mm_getcsr();
};

struct TimedLoop {
  void (*loop)(uint64_t);
  uint64_t rounds;
  std::array<uint64_t, kRuns> ns = {};  // sorted
};

template <size_t kLoops>
void TimeInTurns(std::array<TimedLoop, kLoops>* loops) {
  // The clock may take as long as a loop: it is read once between two of them.
  for (int run = 0; run < kRuns; ++run) {
    uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    for (TimedLoop& timed : *loops) {
      timed.loop(timed.rounds);
      const uint64_t end_ns = ClockNs(CLOCK_MONOTONIC);
      timed.ns[run] = end_ns - begin_ns;
      begin_ns = end_ns;
    }
  }
  for (TimedLoop& timed : *loops) std::sort(timed.ns.begin(), timed.ns.end());
}

ProcessorTiming MeasureWithDefaultFloats() {
  enum {
    kClock,
    kCycles,
    kWidth,
    kLoad,
    kForward,
    kAdd,
    kForwardVector,
    kMultiply,
    kRepeat,
    kEmptyRepeat,
    kVector,
    kX87,
    kTransfer,
    kLocked,
    kPause,
    kBitScan,
    kMultiplyVector,
    kStore,
    kLoops
  };
  std::array<TimedLoop, kLoops> loops = {{{[](uint64_t) {}, 0},
                                          {MultiplyIntegers, kRoundsOfCycles},
                                          {ExecuteIndependent, kRoundsOfWidth},
                                          {LoadAddresses, kRounds},
                                          {AddInMemory, kRounds},
                                          {AddFloats, kRounds},
                                          {AddFloatsInMemory, kRounds},
                                          {MultiplyFloats, kRounds},
                                          {MoveWords<2>, kRoundsOfRepeats},
                                          {MoveWords<0>, kRoundsOfRepeats},
                                          {AddVectors, kFewRounds},
                                          {AddX87, kFewRounds},
                                          {Transfer, kFewRounds},
                                          {AddLocked, kRoundsOfRepeats},
                                          {Pause, kRoundsOfPauses},
                                          {ScanBits, kFewRounds},
                                          {MultiplyVectors, kFewRounds},
                                          {StoreWords, kFewRounds}}};
  TimeInTurns(&loops);
  const auto ns_of_round = [&loops](int i, int run) {
    const auto ns =
        static_cast<double>(loops[i].ns[run]) - static_cast<double>(loops[kClock].ns[0]);
    return std::max(1.0, ns) / static_cast<double>(loops[i].rounds);
  };
  ProcessorTiming timing;
  // A clock that stands still or jumps must not make cycles of no time.
  timing.ns_per_cycle = std::clamp(
      ns_of_round(kCycles, 0) / static_cast<double>(kStepsOfRound * kCyclesOfMultiplication), 0.1,
      5.0);
  const auto cycles_of_round = [&](int i, int run) {
    return ns_of_round(i, run) / timing.ns_per_cycle;
  };
  const auto cycles_of_step = [&cycles_of_round](int i, int run = 0) {
    return cycles_of_round(i, run) / static_cast<double>(kStepsOfRound);
  };
  // A machine that others use makes a loop seem slow.
  timing.instructions_per_cycle =
      std::clamp(kIndependentInstructions / cycles_of_round(kWidth, 0), kMinWidth, kMaxWidth);
  timing.load = std::clamp(cycles_of_step(kLoad), 2.0, 6.0);
  // In some runs a processor guesses right where each load's value comes from.
  constexpr int kMedian = kRuns / 2;
  timing.forward = std::clamp(cycles_of_step(kForward, kMedian) - 1, 0.0, 6.0);
  timing.add = std::clamp(cycles_of_step(kAdd), 2.0, 5.0);
  timing.forward_vector =
      std::clamp(cycles_of_step(kForwardVector, kMedian) - timing.add, 0.0, 12.0);
  timing.multiply = std::clamp(cycles_of_step(kMultiply), 3.0, 6.0);
  timing.repeat = std::clamp(cycles_of_step(kRepeat), 5.0, 100.0);
  timing.empty_repeat = std::clamp(cycles_of_step(kEmptyRepeat), 5.0, 100.0);
  timing.vector = std::clamp(cycles_of_step(kVector), 1.0, 4.0);
  timing.add_x87 = std::clamp(cycles_of_step(kX87), 3.0, 10.0);
  timing.transfer = std::clamp(cycles_of_step(kTransfer) / 2, 1.0, 8.0);
  timing.locked = std::clamp(cycles_of_step(kLocked), 5.0, 100.0);
  timing.pause = std::clamp(cycles_of_step(kPause), 2.0, 300.0);
  timing.bit_scan = std::clamp(cycles_of_step(kBitScan), 1.0, 8.0);
  timing.multiply_vector = std::clamp(cycles_of_step(kMultiplyVector), 2.0, 12.0);
  timing.store = std::clamp(cycles_of_round(kStore, 0) / 32, 0.3, 1.5);
  timing.may_read_ticks = MayReadTicks();
  if (!timing.may_read_ticks) return timing;
  timing.ns_per_tick = NsPerTick();
  const UsedPages pages;
  timing.accesses = TimingOfAccesses(pages, timing.ns_per_tick);
  timing.page_fault_ns = NsOfPageFault(pages, timing.ns_per_tick);
  return timing;
}

template <typename Value>
Value Median(Value a, Value b, Value c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

ProcessorTiming MeasureProcessor() {
  const DefaultFloats floats;
  return MeasureWithDefaultFloats();
}

ProcessorTiming MeasureProcessorWell() {
  const ProcessorTiming a = MeasureProcessor(), b = MeasureProcessor(), c = MeasureProcessor();
  const auto median = [&](auto quantity) { return Median(quantity(a), quantity(b), quantity(c)); };
  ProcessorTiming timing;
  for (const auto quantity : kTimingQuantities) {
    timing.*quantity = median([quantity](const ProcessorTiming& of) { return of.*quantity; });
  }
  timing.may_read_ticks = a.may_read_ticks + b.may_read_ticks + c.may_read_ticks >= 2;
  if (!timing.may_read_ticks) return timing;
  for (const auto ticks : kTimingTicks) {
    timing.accesses.*ticks =
        median([ticks](const ProcessorTiming& of) { return of.accesses.*ticks; });
  }
  return timing;
}

ProcessorTiming UsableHere(ProcessorTiming measured) {
  if (measured.may_read_ticks && TicksAreRefused()) {
    measured.may_read_ticks = false;
    measured.accesses = {};
    measured.page_fault_ns = 0;
  }
  return measured;
}

}  // namespace hbbp
