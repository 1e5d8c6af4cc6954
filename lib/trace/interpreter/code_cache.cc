// Contract: see the header. The release of an entry publishes a block, and its acquire finds it.
// Successors (micro_op.h) are read and written relaxed, because a thread enters a block through one
// only after it has verified the block itself, which acquires.
#include "trace/interpreter/code_cache.h"

#include <elf.h>
#include <sys/auxv.h>

#include <new>

#include "base/linux_constants.h"
#include "trace/interpreter/large_memory.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kFlushing = 1u << 31;
constexpr unsigned kProbesNearby = 8;
constexpr unsigned kMaxProbes = 64;
constexpr uint32_t kFewestEntries = 64;
constexpr size_t kBytesPerEntry = 128;  // of blocks, in a full cache
constexpr uint32_t kTableGrowth = 8;
constexpr size_t kBytesAhead = 512 << 10;
constexpr size_t kBytesInMemory = 256 << 10;

constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

uint32_t HashOf(uint64_t value) {
  return static_cast<uint32_t>((value * 0x9e3779b97f4a7c15u) >> 32);
}

// Returns where an ip is in a table, or where its search goes on after so many probes. Blocks of
// one cache line of code are first looked for in one line of entries, as a burst finds both cold.
uint32_t EntryNumber(uint64_t ip, unsigned probe) {
  if (probe < kProbesNearby) return HashOf(ip >> 6) * 8 + ((ip >> 3) & 7) + probe;
  return HashOf(ip) + probe;
}

uint64_t Entry(uint64_t ip, BlockRef block) { return (uint64_t{block} << 32) | (ip & 0xffffffff); }

}  // namespace

CodeCache* CodeCache::Create(size_t bytes, NativeRegion* region) {
  uint32_t entries = kFewestEntries;
  while (entries * kBytesPerEntry < bytes) entries *= 2;
  uint32_t entries_of[kTables];
  size_t all_entries = 0;
  for (unsigned i = kTables; i-- > 0; entries /= kTableGrowth) {
    entries_of[i] = entries > kFewestEntries ? entries : kFewestEntries;
    all_entries += entries_of[i];
  }
  const size_t head = RoundUp(sizeof(CodeCache) + all_entries * sizeof(uint64_t), 64);
  const size_t body = RoundUp(bytes, 64);
  if (body / kBlockUnit > UINT32_MAX / 2) return nullptr;
  GrowingMemory memory;
  if (!memory.Reserve(head + body)) return nullptr;
  if (!memory.Use(head)) {
    memory.Release();
    return nullptr;
  }
  uint8_t* start = memory.start();
  auto* cache = new (start) CodeCache(static_cast<GrowingMemory&&>(memory));
  cache->region_ = region;
  auto* entry = reinterpret_cast<std::atomic<uint64_t>*>(start + sizeof(CodeCache));
  for (unsigned i = 0; i < kTables; ++i) {
    cache->tables_[i] = {entry, entries_of[i] - 1};
    entry += entries_of[i];
  }
  cache->blocks_ = start + head;
  cache->units_ = static_cast<uint32_t>(body / kBlockUnit);
  cache->used_units_.store(1, std::memory_order_relaxed);
  cache->PopulateTable(0);
  cache->GrowAhead();
  cache->FindVdso();
  cache->xsave_layout_.Find();
  return cache;
}

void CodeCache::Destroy(CodeCache* cache) {
  if (cache == nullptr) return;
  GrowingMemory memory(static_cast<GrowingMemory&&>(cache->memory_));
  memory.Release();
}

void CodeCache::FindVdso() {
  const uint64_t start = getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(start + header->e_phoff);
  uint64_t end = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    const uint64_t segment_end = segments[i].p_vaddr + segments[i].p_memsz;
    if (segment_end > end) end = segment_end;
  }
  vdso_start_ = start;
  vdso_bytes_ = RoundUp(end, kPageBytes);
}

