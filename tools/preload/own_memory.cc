// An allocator of the library's own. Its worker must not use that of the C library, which takes no
// locks while the C library believes that the process has one thread (libc_threads.h).
//
// The functions are local to the library (*.map), and replace those of the C library in all of it,
// the static C++ library included. So memory may not be passed to functions of the C library that
// free it, nor be taken from those that allocate it.
//
// Memory is cut into blocks of few sizes. It comes from a range of addresses that is reserved at
// the start: a program may unmap something, and map it again at the same address, where no block of
// ours may have come meanwhile.
#include "preload/own_memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/linux_constants.h"
#include "base/raw_syscall.h"

#define HBBP_REPLACE __attribute__((visibility("default")))

// A library of tests may refuse memory (tests/faults/failing_memory.cc).
extern "C" __attribute__((weak)) bool HbbpRefusesMemory();

namespace {

struct Header {  // in front of what the caller gets
  size_t block_bytes;
  char* block;
};

constexpr size_t kHeaderBytes = sizeof(Header);
constexpr size_t kAlignment = 16;
static_assert(kHeaderBytes % kAlignment == 0);

using hbbp::kPageBytes;

constexpr size_t kStepBytes = 256 * 1024;  // memory is made accessible by so much
constexpr size_t kReservedBytes = 64 << 20;
constexpr size_t kReservedBytesOfLittle = 4 << 20;  // where the address space is limited
constexpr size_t kLargestSize = 32 << 20;
// The pages of larger blocks are given back when these are freed.
constexpr size_t kLargestKept = 64 * 1024;
// Pages are put into memory by so much, which costs less than a fault of each. Of large blocks a
// large part may stay unused.
constexpr size_t kPopulatedBytes = 64 * 1024;
constexpr size_t kLargestPopulated = 1 << 20;

// Sizes are multiples of 16 up to 128, and four for each doubling beyond.
constexpr size_t kSmallSizes = 8;
constexpr size_t kSizes = kSmallSizes + 4 * 18;

constexpr size_t SizeIndex(size_t bytes) {
  if (bytes <= kSmallSizes * kAlignment) return (bytes - 1) / kAlignment;
  const auto log = static_cast<size_t>(std::bit_width(bytes - 1)) - 1;
  const size_t quarter = (bytes - 1) >> (log - 2) & 3;
  return kSmallSizes + (log - 7) * 4 + quarter;
}

constexpr size_t SizeOf(size_t index) {
  if (index < kSmallSizes) return (index + 1) * kAlignment;
  const size_t power = size_t{128} << (index - kSmallSizes) / 4;
  return power + power / 4 * ((index - kSmallSizes) % 4 + 1);
}

static_assert(SizeOf(SizeIndex(128)) == 128 && SizeOf(SizeIndex(129)) == 160);
static_assert(SizeIndex(kLargestSize) == kSizes - 1);
static_assert(SizeOf(kSizes - 1) == kLargestSize);

struct FreeBlock {
  FreeBlock* next;
};

struct Heap {
  FreeBlock* free_blocks[kSizes];
  char* next;
  char* populated_end;  // the pages before it were populated, or are of a large block
  char* accessible_end;
  char* reserved_end;
};

Heap heap = {};
// It is shared between processes, as the C library would otherwise lock it in a way that is right
// for one thread only.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// The limit is about to be set, and more must not be reserved before it is. Guarded by the mutex.
bool reserves_little = false;

// The worker holds the mutex for microseconds, and longer where it has no processor. A signal
// handler that interrupted this thread while it has the mutex does not get it at all.
bool LockForRelease() {
  constexpr int kMaxMs = 100;
  constexpr timespec kStep = {0, 1'000'000};
  for (int ms = 0; ms < kMaxMs; ++ms) {
    if (::pthread_mutex_trylock(&mutex) == 0) return true;
    (void)hbbp::trace::RawSyscall(SYS_nanosleep, &kStep, nullptr);
  }
  return false;
}

void InitMutex() {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

size_t RoundUp(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

char* Map(size_t bytes, int access) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const memory = ::mmap(nullptr, bytes, access, kFlags, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

bool Reserve(size_t bytes) {
  rlimit limit;
  const bool is_limited =
      reserves_little || (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
  size_t reserved = std::max(is_limited ? kReservedBytesOfLittle : kReservedBytes, bytes);
  char* range = Map(reserved, PROT_NONE);
  if (range == nullptr) {
    reserved = RoundUp(bytes, kPageBytes);
    range = Map(reserved, PROT_NONE);
  }
  if (range == nullptr) return false;
  heap.next = heap.populated_end = heap.accessible_end = range;
  heap.reserved_end = range + reserved;
  return true;
}

// Kernels before Linux 5.14 refuse it: then each page has its fault.
void Populate(char* begin, size_t bytes) {
  (void)hbbp::trace::RawSyscall(SYS_madvise, begin, bytes, hbbp::kPopulateForWriting);
}

// Puts a new block, and some more, into memory.
void PopulateNew(char* block, size_t bytes) {
  if (block + bytes <= heap.populated_end) return;
  const auto needed = static_cast<size_t>(block + bytes - heap.populated_end);
  if (bytes > kLargestPopulated) {
    heap.populated_end += RoundUp(needed, kPageBytes);
    return;
  }
  const size_t more = std::min(RoundUp(needed, kPopulatedBytes),
                               static_cast<size_t>(heap.accessible_end - heap.populated_end));
  Populate(heap.populated_end, more);
  heap.populated_end += more;
}

// Returns new memory, or null.
char* Grow(size_t bytes) {
  if (static_cast<size_t>(heap.reserved_end - heap.next) < bytes && !Reserve(bytes)) return nullptr;
  char* const block = heap.next;
  if (block + bytes > heap.accessible_end) {
    const size_t more =
        std::min(RoundUp(static_cast<size_t>(block + bytes - heap.accessible_end), kStepBytes),
                 static_cast<size_t>(heap.reserved_end - heap.accessible_end));
    if (::mprotect(heap.accessible_end, more, PROT_READ | PROT_WRITE) != 0) return nullptr;
    heap.accessible_end += more;
  }
  heap.next = block + bytes;
  PopulateNew(block, bytes);
  return block;
}

struct Pages {
  char* begin;
  size_t bytes;
};

// Returns the whole pages of a block that is larger than a page.
Pages PagesIn(char* block, size_t bytes) {
  const size_t skipped = -reinterpret_cast<uintptr_t>(block) % kPageBytes;
  return {block + skipped, (bytes - skipped) / kPageBytes * kPageBytes};
}

char* TakeFromHeap(size_t index, bool* is_new) {
  FreeBlock* const block = heap.free_blocks[index];
  *is_new = block == nullptr;
  if (*is_new) return Grow(SizeOf(index));
  heap.free_blocks[index] = block->next;
  return reinterpret_cast<char*>(block);
}

// Returns a block with so many bytes at least, and how many it has; null: there is no memory.
char* TakeBlock(size_t* bytes) {
  if (HbbpRefusesMemory != nullptr && HbbpRefusesMemory()) return nullptr;
  if (*bytes > kLargestSize) {
    *bytes = RoundUp(*bytes, kPageBytes);
    return Map(*bytes, PROT_READ | PROT_WRITE);
  }
  const size_t index = SizeIndex(*bytes);
  *bytes = SizeOf(index);
  ::pthread_mutex_lock(&mutex);
  bool is_new = false;
  char* const block = TakeFromHeap(index, &is_new);
  ::pthread_mutex_unlock(&mutex);
  if (!is_new && *bytes > kLargestKept && *bytes <= kLargestPopulated) {
    const Pages pages = PagesIn(block, *bytes);
    Populate(pages.begin, pages.bytes);
  }
  return block;
}

void* Allocate(size_t bytes, size_t alignment = kAlignment) {
  const size_t overhead = kHeaderBytes + (alignment - kAlignment);
  const bool is_too_much = bytes > SIZE_MAX - overhead - kPageBytes;
  size_t block_bytes = std::max(bytes, size_t{1}) + overhead;
  char* const block = is_too_much ? nullptr : TakeBlock(&block_bytes);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  const auto first = reinterpret_cast<uintptr_t>(block) + kHeaderBytes;
  char* const memory = block + kHeaderBytes + (alignment - first % alignment) % alignment;
  reinterpret_cast<Header*>(memory)[-1] = {block_bytes, block};
  return memory;
}

size_t BytesBehind(const char* memory, const Header& header) {
  return static_cast<size_t>(header.block + header.block_bytes - memory);
}

void Free(void* memory) {
  const Header header = static_cast<Header*>(memory)[-1];
  const int saved_errno = errno;
  if (header.block_bytes > kLargestSize) {
    ::munmap(header.block, header.block_bytes);
    errno = saved_errno;
    return;
  }
  if (header.block_bytes > kLargestKept) {
    const Pages pages = PagesIn(header.block, header.block_bytes);
    ::madvise(pages.begin, pages.bytes, MADV_DONTNEED);
    errno = saved_errno;
  }
  auto* const block = reinterpret_cast<FreeBlock*>(header.block);
  FreeBlock*& first = heap.free_blocks[SizeIndex(header.block_bytes)];
  ::pthread_mutex_lock(&mutex);
  block->next = first;
  first = block;
  ::pthread_mutex_unlock(&mutex);
}

}  // namespace

namespace hbbp::preload {
namespace {

bool forks_at_any_point = false;

void LockForFork() {
  if (!forks_at_any_point) ::pthread_mutex_lock(&mutex);
}

void UnlockAfterFork() {
  if (!forks_at_any_point) ::pthread_mutex_unlock(&mutex);
}

void UnlockInChild() {
  if (forks_at_any_point) return StartOwnMemoryAnew();
  UnlockAfterFork();
}

// Other handlers of fork allocate. Those that are registered later are called before and after.
__attribute__((constructor(101))) void Prepare() {
  InitMutex();
  if (heap.reserved_end == nullptr) (void)Reserve(0);
  ::pthread_atfork(&LockForFork, &UnlockAfterFork, &UnlockInChild);
}

}  // namespace

ForkAtAnyPoint::ForkAtAnyPoint() { forks_at_any_point = true; }

ForkAtAnyPoint::~ForkAtAnyPoint() { forks_at_any_point = false; }

// It may be called in a handler that has interrupted the owner of the lock.
void ReleaseUnusedMemory() {
  if (!LockForRelease()) return;
  reserves_little = true;
  const auto left = static_cast<size_t>(heap.reserved_end - heap.accessible_end);
  if (left > kReservedBytesOfLittle) {
    char* const end = heap.accessible_end + kReservedBytesOfLittle;
    if (::munmap(end, left - kReservedBytesOfLittle) == 0) heap.reserved_end = end;
  }
  ::pthread_mutex_unlock(&mutex);
}

void StartOwnMemoryAnew() {
  InitMutex();
  heap = {};
}

}  // namespace hbbp::preload

extern "C" {

HBBP_REPLACE void* malloc(size_t bytes) noexcept { return Allocate(bytes); }

HBBP_REPLACE void free(void* memory) noexcept {
  if (memory != nullptr) Free(memory);
}

HBBP_REPLACE void* calloc(size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const memory = Allocate(bytes);
  return memory == nullptr ? nullptr : ::memset(memory, 0, bytes);
}

HBBP_REPLACE void* realloc(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return Allocate(bytes);
  const size_t before = BytesBehind(static_cast<char*>(memory), static_cast<Header*>(memory)[-1]);
  if (bytes <= before && bytes > before / 2) return memory;
  void* const moved = Allocate(bytes);
  if (moved == nullptr) return nullptr;
  ::memcpy(moved, memory, std::min(before, bytes));
  Free(memory);
  return moved;
}

HBBP_REPLACE void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return Allocate(bytes, std::max(alignment, kAlignment));
}

}  // extern "C"
