// Checks that handlers do not do what a signal handler must not do: malloc and pthread_mutex_lock
// of this program end it if they are called in a handler. Then checks that handlers do not change
// the vector state, that threads may start and end at any time, and how much stack handlers take.
#include <dlfcn.h>
#include <elf.h>
#include <immintrin.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/branch_tracing.h"
#include "support/catch.h"
#include "support/own_process.h"
#include "trace/signal_chain.h"
#include "trace/tracer.h"

namespace {

constinit thread_local int handlers_entered = 0;
std::atomic<uint64_t> handlers_seen{0};

[[noreturn]] void EndBecause(const char* function) {
  constexpr char kCalled[] = " was called in a signal handler\n";
  (void)!::write(2, function, std::strlen(function));
  (void)!::write(2, kCalled, sizeof(kCalled) - 1);
  std::abort();
}

void RefuseInHandler(const char* function) {
  if (handlers_entered != 0) EndBecause(function);
}

// While a thread holds it, no other thread can allocate or free memory.
std::atomic<int> allocator_owner{0};

void WaitForAllocator() {
  while (allocator_owner != 0 && allocator_owner != ::gettid()) ::usleep(100);
}

}  // namespace

extern "C" {

#define HBBP_TEST_EXPORT __attribute__((visibility("default")))

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

HBBP_TEST_EXPORT void* malloc(size_t bytes) {
  RefuseInHandler("malloc");
  WaitForAllocator();
  return __libc_malloc(bytes);
}

HBBP_TEST_EXPORT void* calloc(size_t count, size_t bytes) {
  RefuseInHandler("calloc");
  WaitForAllocator();
  return __libc_calloc(count, bytes);
}

HBBP_TEST_EXPORT void* realloc(void* memory, size_t bytes) {
  RefuseInHandler("realloc");
  WaitForAllocator();
  return __libc_realloc(memory, bytes);
}

HBBP_TEST_EXPORT void free(void* memory) {
  RefuseInHandler("free");
  WaitForAllocator();
  __libc_free(memory);
}

HBBP_TEST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Function = int (*)(pthread_mutex_t*);
  static std::atomic<Function> next{nullptr};
  RefuseInHandler("pthread_mutex_lock");
  if (next == nullptr) next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return next.load()(mutex);
}

}  // extern "C"

namespace hbbp {
namespace {

// The name of a private member may be used in an explicit instantiation of a template, where access
// is not checked.
trace::SignalFilter FilterOfTracer();
template <trace::SignalFilter filter>
struct Thief {
  friend trace::SignalFilter FilterOfTracer() { return filter; }
};
template struct Thief<&trace::Tracer::Filter>;

bool WatchedFilter(int signal, siginfo_t* info, ucontext_t* context) {
  ++handlers_entered;
  const bool is_ours = FilterOfTracer()(signal, info, context);
  --handlers_entered;
  handlers_seen.fetch_add(1, std::memory_order_relaxed);
  return is_ours;
}

BranchSink TraceWatched(TraceMode mode, const std::function<void()>& work) {
  handlers_seen = 0;
  return TraceBranches(BranchConfig(mode), work,
                       [] { trace::InstallSignalChain(&WatchedFilter, false); });
}

std::atomic<uint64_t> result;

// Allocates, locks, and calls functions of libraries that are not bound yet.
void AllocateAndLockFor(uint64_t milliseconds) {
  std::map<std::string, std::vector<int>> map;
  std::mutex mutex;
  const uint64_t end = ClockNs(CLOCK_PROCESS_CPUTIME_ID) + milliseconds * 1'000'000;
  for (int i = 0; ClockNs(CLOCK_PROCESS_CPUTIME_ID) < end; ++i) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::vector<int>& list = map[std::to_string(i % 500)];
    list.push_back(i);
    if (list.size() > 20) map.erase(std::to_string(i * 7 % 500));
    result += map.size();
  }
}

void ComputeFor(uint64_t milliseconds) {
  const uint64_t end = ClockNs(CLOCK_MONOTONIC) + milliseconds * 1'000'000;
  while (ClockNs(CLOCK_MONOTONIC) < end) {
    for (uint64_t n = result % 1000 + 27; n != 1;) {
      n = n % 2 != 0 ? 3 * n + 1 : n / 2;
      result += n;
    }
  }
}

TEST_CASE("this test would notice an allocation in a handler") {
  for (void (*forbidden)() : {+[] {
                                void* volatile kept = std::malloc(result + 1);
                                std::free(kept);
                              },
                              +[] {
                                std::mutex mutex;
                                mutex.lock();
                              }}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGABRT, SIG_DFL);
      ::close(2);
      ++handlers_entered;
      forbidden();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
  }
}

