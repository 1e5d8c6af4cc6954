// The memory of stubs: a file without a name that is mapped twice, writable and executable, so that
// no address is both. Its header is a hash table, by which Find and Add share a stub among all that
// have an equal instruction, in processes that share the file, too; stubs are appended behind it.
// The object itself has a page of its own behind a guard page. Create and Destroy are for
// set-up; the others are called by handlers, from any number of threads, without locks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "base/linux_constants.h"
#include "base/raw_syscall.h"
#include "trace/native/native_stub.h"
#include "trace/native/operand_rewrite.h"

namespace hbbp::trace {
namespace {

constexpr size_t kUnit = 64;  // a cache line, so that no running stub shares one with a new stub
constexpr unsigned kMaxProbes = 32;
constexpr uint8_t kBreakpoint = 0xcc;

#ifndef MFD_EXEC
constexpr unsigned MFD_EXEC = 0x0010;  // NOLINT(readability-identifier-naming): kernel 6.3
#endif

int OpenNamelessFile() {
  const auto open_with = [](unsigned flags) {
    return static_cast<int>(syscall(SYS_memfd_create, "hbbp-stubs", flags));
  };
  const int file = open_with(MFD_CLOEXEC | MFD_EXEC);
  // Older kernels do not know the flag and return EINVAL. Another error is a refusal.
  return file < 0 && errno == EINVAL ? open_with(MFD_CLOEXEC) : file;
}

// Extending a file beyond the limit would end the process with SIGXFSZ.
bool IsFileSizeAllowed(size_t bytes) {
  constexpr int kFileSize = 1;  // RLIMIT_FSIZE, whose header trace/ may not include
  struct {
    uint64_t soft;
    uint64_t hard;
  } limit = {};
  return syscall(SYS_getrlimit, kFileSize, &limit) == 0 && limit.soft >= bytes;
}

uint8_t* Map(size_t bytes, int protection, int flags, int file) {
  void* memory = mmap(nullptr, bytes, protection, flags, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

// What the program maps next is often right below, and what it writes behind the end of that fails
// as if nothing were there.
uint8_t* MapBehindGuard(size_t bytes) {
  uint8_t* const guard =
      Map(kPageBytes + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (guard == nullptr) return nullptr;
  uint8_t* const memory = guard + kPageBytes;
  if (RawSyscall(SYS_mprotect, memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
  (void)RawSyscall(SYS_munmap, guard, kPageBytes + bytes);
  return nullptr;
}

void UnmapWithGuard(uint8_t* memory, size_t bytes) {
  (void)RawSyscall(SYS_munmap, memory - kPageBytes, kPageBytes + bytes);
}

uint64_t HashOf(const RewrittenInstruction& key) {
  uint64_t hash = key.size;
  for (unsigned i = 0; i < key.size; ++i) hash = (hash ^ key.bytes[i]) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

bool Equal(const RewrittenInstruction& a, const RewrittenInstruction& b) {
  if (a.size != b.size) return false;
  for (unsigned i = 0; i < a.size; ++i) {
    if (a.bytes[i] != b.bytes[i]) return false;
  }
  return true;
}

size_t UnitsFor(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }

}  // namespace

// This is in the file, so that processes that share it do not overwrite each other's stubs.
struct NativeRegion::Shared {
  std::atomic<uint32_t> used_units;
  uint32_t unit_count;
  uint32_t slot_count;  // a power of two
  // The slots of an open hash table of stubs hold the unit of an Entry, or 0. An entry is complete
  // before its slot is set (release, with the acquire in Find), and never changes afterwards.
  std::atomic<uint32_t> slots[];
};

struct NativeRegion::Entry {
  RewrittenInstruction key;
  uint8_t code[];
};

NativeRegion* NativeRegion::Create(size_t bytes) {
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (bytes == 0 || bytes > size_t{1} << 30) return nullptr;
  const CpuFeatures features = DetectCpuFeatures();
  if (!features.lahf || !IsFileSizeAllowed(bytes)) return nullptr;
  const int file = OpenNamelessFile();
  if (file < 0) return nullptr;
  uint8_t* writable = nullptr;
  uint8_t* executable = nullptr;
  uint8_t* own = nullptr;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    writable = Map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    executable = Map(bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file);
    own = MapBehindGuard(kPageBytes);
  }
  close(file);
  if (writable == nullptr || executable == nullptr || own == nullptr) {
    if (writable != nullptr) munmap(writable, bytes);
    if (executable != nullptr) munmap(executable, bytes);
    if (own != nullptr) UnmapWithGuard(own, kPageBytes);
    return nullptr;
  }

  auto* shared = new (writable) Shared;
  shared->unit_count = static_cast<uint32_t>(bytes / kUnit);
  shared->slot_count = 1;
  while (shared->slot_count * 2 <= shared->unit_count) shared->slot_count *= 2;
  const size_t header = sizeof(Shared) + shared->slot_count * sizeof(shared->slots[0]);
  // Handlers use any part of it.
  (void)RawSyscall(SYS_madvise, writable, header, kPopulateForWriting);
  shared->used_units.store(static_cast<uint32_t>(UnitsFor(header)), std::memory_order_relaxed);

  static_assert(sizeof(NativeRegion) <= kPageBytes);
  auto* region = new (own) NativeRegion;
  region->writable_ = writable;
  region->executable_ = executable;
  region->bytes_ = bytes;
  region->features_ = features;
  return region;
}

void NativeRegion::Destroy(NativeRegion* region) {
  if (region == nullptr) return;
  munmap(region->writable_, region->bytes_);
  munmap(region->executable_, region->bytes_);
  UnmapWithGuard(reinterpret_cast<uint8_t*>(region), kPageBytes);
}

size_t NativeRegion::used_bytes() const {
  const auto* shared = reinterpret_cast<const Shared*>(writable_);
  const size_t used = shared->used_units.load(std::memory_order_relaxed) * kUnit;
  return used < bytes_ ? used : bytes_;
}

bool NativeRegion::Contains(uint64_t address) const {
  return address - reinterpret_cast<uint64_t>(executable_) < bytes_;
}

const NativeRegion::Entry& NativeRegion::EntryOf(uint32_t unit) const {
  return *reinterpret_cast<const Entry*>(writable_ + unit * kUnit);
}

NativeRegion::Stub NativeRegion::StubOf(uint32_t unit) const {
  return reinterpret_cast<Stub>(executable_ + unit * kUnit + offsetof(Entry, code));
}

NativeRegion::Stub NativeRegion::Find(const RewrittenInstruction& key) const {
  const auto* shared = reinterpret_cast<const Shared*>(writable_);
  const uint64_t hash = HashOf(key);
  for (unsigned probe = 0; probe < kMaxProbes; ++probe) {
    const uint32_t unit =
        shared->slots[(hash + probe) & (shared->slot_count - 1)].load(std::memory_order_acquire);
    if (unit == 0) return nullptr;
    if (Equal(EntryOf(unit).key, key)) return StubOf(unit);
  }
  return nullptr;
}

// No serializing instruction is needed between writing and running the stub: no processor has
// fetched these lines yet, and other processors learn the address only from the slot.
NativeRegion::Stub NativeRegion::Add(const RewrittenInstruction& key, const uint8_t* code,
                                     size_t size) {
  auto* shared = reinterpret_cast<Shared*>(writable_);
  const auto units = static_cast<uint32_t>(UnitsFor(sizeof(Entry) + size));
  uint32_t unit = shared->used_units.load(std::memory_order_relaxed);
  do {
    if (units > shared->unit_count || unit > shared->unit_count - units) return nullptr;
  } while (
      !shared->used_units.compare_exchange_weak(unit, unit + units, std::memory_order_relaxed));

  auto* entry = reinterpret_cast<Entry*>(writable_ + unit * kUnit);
  entry->key = key;
  for (size_t i = 0; i < size; ++i) entry->code[i] = code[i];
  for (size_t i = size; i < units * kUnit - sizeof(Entry); ++i) entry->code[i] = kBreakpoint;

  const uint64_t hash = HashOf(key);
  for (unsigned probe = 0; probe < kMaxProbes; ++probe) {
    std::atomic<uint32_t>& slot = shared->slots[(hash + probe) & (shared->slot_count - 1)];
    uint32_t present = 0;
    if (slot.compare_exchange_strong(present, unit, std::memory_order_acq_rel)) {
      return StubOf(unit);
    }
    if (Equal(EntryOf(present).key, key)) return StubOf(present);
  }
  return nullptr;
}

}  // namespace hbbp::trace
