// ProcessTracer interprets the branches that a stopped thread of another process takes next
// (docs/reference/hardware.md, "From outside"). The thread does not notice: registers and memory
// are copied.
//
// What it cannot follow ends a burst: a system call, the clock of the vdso, an instruction that the
// interpreter does not have. There are no breakpoints that would wait behind it.
//
// Contract: one thread at a time uses an object.
#ifndef HBBP_LIB_ATTACH_PROCESS_TRACER_H_
#define HBBP_LIB_ATTACH_PROCESS_TRACER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attach/process_pages.h"
#include "attach/thread_stop.h"
#include "base/status.h"
#include "base/taken_branch.h"
#include "trace/burst_buffer.h"
#include "trace/burst_recorder.h"
#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/native/native_stub.h"

namespace hbbp {

struct TracedBurst {
  std::span<const TakenBranch> branches;  // valid until the next call
  uint64_t instructions = 0;              // in its streams
  uint64_t interpreted = 0;               // instructions in all
  uint64_t decoded = 0;                   // that were not known before
  trace::StopReason end = trace::StopReason::kFull;
  trace::BurstCost cost;
  uint64_t read_pages = 0;          // of the process
  uint64_t unread_pages = 0;        // were copied in vain
  bool is_pagemap_refused = false;  // so that page faults are not known
};

struct Verification {
  uint64_t branches = 0;       // that the thread has taken as predicted
  uint64_t disagreements = 0;  // 0 or 1: what follows a wrong one is not compared
  uint64_t disagreement_at = 0;
  bool registers_disagree = false;  // at the end, if the burst is full
};

class ProcessTracer {
 public:
  // The error is kNoMemory.
  static StatusOr<std::unique_ptr<ProcessTracer>> Create(pid_t pid);
  ~ProcessTracer();
  ProcessTracer(const ProcessTracer&) = delete;
  ProcessTracer& operator=(const ProcessTracer&) = delete;

  // `thread` is stopped, and of the process.
  TracedBurst Trace(const ThreadStop& thread, const trace::BurstLimits& limits);

  // Steps the thread through the burst that was traced last, and compares, up to a restartable
  // sequence. When this process dies
  // meanwhile, so does the other one: its trap flag stays set.
  Verification Verify(ThreadStop* thread, const TracedBurst& burst);

  const trace::CodeCache* code_cache() const { return code_cache_; }
  // Empties the code cache if it is nearly full. Returns whether it did.
  bool FlushIfFull() { return code_cache_->FlushIfFull(); }
  // Makes room for the next burst; call it when the thread runs on.
  void GrowAhead() { code_cache_->GrowAhead(); }

  uint64_t Bytes() const;

 private:
  explicit ProcessTracer(pid_t pid);
  bool MapMemory();
  const pid_t pid_;
  ProcessPages pages_;
  trace::NativeRegion* region_ = nullptr;
  trace::CodeCache* code_cache_ = nullptr;
  trace::GrowingMemory memory_;  // of the look-ahead
  trace::LookAhead* look_ahead_ = nullptr;
  std::vector<TakenBranch> branches_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_PROCESS_TRACER_H_