TEST_CASE("handlers neither allocate nor lock") {
  for (const TraceMode mode : ModesOfThisMachine()) {
    const BranchSink sink = TraceWatched(mode, [] { AllocateAndLockFor(700); });
    CHECK(sink.statistics.bursts > 0);
    CHECK(handlers_seen > 0);
  }
}

TEST_CASE("handlers do not allocate in threads that are new either") {
  for (const TraceMode mode : ModesOfThisMachine()) {
    const BranchSink sink = TraceWatched(mode, [] {
      for (int i = 0; i < 8; ++i) {
        std::thread first(&AllocateAndLockFor, 60), second(&AllocateAndLockFor, 60);
        first.join();
        second.join();
      }
    });
    CHECK(sink.statistics.bursts > 0);
  }
}

TEST_CASE("bursts go on while another thread holds the lock of the allocator") {
  for (const TraceMode mode : ModesOfThisMachine()) {
    uint64_t begin_ns = 0, end_ns = 0;
    const BranchSink sink = TraceWatched(mode, [&] {
      ComputeFor(100);
      std::atomic<bool> is_held{false}, may_release{false};
      std::thread holder([&] {
        allocator_owner = ::gettid();
        is_held = true;
        while (!may_release) SleepMs(1);
        allocator_owner = 0;
      });
      while (!is_held) SleepMs(1);
      begin_ns = ClockNs(CLOCK_MONOTONIC);
      ComputeFor(40);  // the worker waits, so there must be enough free buffers for this time
      end_ns = ClockNs(CLOCK_MONOTONIC);
      may_release = true;
      holder.join();
      ComputeFor(50);
    });
    int meanwhile = 0;
    for (uint64_t time_ns : sink.burst_times_ns) {
      if (time_ns > begin_ns && time_ns < end_ns) ++meanwhile;
    }
    CHECK(meanwhile > 0);
  }
}

// The vector state of the program
// ------------------------------------------------------------------

constexpr size_t kRedZoneBytes = 128;

struct alignas(64) VectorState {
  uint8_t zmm[32][64];
  uint64_t masks[8];
  uint8_t red_zone[kRedZoneBytes];
  uint8_t fxsave[512];
};
static_assert(offsetof(VectorState, masks) == 2048);
static_assert(offsetof(VectorState, red_zone) == 2112);
static_assert(offsetof(VectorState, fxsave) == 2240);

