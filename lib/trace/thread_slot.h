// ThreadSlot holds what the tracer knows of one thread.
//
// Contract: plain memory, found by the number that si_perf_data carries. Members that are not
// atomic belong to the handler that runs in the thread; the worker may touch them only after the
// thread has ended, or while tracing is disabled and `in_handler` is 0.
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

  std::atomic<uint32_t> buffer;  // index + 1 of the buffer that the thread fills
  std::atomic<uint32_t> in_handler;
  std::atomic<uint32_t> has_breakpoint;

  // These describe the burst that is being recorded.
  bool is_waiting;               // the burst waits for the breakpoint
  bool expects_stack;            // a hit must have stack_pointer
  bool makes_progress;           // the breakpoint was hit since the last sample
  bool restarts;                 // mode verify: what comes next was not predicted
  bool has_parts;                // earlier parts of the burst were committed
  uint32_t header;               // entry of the header in the buffer
  uint32_t branches;             // branches recorded in this part
  uint32_t accesses;             // or accesses to memory, if it has no branches
  uint32_t earlier_branches;     // branches recorded in earlier parts
  uint32_t branches_before_gap;  // of these, those before the last gap
  uint64_t last_target;          // of the last branch, if accesses are recorded
  uint32_t hits;
  uint32_t foreign_hits;  // hits of this breakpoint in other frames
  uint64_t instructions;  // instructions since the burst began
  uint64_t
      last_branch;  // `instructions` after the last branch; kNoBranch if none since the last gap
  uint64_t in_streams;      // instructions between branches of this part
  MemoryUse memory_use;     // of the burst
  bool begins_in_new_page;  // of the burst; LookAheadStats says what it is
  uint16_t width_ticks;     // BurstCost says what it is
  bool is_limited;          // its end is a limit of the interpreter, wherever it may begin
  uint64_t stack_pointer;
  Breakpoint breakpoint;
  LookAhead* look_ahead;  // mode verify: the look-ahead that is one step ahead
  bool keeps_reads;       // mode verify: the burst keeps what it reads
  Divergence divergence;  // mode verify: the first divergence of the burst
  uint64_t diverged_at;   // mode verify: the branch at which it was found
  uint64_t verified_to;   // mode verify: the address where the program was last seen

  uint32_t sampler;          // the sampler whose samples the thread accepts, or 0 for any
  uint32_t foreign_samples;  // samples of another one since
  bool had_first_sample;     // which stands for the first period of the sampler, still to end
  bool is_warm;       // the first burst, which finds cold caches and costs no budget, is over
  int64_t budget_ns;  // handler time that CPU time has added and bursts have not used
  // These are of the CPU time of the thread.
  uint64_t budget_until_ns;   // the time up to which it has added to the budget; 0: no sample yet
  uint64_t handler_begin_ns;  // when the handler that runs began
  uint64_t handlers_ns;       // time of handlers since the burst began
  uint64_t earlier_handlers_ns;  // time of handlers before the burst, since the one before it began
  uint32_t skipped;              // periods since the last burst that began none
  uint32_t samples_to_burst;     // periods from the last burst to the next; 0: not drawn yet
  uint32_t periods;              // sampling periods that the burst represents

  bool has_marked_stack;  // of the slot, whatever thread it has

  std::atomic<uint64_t> counters[kCounters];

  // Only the worker uses this.
  uint32_t seen_buffer;

  // Only the handler of this thread calls it.
  void Add(Counter counter, uint64_t value = 1) {
    std::atomic<uint64_t>& sum = counters[static_cast<int>(counter)];
    sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_THREAD_SLOT_H_
