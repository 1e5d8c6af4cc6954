// Alternate signal stacks. Signals of software branch tracing run on the alternate stack of a
// thread, if it has one. A stack that is just large enough for the handlers of the program would
// end it: the kernel kills a program where a frame does not fit. So a small stack is replaced by a
// larger one, and sigaltstack reports the stack that the program set.
//
// The main thread gets one at once, and other threads before they run anything of the program
// (thread_start.cc), because the first sample may arrive on the stack of a coroutine. sigaltstack
// says to both that they have none.
//
// A stack that several threads have set (Varnish does so, whose handlers only end the program)
// would be used by handlers of samples in all of them at once. So only the first of them has it in
// truth.
//
// A program that has no use for the stack any more may unmap it, protect it, move it or map
// something else there, leave it set, and would not notice. So the functions that do so take it out
// of the kernel before.
#include "preload/alternate_stack.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/raw_syscall.h"
#include "preload/lock_memory.h"
#include "preload/next_function.h"
#include "preload/own_process.h"
#include "preload/resource_limits.h"
#include "preload/seccomp_filter.h"
#include "trace/tracer.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

namespace {

constexpr size_t kBytes = 64 * 1024;
// Size for our handlers, without the frame, whose size depends on the registers of the machine.
constexpr size_t kBytesOfHandlers = 16 * 1024;

struct Replacement {
  void* memory;
  stack_t wanted;       // the stack that the program set, if it did
  size_t own_plus_one;  // 1 + index of the stack of the program that only this thread has
  stack_t in_kernel;    // the stack of the program, if the kernel has it
};

[[gnu::tls_model("initial-exec")]] constinit thread_local Replacement replacement = {};

// Those of threads that have ended, for others: to map and unmap one takes as long as a fourth of
// the start of a thread.
constinit std::atomic<void*> spare_stacks[8] = {};

// The stacks of the program that the kernel knows, and the threads that have them. It is found by
// its address; one that finds no room is taken to be that of one thread.
struct OwnedStack {
  std::atomic<uintptr_t> start;
  std::atomic<pid_t> thread;
};
constexpr size_t kOwnedStacks = 4096;
constexpr size_t kMaxProbes = 64;
constinit OwnedStack owned_stacks[kOwnedStacks] = {};

pthread_key_t end_of_thread;
bool has_end_of_thread = false;

int SetInKernel(const stack_t* stack, stack_t* previous) {
  return static_cast<int>(::syscall(SYS_sigaltstack, stack, previous));
}

bool IsDisabled(const stack_t& stack) { return (stack.ss_flags & SS_DISABLE) != 0; }

// Returns true if the stack is too small for our handlers, but large enough for the kernel.
bool IsSmall(const stack_t& stack) {
  constexpr size_t kMinBytesOfKernel = 2048;
  return !IsDisabled(stack) && stack.ss_size >= kMinBytesOfKernel &&
         stack.ss_size < ::getauxval(AT_MINSIGSTKSZ) + kBytesOfHandlers;
}

bool IsAlive(pid_t thread) {
  return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0 || errno != ESRCH;
}

void Release(size_t own_plus_one) {
  if (own_plus_one == 0) return;
  pid_t self = ::gettid();
  (void)owned_stacks[own_plus_one - 1].thread.compare_exchange_strong(self, 0);
}

// Makes it the stack that only this thread has, 0 for none.
void SetOwnStack(size_t own_plus_one) {
  if (own_plus_one != replacement.own_plus_one) Release(replacement.own_plus_one);
  replacement.own_plus_one = own_plus_one;
}

// Returns false if another thread has set the stack. An entry keeps its address for ever, so that
// threads which end and begin find it again; without one, `own_plus_one` becomes 0.
bool ClaimStack(const void* stack, size_t* own_plus_one) {
  const int saved_errno = errno;
  const auto start = reinterpret_cast<uintptr_t>(stack);
  const pid_t self = ::gettid();
  bool is_own = true;
  for (size_t probe = 0; probe < kMaxProbes; ++probe) {
    const size_t index = (start / 4096 + start / 16 + probe) % kOwnedStacks;
    OwnedStack& owned = owned_stacks[index];
    uintptr_t found = 0;
    if (!owned.start.compare_exchange_strong(found, start) && found != start) continue;
    pid_t owner = 0;
    is_own = owned.thread.compare_exchange_strong(owner, self) || owner == self ||
             (!IsAlive(owner) && owned.thread.compare_exchange_strong(owner, self));
    if (is_own) *own_plus_one = index + 1;
    break;
  }
  errno = saved_errno;
  return is_own;
}

bool RunsOnReplacement() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here - reinterpret_cast<uintptr_t>(replacement.memory) < kBytes;
}