#define HBBP_FOR_16(low, operation)                                                         \
  operation(low##0) operation(low##1) operation(low##2) operation(low##3) operation(low##4) \
      operation(low##5) operation(low##6) operation(low##7) operation(low##8) operation(low##9)
#define HBBP_EACH_ZMM(operation) \
  HBBP_FOR_16(, operation)       \
  HBBP_FOR_16(1, operation) HBBP_FOR_16(2, operation) operation(30) operation(31)
#define HBBP_LOAD_ZMM(n) "vmovdqu64 64*" #n "(%[in]), %%zmm" #n "\n\t"
#define HBBP_STORE_ZMM(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%[out])\n\t"
#define HBBP_EACH_MASK(operation)                                                            \
  operation(0) operation(1) operation(2) operation(3) operation(4) operation(5) operation(6) \
      operation(7)
#define HBBP_LOAD_MASK(n) "kmovq 2048+8*" #n "(%[in]), %%k" #n "\n\t"
#define HBBP_STORE_MASK(n) "kmovq %%k" #n ", 2048+8*" #n "(%[out])\n\t"
#define HBBP_CLOBBER(n) "xmm" #n,

// Loads all registers and the red zone below the stack pointer, takes many branches, and stores
// them.
[[gnu::target("avx512f,avx512bw")]] void BranchWithAllRegisters(const VectorState* in,
                                                                VectorState* out) {
  // clang-format off
  asm volatile(
      "fxrstor64 2240(%[in])\n\t"
      HBBP_EACH_ZMM(HBBP_LOAD_ZMM)
      HBBP_EACH_MASK(HBBP_LOAD_MASK)
      "sub $1024, %%rsp\n\t"  // below what the compiler keeps in the red zone of this function
      "xor %%ecx, %%ecx\n"
      "3:\n\t"
      "mov 2112(%[in], %%rcx), %%rdx\n\t"
      "mov %%rdx, -128(%%rsp, %%rcx)\n\t"
      "add $8, %%ecx\n\t"
      "cmp $128, %%ecx\n\t"
      "jne 3b\n\t"
      "mov $40000, %%ecx\n"
      "1:\n\t"
      "test $3, %%cl\n\t"
      "jz 2f\n\t"
      "nop\n"
      "2:\n\t"
      "dec %%ecx\n\t"
      "jnz 1b\n\t"
      "xor %%ecx, %%ecx\n"
      "4:\n\t"
      "mov -128(%%rsp, %%rcx), %%rdx\n\t"
      "mov %%rdx, 2112(%[out], %%rcx)\n\t"
      "add $8, %%ecx\n\t"
      "cmp $128, %%ecx\n\t"
      "jne 4b\n\t"
      "add $1024, %%rsp\n\t"
      HBBP_EACH_ZMM(HBBP_STORE_ZMM)
      HBBP_EACH_MASK(HBBP_STORE_MASK)
      "fxsave64 2240(%[out])\n\t"
      "fninit\n\t"
      "vzeroupper\n\t"
      :
      : [in] "r"(in), [out] "r"(out)
      : HBBP_EACH_ZMM(HBBP_CLOBBER) "k1", "k2", "k3", "k4", "k5", "k6", "k7", "rcx", "rdx", "cc",
        "memory");
  // clang-format on
}

// Some parts are not compared: a processor need not keep the addresses of the last x87 instruction,
// and the mask of MXCSR is constant.
struct Part {
  size_t start;
  size_t end;
};
constexpr Part kPartsOfX87[] = {{0, 8}, {24, 28}, {32, 160}};

void FillX87(uint8_t seed, uint8_t* fxsave) {
  constexpr uint16_t kControl = 0x077f;  // rounds up, 53 bits
  constexpr uint16_t kStatus = 3 << 11 | 0x4100;
  constexpr uint32_t kRoundDown = 0x3f80;
  std::memset(fxsave, 0, sizeof(VectorState::fxsave));
  std::memcpy(fxsave, &kControl, sizeof(kControl));
  std::memcpy(fxsave + 2, &kStatus, sizeof(kStatus));
  fxsave[4] = 0xbf;  // one of the registers is empty
  std::memcpy(fxsave + 24, &kRoundDown, sizeof(kRoundDown));
  for (size_t i = 0; i < 8; ++i) {
    uint8_t* number = fxsave + 32 + 16 * i;
    for (size_t byte = 0; byte < 7; ++byte)
      number[byte] = static_cast<uint8_t>(seed + 31 * i + byte);
    number[7] = static_cast<uint8_t>(0x80 | i);
    number[8] = static_cast<uint8_t>(seed + i);
    number[9] = 0x40;
  }
}

bool SameX87(const uint8_t* a, const uint8_t* b) {
  return std::all_of(std::begin(kPartsOfX87), std::end(kPartsOfX87), [a, b](const Part& part) {
    return std::memcmp(a + part.start, b + part.start, part.end - part.start) == 0;
  });
}

bool Survives(uint8_t seed) {
  constexpr unsigned kUsualMxcsr = 0x1f80;
  static VectorState in, out;
  for (size_t i = 0; i < sizeof(in.zmm); ++i) {
    in.zmm[i / 64][i % 64] = static_cast<uint8_t>(seed + i * 37);
  }
  for (size_t i = 0; i < sizeof(in.red_zone); ++i) {
    in.red_zone[i] = static_cast<uint8_t>(seed + i * 101);
  }
  FillX87(seed, in.fxsave);
  for (uint64_t& mask : in.masks) mask = 0x9e3779b97f4a7c15u * ++seed;
  std::memset(static_cast<void*>(&out), 0, sizeof(out));
  errno = 4242;
  BranchWithAllRegisters(&in, &out);
  _mm_setcsr(kUsualMxcsr);
  return errno == 4242 && SameX87(in.fxsave, out.fxsave) &&
         std::memcmp(in.red_zone, out.red_zone, sizeof(in.red_zone)) == 0 &&
         std::memcmp(in.zmm, out.zmm, sizeof(in.zmm)) == 0 &&
         std::memcmp(in.masks, out.masks, sizeof(in.masks)) == 0;
}

TEST_CASE("errno, 32 zmm registers, masks, MXCSR, the x87 state and the red zone survive") {
  if (!__builtin_cpu_supports("avx512bw")) HBBP_SKIP("no AVX-512 here");
  for (const TraceMode mode : ModesOfThisMachine()) {
    int changed = 0;
    const BranchSink sink = TraceWatched(mode, [&] {
      const uint64_t end = ClockNs(CLOCK_PROCESS_CPUTIME_ID) + 400'000'000;
      for (uint8_t seed = 1; ClockNs(CLOCK_PROCESS_CPUTIME_ID) < end; ++seed) {
        if (!Survives(seed)) ++changed;
      }
    });
    CHECK(changed == 0);
    CHECK(sink.statistics.bursts > 0);
  }
}

// Life and death
// -----------------------------------------------------------------------------------

TEST_CASE("sessions come and go while threads do") {
  TraceBranches(BranchConfig(TraceMode::kLookAhead), [] { ComputeFor(10); });
  const size_t descriptors = OpenFds();
  std::atomic<bool> done{false};
  std::thread mother([&done] {
    while (!done) {
      std::thread a(&AllocateAndLockFor, 2), b(&AllocateAndLockFor, 1);
      a.join();
      b.join();
    }
  });
  uint64_t bursts = 0;
  const std::vector<TraceMode> modes = ModesOfThisMachine();
  const uint64_t end = ClockNs(CLOCK_MONOTONIC) + 4'000'000'000;
  for (size_t i = 0; ClockNs(CLOCK_MONOTONIC) < end; ++i) {
    const BranchSink sink =
        TraceBranches(BranchConfig(modes[i % modes.size()]), [i] { ComputeFor(i % 30); });
    bursts += sink.statistics.bursts;
  }
  done = true;
  mother.join();
  CHECK(bursts > 0);
  CHECK(OpenFds() == descriptors);
}

// The stack of handlers
// ----------------------------------------------------------------------------

constexpr size_t kStackBytes = 128 * 1024;
constexpr uint8_t kPattern = 0xa5;

size_t UsedBytes(const uint8_t* stack) {
  size_t untouched = 0;
  while (untouched < kStackBytes && stack[untouched] == kPattern) ++untouched;
  return kStackBytes - untouched;
}

TEST_CASE("handlers use little stack") {
  // docs/internals/branch-tracing.md documents this limit.
  constexpr size_t kMaxBytesBesidesFrame = 8 * 1024;
  const size_t frame_bytes = ::getauxval(AT_MINSIGSTKSZ);
  for (const TraceMode mode : ModesOfThisMachine()) {
    auto* memory = static_cast<uint8_t*>(
        ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(memory, kPattern, kStackBytes);
    const BranchSink sink = TraceBranches(BranchConfig(mode), [memory] {
      std::thread worker([memory] {
        stack_t stack = {};
        stack.ss_sp = memory;
        stack.ss_size = kStackBytes;
        ::sigaltstack(&stack, nullptr);
        AllocateAndLockFor(700);
        stack.ss_flags = SS_DISABLE;
        ::sigaltstack(&stack, nullptr);
      });
      worker.join();
    });
    const size_t used = UsedBytes(memory);
    ::munmap(memory, kStackBytes);
    std::cout << sink.statistics.mode << ": " << used
              << " bytes of stack, of which the frame takes "
              << "up to " << frame_bytes << std::endl;
    CHECK(sink.statistics.bursts > 0);
    CHECK(used > 1000);
    CHECK(used < frame_bytes + kMaxBytesBesidesFrame);
  }
}

}  // namespace
}  // namespace hbbp
