// ThreadSlot: what the tracer knows of one thread.
//
// Contract: plain memory, found by the number that si_perf_data carries. What is not atomic
// belongs to the handler that runs in the thread; the worker may touch it only after the thread
// has ended or `in_handler` is 0 while tracing is disabled.
#ifndef HBBP_LIB_TRACE_THREAD_SLOT_H_
#define HBBP_LIB_TRACE_THREAD_SLOT_H_

#include <atomic>
#include <cstdint>

#include "trace/breakpoint.h"
#include "trace/counter.h"
#include "trace/interpreter/look_ahead.h"

namespace hbbp::trace {

struct alignas(64) ThreadSlot {
  static constexpr uint64_t kNoBranch = UINT64_MAX;

  std::atomic<uint32_t> buffer;  // index + 1 of the one that it fills
  std::atomic<uint32_t> in_handler;
  std::atomic<uint32_t> has_breakpoint;

  // The burst that is being recorded.
  bool is_waiting;            // for the breakpoint
  bool expects_stack;         // stack_pointer is what it must be at the breakpoint
  bool makes_progress;        // hits since the last sample
  bool restarts;              // mode verify: what comes next was not predicted
  bool has_parts;             // earlier parts of the burst were committed
  uint32_t header;            // entry of its header in the buffer
  uint32_t branches;          // recorded in this part
  uint32_t earlier_branches;  // recorded in earlier parts
  uint32_t hits;
  uint32_t foreign_hits;  // of this breakpoint, in other frames
  uint64_t instructions;  // since the burst began
  uint64_t last_branch;   // `instructions` behind it; kNoBranch: none since the last gap
  uint64_t in_streams;    // instructions between branches, in this part
  uint64_t stack_pointer;
  Breakpoint breakpoint;
  LookAhead* look_ahead;  // that is one step ahead, in mode verify
  bool keeps_reads;       // the burst does, in mode verify
  Divergence divergence;  // from its prediction, since then; the first one of the burst
  uint64_t diverged_at;   // the branch that it was found at then
  uint64_t verified_to;   // mode verify: the address that the program was last seen at

  uint32_t sampler;          // whose samples it takes; 0: any
  uint32_t foreign_samples;  // that came from another one since
  bool is_warm;              // had a burst, the first of which finds everything cold and is free
  int64_t budget_ns;         // handler time that samples have paid for
  uint32_t skipped;          // periods since the last burst, over budget
  uint32_t periods;          // of sampling that the burst stands for

  std::atomic<uint64_t> counters[kCounters];

  // The worker's.
  uint32_t seen_buffer;

  // Only the handler of this thread writes it.
  void Add(Counter counter, uint64_t value = 1) {
    std::atomic<uint64_t>& sum = counters[static_cast<int>(counter)];
    sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_THREAD_SLOT_H_