// Threads need not restore the stack that they set, since it is theirs to free.
void UnmapAtEndOfThread(void*) {
  const stack_t none = {nullptr, SS_DISABLE, 0};
  // Another thread may set the stack at once, and a sample may still come here.
  if (replacement.own_plus_one != 0 && SetInKernel(&none, nullptr) == 0) SetOwnStack(0);
  if (replacement.memory == nullptr || RunsOnReplacement()) return;
  stack_t current;
  const bool is_in_use = SetInKernel(nullptr, &current) != 0 ||
                         (!IsDisabled(current) && current.ss_sp == replacement.memory);
  if (is_in_use && SetInKernel(&none, nullptr) != 0) return;
  hbbp::preload::UnmapAlternateStack(replacement.memory);
  replacement.memory = nullptr;
}

void KeepAsReplacement(void* memory) {
  replacement.memory = memory;
  if (has_end_of_thread) ::pthread_setspecific(end_of_thread, memory);
}

// Sets our stack instead of the one that the program wants, or wants no more.
int Replace(const stack_t& wanted) {
  if (replacement.memory == nullptr) {
    void* const memory = hbbp::preload::MapAlternateStack();
    if (memory == nullptr) return SetInKernel(&wanted, nullptr);
    KeepAsReplacement(memory);
  }
  stack_t larger = wanted;
  larger.ss_flags &= ~SS_DISABLE;
  larger.ss_sp = replacement.memory;
  larger.ss_size = kBytes;
  const int result = SetInKernel(&larger, nullptr);
  if (result == 0) replacement.wanted = wanted;
  return result;
}

// The key is one of the first, so that setting it allocates nothing.
__attribute__((constructor(101))) void MakeKey() {
  has_end_of_thread = ::pthread_key_create(&end_of_thread, &UnmapAtEndOfThread) == 0;
}

__attribute__((constructor)) void InstallStackOfMainThread() {
  if (hbbp::preload::HasFilterFromTheStart()) return;
  stack_t stack;
  if (SetInKernel(nullptr, &stack) != 0 || !IsDisabled(stack)) return;
  void* const memory = hbbp::preload::MapAlternateStack();
  if (memory != nullptr) hbbp::preload::InstallAlternateStack(memory);
}

__attribute__((constructor)) void ListOwnMemory() {
  hbbp::preload::is_own_memory = [](uint64_t address) {
    return hbbp::trace::Tracer::Get().Owns(address);
  };
  hbbp::preload::release_unused_tables = [](uint64_t limit_bytes) {
    hbbp::trace::Tracer::Get().ReleaseUnusedFor(limit_bytes);
  };
}

}  // namespace

