// CodeCache: decoded code, shared by all threads.
//
// Contract: looking up and adding are async-signal-safe and lock-free; the size is fixed. What is
// in the cache is compared with the program's bytes before a burst uses it for the first time, so
// that unmapped, replaced and rewritten code is noticed. Full: Add fails, until the worker calls
// FlushIfFull.
#ifndef HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_
#define HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/xsave_layout.h"

namespace hbbp::trace {

class NativeRegion;

// Memory that is readable and that look-ahead must not touch all the same: the kernel's vvar
// pages, device memory. Code there is not run either.
struct ForbiddenRange {
  uint64_t start;
  uint64_t end;
};

class CodeCache {
 public:
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // `region` may be nullptr. nullptr if there is no memory. Not async-signal-safe, as Destroy.
  static CodeCache* Create(size_t bytes, NativeRegion* region);
  static void Destroy(CodeCache* cache);

  // For the worker: replaces the list (at most 64 ranges, sorted, are kept). Any time.
  void SetForbiddenRanges(const ForbiddenRange* ranges, size_t count);

  // For the worker: from now on pages that are not in memory are not read. Each page of a burst
  // costs a system call then.
  void SetReadsMayBlock() { reads_may_block_.store(true, std::memory_order_relaxed); }
  bool reads_may_block() const { return reads_may_block_.load(std::memory_order_relaxed); }

  // For the worker: empties the cache if it is nearly full and no burst is running in it now. Call
  // it now and then. True if it did.
  bool FlushIfFull();

  // For the worker, now and then: more room than bursts will take until it comes again.
  void GrowAhead();

  // For the worker, once the process has lived for a while.
  void MakeFaster();

  bool IsHalfFull() const;

  // Is the address in its memory?
  bool Owns(uint64_t address) const { return memory_.Contains(address); }

  size_t used_bytes() const;

  // What follows is for LookAhead. Between StartRun, if it was true, and EndRun, blocks stay.
  bool StartRun();
  void EndRun();
  uint64_t NewBurst() { return bursts_.fetch_add(1, std::memory_order_relaxed) + 1; }

  const Block* At(BlockRef block) const {
    return reinterpret_cast<const Block*>(blocks_ + block * kBlockUnit);
  }
  // Block 0 is none: it has no ip and no burst verified it.
  const uint8_t* blocks() const { return blocks_; }
  BlockRef RefOf(const Block* block) const {
    return static_cast<BlockRef>((reinterpret_cast<const uint8_t*>(block) - blocks_) / kBlockUnit);
  }
  BlockRef Find(uint64_t ip) const;
  // Copies the block; replaces one with the same ip. kNoBlock if there is no room.
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

  explicit CodeCache(GrowingMemory&& memory) : memory_(static_cast<GrowingMemory&&>(memory)) {}
  ~CodeCache() = default;
  void FindVdso();
  BlockRef Allocate(size_t bytes);
  size_t HeadBytes() const { return static_cast<size_t>(blocks_ - memory_.start()); }

  GrowingMemory memory_;  // that this object and all below lies in
  NativeRegion* region_ = nullptr;
  uint8_t* blocks_ = nullptr;
  uint32_t units_ = 0;
  uint32_t bucket_mask_ = 0;
  // Low half: of the ip; high half: the block. Never removed one by one.
  std::atomic<uint64_t>* buckets_ = nullptr;
  uint64_t vdso_start_ = 0;
  uint64_t vdso_bytes_ = 0;
  std::atomic<bool> reads_may_block_{false};
  XsaveLayout xsave_layout_;

  // Written now and then, so apart from what is only read.
  alignas(64) std::atomic<uint32_t> used_units_{0};
  std::atomic<bool> add_failed_{false};
  alignas(64) std::atomic<uint32_t> runs_{0};  // and kFlushing
  std::atomic<uint64_t> bursts_{0};
  alignas(64) std::atomic<uint32_t> forbidden_version_{0};  // odd: being changed
  ForbiddenList forbidden_{};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_CODE_CACHE_H_