void CodeCache::SetForbiddenRanges(const ForbiddenRange* ranges, size_t count) {
  if (count > kMaxForbidden) count = kMaxForbidden;
  forbidden_version_.fetch_add(1, std::memory_order_acq_rel);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < count; ++i) {
    forbidden_.start[i].store(ranges[i].start, std::memory_order_relaxed);
    forbidden_.end[i].store(ranges[i].end, std::memory_order_relaxed);
  }
  forbidden_.count.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
  forbidden_version_.fetch_add(1, std::memory_order_release);
}

bool CodeCache::IsForbidden(uint64_t page_address) const {
  const uint32_t version = forbidden_version_.load(std::memory_order_acquire);
  const uint32_t count = forbidden_.count.load(std::memory_order_relaxed);
  bool found = false;
  for (uint32_t i = 0; i < count && !found; ++i) {
    found = page_address + 4095 >= forbidden_.start[i].load(std::memory_order_relaxed) &&
            page_address < forbidden_.end[i].load(std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  // It does not wait for the worker, which this signal may even have interrupted.
  const bool changed =
      (version & 1) != 0 || forbidden_version_.load(std::memory_order_relaxed) != version;
  return found || changed;
}

bool CodeCache::StartRun() {
  if ((runs_.fetch_add(1, std::memory_order_acq_rel) & kFlushing) == 0) return true;
  runs_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void CodeCache::EndRun() { runs_.fetch_sub(1, std::memory_order_release); }

bool CodeCache::FlushIfFull() {
  const uint32_t used = used_units_.load(std::memory_order_relaxed);
  if (!add_failed_.load(std::memory_order_relaxed) && used < units_ - units_ / 8) return false;
  return Flush();
}

bool CodeCache::SetRecordedKinds(RecordedKinds kinds) {
  if (kinds == recorded_kinds()) return true;
  if (used_units_.load(std::memory_order_relaxed) > 1 && !Flush()) return false;
  recorded_kinds_.store(kinds, std::memory_order_relaxed);
  return true;
}

bool CodeCache::Flush() {
  uint32_t none = 0;
  if (!runs_.compare_exchange_strong(none, kFlushing, std::memory_order_acq_rel)) return false;
  for (unsigned i = 0; i <= LastTable(); ++i) {
    const Table& table = tables_[i];
    for (uint32_t j = 0; j <= table.mask; ++j) table.entries[j].store(0, std::memory_order_relaxed);
  }
  used_units_.store(1, std::memory_order_relaxed);
  add_failed_.store(false, std::memory_order_relaxed);
  runs_.fetch_and(~kFlushing, std::memory_order_release);
  return true;
}

// Blocks are entered anywhere in a table, so all of its pages are put into memory at once.
void CodeCache::PopulateTable(unsigned number) {
  const Table& table = tables_[number];
  auto* const begin = reinterpret_cast<uint8_t*>(table.entries);
  auto* const end = reinterpret_cast<uint8_t*>(table.entries + table.mask + 1);
  const size_t skipped = static_cast<size_t>(begin - memory_.start()) % kPageBytes;
  PopulatePages(begin - skipped, static_cast<size_t>(end - begin) + skipped);
  populated_tables_ = number + 1;
}

// If this fails, a handler makes the system call later, or a burst ends.
void CodeCache::GrowAhead() {
  const size_t used = HeadBytes() + used_bytes();
  const size_t reserved = memory_.reserved();
  const size_t wanted = used + kBytesAhead < reserved ? used + kBytesAhead : reserved;
  if (!memory_.Use(wanted) || used_bytes() <= kBlockUnit) return;
  const unsigned last = LastTable();
  const bool is_half_full = used_bytes() > (size_t{tables_[last].mask} + 1) * kBytesPerEntry / 2;
  const unsigned wanted_tables = last + (is_half_full ? 2 : 1);
  while (populated_tables_ < wanted_tables && populated_tables_ < kTables) {
    PopulateTable(populated_tables_);
  }
  const size_t start = populated_bytes_ > used ? populated_bytes_ : used / kPageBytes * kPageBytes;
  const size_t end =
      (used + kBytesInMemory < wanted ? used + kBytesInMemory : wanted) / kPageBytes * kPageBytes;
  if (end < start + kBytesInMemory / 4) return;
  PopulatePages(memory_.start() + start, end - start);
  populated_bytes_ = end;
}

void CodeCache::Prewarm() {
  constexpr size_t kUsualBytes = 4 << 20;
  const size_t bytes = kUsualBytes < memory_.reserved() ? kUsualBytes : memory_.reserved();
  if (memory_.Use(bytes)) UseHugePages(this, bytes);
}

bool CodeCache::IsHalfFull() const {
  return used_units_.load(std::memory_order_relaxed) > units_ / 2;
}

size_t CodeCache::used_bytes() const {
  return used_units_.load(std::memory_order_relaxed) * kBlockUnit;
}

// Returns the number of the table that suffices for what the cache holds now.
unsigned CodeCache::LastTable() const {
  unsigned table = 0;
  const size_t used = used_bytes();
  while (table < kTables - 1 && used > (size_t{tables_[table].mask} + 1) * kBytesPerEntry) ++table;
  return table;
}

bool CodeCache::Holds(uint64_t entry, uint64_t ip) const {
  return (entry & 0xffffffff) == (ip & 0xffffffff) &&
         At(static_cast<BlockRef>(entry >> 32))->ip == ip;
}

BlockRef CodeCache::FindIn(const Table& table, uint64_t ip) const {
  for (unsigned probe = 0; probe < kMaxProbes; ++probe) {
    const uint64_t entry =
        table.entries[EntryNumber(ip, probe) & table.mask].load(std::memory_order_acquire);
    if (entry == 0) return kNoBlock;
    if (Holds(entry, ip)) return static_cast<BlockRef>(entry >> 32);
  }
  return kNoBlock;
}

// Of two blocks with one ip, a later table mostly has the newer. If another thread moves or adds
// one meanwhile, it may be the older: whoever enters a block compares it with the code, and
// replaces it.
BlockRef CodeCache::Find(uint64_t ip) const {
  const unsigned last = LastTable();
  for (unsigned i = last + 1; i-- > 0;) {
    const BlockRef found = FindIn(tables_[i], ip);
    if (found == kNoBlock) continue;
    if (i != last) (void)Enter(tables_[last], ip, found);
    return found;
  }
  return kNoBlock;
}

BlockRef CodeCache::Allocate(size_t bytes) {
  const auto units = static_cast<uint32_t>(RoundUp(bytes, kBlockUnit) / kBlockUnit);
  uint32_t used = used_units_.load(std::memory_order_relaxed);
  do {
    if (units > units_ || used > units_ - units ||
        !memory_.Use(HeadBytes() + size_t{used + units} * kBlockUnit)) {
      add_failed_.store(true, std::memory_order_relaxed);
      return kNoBlock;
    }
  } while (!used_units_.compare_exchange_weak(used, used + units, std::memory_order_relaxed));
  return used;
}

// Returns false if there is no room.
bool CodeCache::Enter(const Table& table, uint64_t ip, BlockRef block) const {
  for (unsigned probe = 0; probe < kMaxProbes; ++probe) {
    std::atomic<uint64_t>& slot = table.entries[EntryNumber(ip, probe) & table.mask];
    uint64_t entry = slot.load(std::memory_order_acquire);
    // A slot never changes from one ip to another.
    while (entry == 0 || Holds(entry, ip)) {
      if (slot.compare_exchange_weak(entry, Entry(ip, block), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        return true;
      }
    }
  }
  return false;
}

BlockRef CodeCache::Add(const Block& block, size_t bytes) {
  const BlockRef added = Allocate(bytes);
  if (added == kNoBlock) return kNoBlock;
  __builtin_memcpy(blocks_ + added * kBlockUnit, &block, bytes);
  if (Enter(tables_[LastTable()], block.ip, added)) return added;
  add_failed_.store(true, std::memory_order_relaxed);
  return kNoBlock;
}

}  // namespace hbbp::trace