namespace hbbp::preload {

void* MapAlternateStack() {
  for (std::atomic<void*>& spare : spare_stacks) {
    void* const taken = spare.exchange(nullptr);
    if (taken != nullptr) return taken;
  }
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void UnmapAlternateStack(void* memory) {
  for (std::atomic<void*>& spare : spare_stacks) {
    void* expected = nullptr;
    if (spare.compare_exchange_strong(expected, memory)) return;
  }
  ::munmap(memory, kBytes);
}

void InstallAlternateStack(void* memory) {
  KeepAsReplacement(memory);
  const stack_t none = {nullptr, SS_DISABLE, 0};
  (void)Replace(none);
}

}  // namespace hbbp::preload

extern "C" HBBP_INTERPOSE int sigaltstack(const stack_t* stack, stack_t* previous) noexcept {
  if (hbbp::preload::HasFilter() || !hbbp::preload::IsOwnProcess()) {
    return SetInKernel(stack, previous);
  }
  stack_t before;
  int result = SetInKernel(nullptr, &before);
  if (result != 0) return result;
  if (!IsDisabled(before) && before.ss_sp == replacement.memory) {
    before.ss_sp = replacement.wanted.ss_sp;
    before.ss_size = replacement.wanted.ss_size;
    if (IsDisabled(replacement.wanted)) before.ss_flags = SS_DISABLE;
  }
  if (stack != nullptr) {
    const stack_t wanted = *stack;
    const bool is_ours_to_give = IsDisabled(wanted) && replacement.memory != nullptr;
    size_t own_plus_one = 0;
    const bool may_be_shared = !IsDisabled(wanted) && !IsSmall(wanted);
    const bool is_shared = may_be_shared && !ClaimStack(wanted.ss_sp, &own_plus_one);
    const bool replaces = IsSmall(wanted) || is_ours_to_give || is_shared;
    result = replaces ? Replace(wanted) : SetInKernel(&wanted, nullptr);
    if (result == 0) {
      SetOwnStack(own_plus_one);
      replacement.in_kernel = replaces ? stack_t{} : wanted;
    } else if (own_plus_one != replacement.own_plus_one) {
      Release(own_plus_one);
    }
  }
  if (result == 0 && previous != nullptr) *previous = before;
  return result;
}

namespace {

// The C library's, or those of another library that interposes them.
struct NextFunctions {
  int (*munmap)(void*, size_t);
  int (*mprotect)(void*, size_t, int);
  int (*pkey_mprotect)(void*, size_t, int, int);
  void* (*mremap)(void*, size_t, size_t, int, ...);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
};

NextFunctions next;

__attribute__((constructor(101))) void LookUpAll() {
  using hbbp::preload::LookUp;
  LookUp("mmap", &next.mmap);
  LookUp("mremap", &next.mremap);
  LookUp("mprotect", &next.mprotect);
  LookUp("pkey_mprotect", &next.pkey_mprotect);
  LookUp("munmap", &next.munmap);
}

// Takes the stack of the program out of the kernel if it loses memory there that handlers of
// samples use, which is its upper end. May be called before the constructors have run, and in any
// handler.
void RemoveStackIn(const void* address, size_t bytes) {
  const stack_t& stack = replacement.in_kernel;
  if (stack.ss_size == 0 || IsDisabled(stack)) return;
  constexpr uint64_t kPage = 4096;
  const auto start = reinterpret_cast<uint64_t>(address);
  const uint64_t end = start + ((bytes + kPage - 1) & ~(kPage - 1));
  const uint64_t stack_end = reinterpret_cast<uint64_t>(stack.ss_sp) + stack.ss_size;
  const uint64_t used = ::getauxval(AT_MINSIGSTKSZ) + kBytesOfHandlers;
  const bool loses = start < stack_end && end > stack_end - std::min(used, stack.ss_size);
  if (!loses || !hbbp::preload::IsOwnProcess() || hbbp::preload::HasFilter()) return;
  const int saved_errno = errno;
  stack_t current;
  const bool is_set = SetInKernel(nullptr, &current) == 0 && current.ss_sp == stack.ss_sp;
  const stack_t wanted = stack;
  if (is_set && Replace(wanted) == 0) {
    SetOwnStack(0);
    replacement.in_kernel = {};
  }
  errno = saved_errno;
}

bool IsUsable(int protection) {
  constexpr int kNeeded = PROT_READ | PROT_WRITE;
  return (protection & kNeeded) == kNeeded;
}

// Makes the system call, and returns what the C library returns.
template <typename... Arguments>
long Call(long number, Arguments... arguments) {
  const long result = hbbp::trace::RawSyscall(number, arguments...);
  constexpr long kMaxError = 4095;
  if (result >= 0 || result < -kMaxError) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace

extern "C" {

HBBP_INTERPOSE int munmap(void* address, size_t bytes) noexcept {
  RemoveStackIn(address, bytes);
  if (next.munmap != nullptr) return next.munmap(address, bytes);
  return static_cast<int>(Call(SYS_munmap, address, bytes));
}

HBBP_INTERPOSE int mprotect(void* address, size_t bytes, int protection) noexcept {
  if (!IsUsable(protection)) RemoveStackIn(address, bytes);
  if (next.mprotect != nullptr) return next.mprotect(address, bytes, protection);
  return static_cast<int>(Call(SYS_mprotect, address, bytes, protection));
}

HBBP_INTERPOSE int pkey_mprotect(void* address, size_t bytes, int protection, int key) noexcept {
  if (!IsUsable(protection)) RemoveStackIn(address, bytes);
  if (next.pkey_mprotect != nullptr) return next.pkey_mprotect(address, bytes, protection, key);
  return static_cast<int>(Call(SYS_pkey_mprotect, address, bytes, protection, key));
}

HBBP_INTERPOSE void* mremap(void* address, size_t bytes, size_t new_bytes, int flags,
                            ...) noexcept {
  void* target = nullptr;
  if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
    va_list list;
    va_start(list, flags);
    target = va_arg(list, void*);
    va_end(list);
  }
  RemoveStackIn(address, bytes);
  if ((flags & MREMAP_FIXED) != 0) RemoveStackIn(target, new_bytes);
  if (next.mremap != nullptr) return next.mremap(address, bytes, new_bytes, flags, target);
  return reinterpret_cast<void*>(Call(SYS_mremap, address, bytes, new_bytes, flags, target));
}

// <sys/mman.h> may give one of the two names the symbol of the other.
HBBP_INTERPOSE void* HbbpMap(void* address, size_t bytes, int protection, int flags, int fd,
                             off_t offset) noexcept __asm__("mmap");
HBBP_INTERPOSE void* HbbpMap64(void* address, size_t bytes, int protection, int flags, int fd,
                               off_t offset) noexcept __asm__("mmap64");

void* HbbpMap(void* address, size_t bytes, int protection, int flags, int fd,
              off_t offset) noexcept {
  if ((flags & MAP_FIXED) != 0) RemoveStackIn(address, bytes);
  if (next.mmap != nullptr) return next.mmap(address, bytes, protection, flags, fd, offset);
  return reinterpret_cast<void*>(Call(SYS_mmap, address, bytes, protection, flags, fd, offset));
}

void* HbbpMap64(void* address, size_t bytes, int protection, int flags, int fd,
                off_t offset) noexcept {
  return HbbpMap(address, bytes, protection, flags, fd, offset);
}

}  // extern "C"
