// BurstRecorder: what a burst writes. Its branches, the instructions in its streams, when it began
// and for how many periods it stands go to the buffer of its thread, in one part or several; the
// worker drains them.
//
// A burst is begun, recorded branch by branch or run by run, and finished. Where a buffer is full,
// or where branches could not be recorded, the next part starts. A part becomes visible to the
// worker as a whole.
//
// Contract: AllowThread, and Begin to Finish, are async-signal-safe and called by the thread of the
// slot; Finish and HandOverBuffer by the worker for a thread that has ended. Everything else is the
// worker's. Memory stays mapped for ever. What there is no buffer for is counted and dropped.
#ifndef HBBP_LIB_TRACE_BURST_RECORDER_H_
#define HBBP_LIB_TRACE_BURST_RECORDER_H_

#include <cstdint>

#include "trace/burst_buffer.h"
#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/interpreter/taken_branch.h"
#include "trace/thread_slots.h"

namespace hbbp::trace {

struct BurstView {
  uint32_t tid;
  uint64_t time_ns;
  uint32_t periods;       // of sampling that the burst stands for
  uint64_t instructions;  // in the streams that end in this part
  const TakenBranch* branches;
  uint32_t count;
  PartEnd end;  // what the next one of this thread is
};

class BurstRecorder {
 public:
  using Visitor = void (*)(const BurstView&, void*);

  static constexpr uint32_t kMaxBurstBranches = 65536;
  // So many of any length fit into the buffers between two calls of Drain.
  static constexpr uint32_t kBufferedBursts = 64;

  constexpr explicit BurstRecorder(ThreadSlots* slots) : slots_(slots) {}

  // Address space for the buffers of so many threads, or as little as will do. False if there is
  // none.
  bool Reserve(uint32_t max_threads, bool is_short);
  void Release();  // after Reserve, also if it failed
  void GrowAhead();
  bool Owns(uint64_t address) const { return buffer_memory_.Contains(address); }

  // Of a burst, from now on. Instructions: that are interpreted or walked; 0: the default.
  void SetLimits(uint32_t branches, uint64_t instructions);
  // Calls visit(view, visitor) for what was recorded since the last call.
  void Drain(Visitor visit, void* visitor);
  // Of a thread that has ended. False if it had none: then there is nothing to drain.
  bool HandOverBuffer(ThreadSlot* slot);

  // For a slot that is used for the first time.
  void AllowThread() { buffers_.Allow(kBuffersPerThread); }

  // False if there is no buffer for it.
  bool Begin(ThreadSlot* slot, uint32_t periods);
  // Where the next branches go; nullptr if there is no buffer for them.
  TakenBranch* Room(ThreadSlot* slot, uint32_t* capacity);
  // A run has written to Room.
  void CountRun(ThreadSlot* slot, const RunResult& result);
  // One branch, the last of slot->instructions. False if there is no buffer for it.
  bool Record(ThreadSlot* slot, const TakenBranch& branch);
  // False if there is no buffer for it: then this part remains the last one.
  bool StartNextPart(ThreadSlot* slot, PartEnd end);
  void Finish(ThreadSlot* slot);

  // Branches and instructions until the burst is full. It may have more instructions than it
  // should: a system call that it waits for counts as one, even behind the last.
  uint32_t BranchesLeft(const ThreadSlot& slot) const {
    return max_branches_ - slot.earlier_branches - slot.branches;
  }
  uint64_t InstructionsLeft(const ThreadSlot& slot) const {
    return slot.instructions < max_instructions_ ? max_instructions_ - slot.instructions : 0;
  }

 private:
  static constexpr uint32_t kBuffersPerThread = 2;

  bool TakeBufferBehind(ThreadSlot* slot, uint32_t used, uint32_t* fresh);
  void StartPart(ThreadSlot* slot, uint32_t fresh);
  void CommitPart(ThreadSlot* slot, PartEnd end);
  void DrainBuffer(BurstBuffer* buffer, Visitor visit, void* visitor);

  ThreadSlots* slots_;
  uint32_t max_branches_ = 0;
  uint64_t max_instructions_ = 0;
  BurstBufferPool buffers_;
  GrowingMemory buffer_memory_;
  uint32_t free_buffers_ = 0;  // allowed, besides those of the slots
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BURST_RECORDER_H_
