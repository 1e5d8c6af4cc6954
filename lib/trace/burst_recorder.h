// BurstRecorder writes bursts to buffers: the branches, the instructions in the streams, the time
// of the start and the number of sampling periods go to the buffer of the thread, in one part or
// several; the worker drains them.
//
// A burst begins, is recorded branch by branch or run by run, and is finished. Where a buffer is
// full, or where branches could not be recorded, the next part starts. A part becomes visible to
// the worker as a whole.
//
// Contract: AllowThread, and Begin to Finish, are async-signal-safe and called by the thread of the
// slot; the worker calls Finish and HandOverBuffer for a thread that has ended. Only the worker
// calls the other functions. Memory stays mapped for ever. Bursts without a buffer are counted and
// dropped.
#ifndef HBBP_LIB_TRACE_BURST_RECORDER_H_
#define HBBP_LIB_TRACE_BURST_RECORDER_H_

#include <atomic>
#include <cstdint>

#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "base/wakeup.h"
#include "trace/burst_buffer.h"
#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/thread_slots.h"

namespace hbbp::trace {

struct BurstView {
  uint32_t tid;
  uint64_t time_ns;
  uint32_t periods;       // sampling periods that the burst represents
  uint64_t instructions;  // instructions in the streams that end in this part
  const TakenBranch* branches;
  uint32_t count;
  const RecordedAccess* accesses;  // of branches since the last gap, which were in earlier parts
  uint32_t access_count;
  PartEnd end;     // what follows in the same thread
  BurstCost cost;  // of the last part
};

// BurstLimits says when a burst is full.
struct BurstLimits {
  uint32_t branches = 0;
  // If it is not 0, the burst ends at the first taken branch from so many instructions on. A stream
  // is in the bursts that begin before so many - 1 instructions, however long it is: those up to
  // the branch to it. With a burst that begins at each instruction, each stream is counted so
  // often.
  uint64_t instructions = 0;
  // So many are interpreted or walked at most; 0: the default.
  uint64_t max_instructions = 0;

  // Beyond the default a burst is taken for a loop that waits for another thread.
  constexpr uint64_t MaxInstructions() const {
    constexpr uint64_t kInstructionsPerBranch = 40;
    constexpr uint64_t kMinInstructions = 2048;
    constexpr uint64_t kMaxTimesInstructions = 7;
    if (max_instructions != 0) return max_instructions;
    return instructions != 0 ? instructions * kMaxTimesInstructions
                             : kMinInstructions + branches * kInstructionsPerBranch;
  }
};

class BurstRecorder {
 public:
  using Visitor = void (*)(const BurstView&, void*);

  static constexpr uint32_t kMaxBurstBranches = 65536;
  // So many bursts of any length fit into the buffers between two calls of Drain.
  static constexpr uint32_t kBufferedBursts = 64;

  constexpr explicit BurstRecorder(ThreadSlots* slots) : slots_(slots) {}

  // Reserves address space for the buffers of so many threads, or the minimum if `is_short`.
  // Returns false if there is none.
  bool Reserve(uint32_t max_threads, bool is_short);
  void Release();  // call it after Reserve, also if that failed
  void GrowAhead();
  // Gives back address space beyond the minimum for so many threads that is not in use.
  void Shrink(uint32_t threads);
  void ResetInChild() { buffer_memory_.ShrinkInChild(); }
  bool Owns(uint64_t address) const { return buffer_memory_.Contains(address); }

  // From now on; bursts that record accesses or values need more room.
  void SetLimits(const BurstLimits& limits, RecordedKinds recorded);
  // A handler posts it when a quarter of the buffers that Drain gives back wait for that. nullptr:
  // none does, and Drain must be called in time.
  void SetDrainRequest(Wakeup* request) { drain_request_ = request; }
  // Calls visit(view, visitor) for every part that was recorded since the last call.
  void Drain(Visitor visit, void* visitor);
  // Hands over the buffer of a thread that has ended. Returns false if it had none: there is
  // nothing to drain.
  bool HandOverBuffer(ThreadSlot* slot);

  // Call it for a slot that is used for the first time.
  void AllowThread() { buffers_.Allow(kBuffersPerThread); }

  // Returns false if no buffer is free.
  bool Begin(ThreadSlot* slot, uint32_t periods);
  // Returns where to write so many branches, or nullptr if no buffer is free.
  TakenBranch* Room(ThreadSlot* slot, uint32_t* capacity);
  // Counts the branches that a run has written to Room.
  void CountRun(ThreadSlot* slot, const RunResult& result);
  // Records the accesses that a run has logged, if any. Call it after each run, whose branches were
  // written to `room` and counted. Without a free buffer some are dropped, and counted.
  void RecordAccesses(ThreadSlot* slot, const TakenBranch* room, const RunResult& result,
                      RecordedAccess* accesses);
  // Records one branch, which is the last of slot->instructions. Returns false if no buffer is
  // free.
  bool Record(ThreadSlot* slot, const TakenBranch& branch);
  // Returns false if no buffer is free: then this part remains the last one.
  bool StartNextPart(ThreadSlot* slot, PartEnd end);
  void Finish(ThreadSlot* slot);

  bool IsFull(const ThreadSlot& slot) const {
    return BranchesLeft(slot) == 0 || HasAllInstructions(slot);
  }
  // Return how many branches and instructions may be recorded next: when the burst has all
  // instructions but the last stream goes on, a branch. The burst may exceed its instructions: a
  // system call that it waits for counts as one, even after the last.
  uint32_t BranchesLeft(const ThreadSlot& slot) const {
    return limits_.branches - slot.earlier_branches - slot.branches;
  }
  uint64_t InstructionsLeft(const ThreadSlot& slot) const {
    const uint64_t limit =
        slot.instructions < limits_.instructions ? limits_.instructions : limits_.max_instructions;
    return slot.instructions < limit ? limit - slot.instructions : 0;
  }

 private:
  static constexpr uint32_t kBuffersPerThread = 2;

  bool HasAllInstructions(const ThreadSlot& slot) const {
    return limits_.instructions != 0 && slot.last_branch != ThreadSlot::kNoBranch &&
           slot.last_branch >= limits_.instructions;
  }
  bool TakeBufferAfter(ThreadSlot* slot, uint32_t used, uint32_t* fresh);
  void StartPart(ThreadSlot* slot, uint32_t fresh);
  void CommitPart(ThreadSlot* slot, PartEnd end);
  uint32_t EndOfPart(const ThreadSlot& slot) const {
    return slot.header + kHeaderEntries + slot.branches + slot.accesses;
  }
  static uint32_t LocateAccesses(ThreadSlot* slot, const TakenBranch* room, const RunResult& result,
                                 RecordedAccess* accesses);
  void PushFull(uint32_t index);
  void DrainBuffer(BurstBuffer* buffer, Visitor visit, void* visitor);

  ThreadSlots* slots_;
  BurstLimits limits_;
  bool records_accesses_ = false;
  BurstBufferPool buffers_;
  GrowingMemory buffer_memory_;
  uint32_t free_buffers_ = 0;  // buffers allowed in addition to those of the slots
  std::atomic<Wakeup*> drain_request_{nullptr};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BURST_RECORDER_H_
