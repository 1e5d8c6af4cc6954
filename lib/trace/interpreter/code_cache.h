// CodeCache holds decoded code, shared by all threads.
//
// Contract: Find and Add are async-signal-safe and lock-free; the size is fixed. A burst compares a
// block with the program's bytes before it uses it for the first time, so that unmapped, replaced
// and rewritten code is noticed. When the cache is full, Add fails until the worker calls
// FlushIfFull.
#ifndef HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_
#define HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/recorded_access.h"
#include "trace/interpreter/access_timing.h"
#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/xsave_layout.h"

namespace hbbp::trace {

class NativeRegion;

// A range of readable memory that look-ahead must not read or run: the kernel's vvar pages, device
// memory.
struct ForbiddenRange {
  uint64_t start;
  uint64_t end;
};

class CodeCache {
 public:
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // `region` may be nullptr. Returns nullptr if there is no memory. Create and Destroy are not
  // async-signal-safe.
  static CodeCache* Create(size_t bytes, NativeRegion* region);
  static void Destroy(CodeCache* cache);

  // For the worker, at any time: replaces the list (at most 64 ranges, sorted, are kept).
  void SetForbiddenRanges(const ForbiddenRange* ranges, size_t count);

  // For the worker: from now on pages that are not in memory are not read. Each page of a burst
  // then costs a system call.
  void SetReadsMayBlock() { reads_may_block_.store(true, std::memory_order_relaxed); }
  bool reads_may_block() const { return reads_may_block_.load(std::memory_order_relaxed); }

  // For the worker: has bursts time their first load of each line of memory from now on, and know
  // whether they begin in a new page.
  void SetAccessTiming(AccessTiming timing, bool counts_page_faults = false) {
    access_timing_.store(timing, std::memory_order_relaxed);
    counts_page_faults_.store(counts_page_faults, std::memory_order_relaxed);
  }
  bool counts_page_faults() const { return counts_page_faults_.load(std::memory_order_relaxed); }
  AccessTiming access_timing() const { return access_timing_.load(std::memory_order_relaxed); }

  // For the worker: has bursts record these kinds of accesses and values from now on. Returns
  // false, and changes nothing, if that needs an empty cache and a burst runs in it now.
  bool SetRecordedKinds(RecordedKinds kinds);
  RecordedKinds recorded_kinds() const { return recorded_kinds_.load(std::memory_order_relaxed); }

  // For the worker, at intervals: empties the cache if it is nearly full and no burst runs in it
  // now. Returns whether it did.
  bool FlushIfFull();

  // For the worker, at intervals: makes more room than bursts will use before the next call. Once
  // there are blocks, some of that is in memory, because a burst pays for each page that it is the
  // first to write.
  void GrowAhead();

  // Gives back address space beyond so many bytes of blocks that is not in use. The cache is then
  // full earlier.
  void ResetInChild() { memory_.ShrinkInChild(); }
  void Shrink(size_t bytes) { memory_.Shrink(HeadBytes() + bytes); }

  // For the worker, when the process is long-lived: makes look-ups faster.
  void Prewarm();

  bool IsHalfFull() const;

  // Returns whether the address is in the memory of the cache.
  bool Owns(uint64_t address) const { return memory_.Contains(address); }

  size_t used_bytes() const;

  // LookAhead calls the functions below. If StartRun returned true, blocks stay valid until EndRun.
  bool StartRun();
  void EndRun();
  uint64_t NewBurst() { return bursts_.fetch_add(1, std::memory_order_relaxed) + 1; }

  const Block* At(BlockRef block) const {
    return reinterpret_cast<const Block*>(blocks_ + block * kBlockUnit);
  }
  // Block 0 means none: it has no ip, and no burst verified it.
  const uint8_t* blocks() const { return blocks_; }
  BlockRef RefOf(const Block* block) const {
    return static_cast<BlockRef>((reinterpret_cast<const uint8_t*>(block) - blocks_) / kBlockUnit);
  }
  BlockRef Find(uint64_t ip) const;
  // Copies the block; replaces one with the same ip. Returns kNoBlock if there is no room.
  BlockRef Add(const Block& block, size_t bytes);

  bool IsForbidden(uint64_t page_address) const;
  bool IsInVdso(uint64_t ip) const { return ip - vdso_start_ < vdso_bytes_; }
  NativeRegion* region() const { return region_; }
  const XsaveLayout& xsave_layout() const { return xsave_layout_; }

 private:
  static constexpr unsigned kMaxForbidden = 64;
  struct ForbiddenList {
    std::atomic<uint32_t> count;
    std::atomic<uint64_t> start[kMaxForbidden];
    std::atomic<uint64_t> end[kMaxForbidden];
  };

  // The low half of an entry is from the ip, the high half is the block. Entries are never removed
  // one by one.
  struct Table {
    std::atomic<uint64_t>* entries;
    uint32_t mask;
  };
  // A block is entered into the first table that suffices for what the cache holds then, and into
  // later ones when it is found. So a process with few blocks touches few pages.
  static constexpr unsigned kTables = 3;

  explicit CodeCache(GrowingMemory&& memory) : memory_(static_cast<GrowingMemory&&>(memory)) {}
  ~CodeCache() = default;
  void FindVdso();
  bool Flush();
  BlockRef Allocate(size_t bytes);
  unsigned LastTable() const;
  void PopulateTable(unsigned number);
  bool Holds(uint64_t entry, uint64_t ip) const;
  BlockRef FindIn(const Table& table, uint64_t ip) const;
  bool Enter(const Table& table, uint64_t ip, BlockRef block) const;
  size_t HeadBytes() const { return static_cast<size_t>(blocks_ - memory_.start()); }

  GrowingMemory memory_;  // contains this object and all tables below
  NativeRegion* region_ = nullptr;
  uint8_t* blocks_ = nullptr;
  uint32_t units_ = 0;
  Table tables_[kTables] = {};
  // These are the worker's.
  size_t populated_bytes_ = 0;
  unsigned populated_tables_ = 0;
  uint64_t vdso_start_ = 0;
  uint64_t vdso_bytes_ = 0;
  std::atomic<bool> reads_may_block_{false};
  std::atomic<RecordedKinds> recorded_kinds_{0};
  std::atomic<AccessTiming> access_timing_{AccessTiming()};
  std::atomic<bool> counts_page_faults_{false};
  static_assert(std::atomic<AccessTiming>::is_always_lock_free);
  XsaveLayout xsave_layout_;

  // These are written now and then, so they do not share a cache line with members that are only
  // read.
  alignas(64) std::atomic<uint32_t> used_units_{0};
  std::atomic<bool> add_failed_{false};
  alignas(64) std::atomic<uint32_t> runs_{0};  // number of runs, with kFlushing
  std::atomic<uint64_t> bursts_{0};
  alignas(64) std::atomic<uint32_t> forbidden_version_{0};  // odd while the list changes
  ForbiddenList forbidden_{};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_
