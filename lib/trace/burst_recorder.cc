// A handler calls Begin, then for each run Room and CountRun or for each branch Record,
// StartNextPart where a gap is, and Finish. Begin and StartNextPart find room for the header and
// the branches of a part (TakeBufferAfter, StartPart); CommitPart makes the part visible. The
// worker calls Drain at its intervals.
#include "trace/burst_recorder.h"

#include <time.h>

#include <new>

#include "trace/interpreter/micro_op.h"
#include "trace/raw_clock.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kBuffersBeyondThreads =
    1 + BurstRecorder::kBufferedBursts * (BurstRecorder::kMaxBurstBranches + kHeaderEntries) /
            BurstBuffer::kCapacity;
constexpr uint32_t kBuffersWhenShort = 128;
constexpr uint32_t kMinBranchesOfPart = 128;
// Handlers can use so many buffers between two calls of GrowAhead without a system call.
constexpr uint32_t kBuffersAhead = 16;

// Counts the instructions of streams for branches that were recorded; positions count instructions
// from the start of the burst. Instructions before the first branch of a burst, or before the first
// branch after a gap, are in no stream.
void CoverStreams(ThreadSlot* slot, uint64_t first_branch, uint64_t last_branch) {
  if (slot->last_branch == ThreadSlot::kNoBranch) slot->last_branch = first_branch;
  slot->in_streams += last_branch - slot->last_branch;
  slot->last_branch = last_branch;
}

// Returns whether the last of `count` accesses are of the same instruction, and one is of the same
// kind.
bool HasAnother(const RecordedAccess& access, const RecordedAccess* accesses, uint32_t count) {
  for (; count != 0; --count) {
    const RecordedAccess& last = accesses[count - 1];
    if (last.branch != access.branch || last.offset != access.offset) return false;
    if (last.kind == access.kind) return true;
  }
  return false;
}

}  // namespace

bool BurstRecorder::Reserve(uint32_t max_threads, bool is_short) {
  new (&buffer_memory_) GrowingMemory();
  const uint32_t count =
      max_threads * kBuffersPerThread + (is_short ? kBuffersWhenShort : kBuffersBeyondThreads);
  if (!buffer_memory_.Reserve(count * sizeof(BurstBuffer))) return false;
  buffers_.Init(&buffer_memory_, count);
  free_buffers_ = 0;
  return true;
}

void BurstRecorder::Release() { buffer_memory_.Release(); }

void BurstRecorder::GrowAhead() {
  const uint32_t buffers = buffers_.begun() + kBuffersAhead;
  (void)buffer_memory_.Use(buffers * sizeof(BurstBuffer));
}

void BurstRecorder::Shrink(uint32_t threads) {
  const uint32_t count = threads * kBuffersPerThread + kBuffersWhenShort;
  buffer_memory_.Shrink(count * sizeof(BurstBuffer));
}

void BurstRecorder::SetLimits(const BurstLimits& limits, RecordedKinds recorded) {
  constexpr uint32_t kAccessesPerBranch = 4;
  constexpr uint32_t kValuesPerBranch = 1;
  limits_ = limits;
  records_accesses_ = recorded != 0;
  limits_.max_instructions = limits.MaxInstructions();
  // Bursts that end at instructions rarely have half of the branches that they may.
  const uint32_t branches = limits.instructions != 0 ? limits.branches / 2 : limits.branches;
  const bool has_addresses = (recorded & SetOf(RecordedKind::kAddress)) != 0;
  const uint32_t accesses = branches * (has_addresses ? kAccessesPerBranch : 0) +
                            branches * ((recorded & kRecordedValues) != 0 ? kValuesPerBranch : 0);
  const uint32_t entries = kBufferedBursts * (kHeaderEntries + branches + accesses);
  const uint32_t free_buffers = 1 + entries / BurstBuffer::kCapacity;
  if (free_buffers > free_buffers_) {
    buffers_.Allow(free_buffers - free_buffers_);
    free_buffers_ = free_buffers;
  }
}

void BurstRecorder::DrainBuffer(BurstBuffer* buffer, Visitor visit, void* visitor) {
  const uint32_t committed = buffer->committed.load(std::memory_order_acquire);
  const uint32_t tid = slots_->Thread(buffer->slot);
  while (buffer->consumed < committed) {
    const BurstHeader& header = *buffer->HeaderAt(buffer->consumed);
    const TakenBranch* entries = buffer->entries + buffer->consumed + kHeaderEntries;
    BurstView view = {};
    view.tid = tid;
    view.time_ns = header.time_ns;
    view.periods = header.periods;
    view.instructions = header.instructions;
    if (header.has_accesses) {
      view.accesses = reinterpret_cast<const RecordedAccess*>(entries);
      view.access_count = header.branches;
    } else {
      view.branches = entries;
      view.count = header.branches;
    }
    view.end = header.end;
    view.cost = header.cost;
    visit(view, visitor);
    buffer->consumed += kHeaderEntries + header.branches;
  }
}

void BurstRecorder::Drain(Visitor visit, void* visitor) {
  const uint32_t used = slots_->used();
  // A buffer that its thread swaps meanwhile must not be overtaken by its successor, so only
  // buffers that were current before TakeFull are drained after it.
  for (uint32_t i = 0; i < used; ++i) slots_->at(i)->seen_buffer = slots_->at(i)->buffer;
  buffers_.TakeFull([&](uint32_t index) {
    DrainBuffer(buffers_.at(index), visit, visitor);
    buffers_.Recycle(index);
  });
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t current = slots_->at(i)->buffer;
    if (current != 0 && current == slots_->at(i)->seen_buffer) {
      DrainBuffer(buffers_.at(current - 1), visit, visitor);
    }
  }
}

void BurstRecorder::PushFull(uint32_t index) {
  if (buffers_.PushFull(index) < (free_buffers_ + 3) / 4) return;
  if (Wakeup* const request = drain_request_; request != nullptr) request->Post();
}

bool BurstRecorder::HandOverBuffer(ThreadSlot* slot) {
  const uint32_t buffer = slot->buffer;
  if (buffer == 0) return false;
  PushFull(buffer - 1);
  return true;
}

bool BurstRecorder::Begin(ThreadSlot* slot, uint32_t periods) {
  slot->earlier_branches = 0;
  slot->has_parts = false;
  slot->branches = 0;
  slot->accesses = 0;
  slot->branches_before_gap = 0;
  slot->hits = 0;
  slot->instructions = 0;
  slot->last_branch = ThreadSlot::kNoBranch;
  slot->memory_use = MemoryUse();
  slot->begins_in_new_page = false;
  slot->width_ticks = 0;
  slot->is_limited = false;
  slot->earlier_handlers_ns += slot->handlers_ns;
  slot->handlers_ns = 0;
  slot->makes_progress = false;
  slot->restarts = false;
  slot->periods = slot->skipped + periods;
  slot->skipped = 0;
  const uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  const uint32_t used =
      buffer == 0 ? 0 : buffers_.at(buffer - 1)->committed.load(std::memory_order_relaxed);
  uint32_t fresh;
  if (!TakeBufferAfter(slot, used, &fresh)) {
    slot->skipped = slot->periods;
    return false;
  }
  StartPart(slot, fresh);
  return true;
}

// Takes a buffer if the current one, with `used` entries, has no room for a header and the rest of
// the burst, or as much of it as a part must hold. Returns false if no buffer is free.
bool BurstRecorder::TakeBufferAfter(ThreadSlot* slot, uint32_t used, uint32_t* fresh) {
  // If bursts end at instructions, most have much fewer branches than they may; with accesses, a
  // part has those of a run.
  const bool are_parts_small = limits_.instructions != 0 || records_accesses_;
  const uint32_t limit = are_parts_small ? kMinBranchesOfPart : BurstBuffer::kCapacity;
  const uint32_t branches = BranchesLeft(*slot) < limit ? BranchesLeft(*slot) : limit;
  uint32_t entries = branches + kHeaderEntries;
  if (entries > BurstBuffer::kCapacity) entries = BurstBuffer::kCapacity;
  *fresh = BurstBufferPool::kNone;
  const bool has_buffer = slot->buffer.load(std::memory_order_relaxed) != 0;
  if (has_buffer && BurstBuffer::kCapacity - used >= entries) return true;
  *fresh = buffers_.Take();
  if (*fresh == BurstBufferPool::kNone) {
    slot->Add(Counter::kNoFreeBuffer);
    return false;
  }
  return true;
}

// Starts the part in the buffer `fresh`, or in the current one if that is kNone.
void BurstRecorder::StartPart(ThreadSlot* slot, uint32_t fresh) {
  uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  if (fresh != BurstBufferPool::kNone) {
    buffers_.at(fresh)->slot = slots_->IndexOf(slot);
    if (buffer != 0) PushFull(buffer - 1);
    buffer = fresh + 1;
    slot->buffer.store(buffer, std::memory_order_release);
  }
  BurstBuffer* current = buffers_.at(buffer - 1);
  slot->header = current->committed.load(std::memory_order_relaxed);
  slot->branches = 0;
  slot->accesses = 0;
  slot->in_streams = 0;
  BurstHeader* header = current->HeaderAt(slot->header);
  *header = BurstHeader();
  header->time_ns = RawClockNs(CLOCK_MONOTONIC);
  header->periods = static_cast<uint16_t>(slot->periods < UINT16_MAX ? slot->periods : UINT16_MAX);
}

// Publishes the part to the worker.
void BurstRecorder::CommitPart(ThreadSlot* slot, PartEnd end) {
  BurstBuffer* buffer = buffers_.at(slot->buffer.load(std::memory_order_relaxed) - 1);
  BurstHeader* header = buffer->HeaderAt(slot->header);
  header->branches = slot->branches + slot->accesses;
  header->has_accesses = slot->accesses != 0;
  header->instructions = slot->in_streams;
  header->end = end;
  buffer->committed.store(EndOfPart(*slot), std::memory_order_release);
  slot->Add(Counter::kTakenBranches, slot->branches);
}

bool BurstRecorder::StartNextPart(ThreadSlot* slot, PartEnd end) {
  uint32_t fresh;
  if (!TakeBufferAfter(slot, EndOfPart(*slot), &fresh)) return false;
  CommitPart(slot, end);
  slot->has_parts = true;
  slot->earlier_branches += slot->branches;
  slot->branches = 0;
  if (end == PartEnd::kAfterGap) {
    slot->last_branch = ThreadSlot::kNoBranch;
    slot->branches_before_gap = slot->earlier_branches;
  }
  StartPart(slot, fresh);
  return true;
}

TakenBranch* BurstRecorder::Room(ThreadSlot* slot, uint32_t* capacity) {
  uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  uint32_t first = slot->header + kHeaderEntries + slot->branches;
  if (first == BurstBuffer::kCapacity) {
    if (!StartNextPart(slot, PartEnd::kContinues)) return nullptr;
    buffer = slot->buffer.load(std::memory_order_relaxed);
    first = slot->header + kHeaderEntries;
  }
  const uint32_t room = BurstBuffer::kCapacity - first;
  const bool ends_at_next = limits_.instructions != 0 && slot->instructions >= limits_.instructions;
  const uint32_t wanted = ends_at_next ? 1 : BranchesLeft(*slot);
  *capacity = room < wanted ? room : wanted;
  return &buffers_.at(buffer - 1)->entries[first];
}

void BurstRecorder::CountRun(ThreadSlot* slot, const RunResult& result) {
  if (result.branches != 0) {
    CoverStreams(slot, slot->instructions + result.first_branch,
                 slot->instructions + result.last_branch);
  }
  slot->branches += result.branches;
  slot->instructions += result.instructions;
}

// Makes RecordedAccess::branch the number of the branch since the last gap, and the offset one from
// the target of that branch. Drops what is in no stream, and repetitions. Returns how many are
// left.
uint32_t BurstRecorder::LocateAccesses(ThreadSlot* slot, const TakenBranch* room,
                                       const RunResult& result, RecordedAccess* accesses) {
  const uint32_t until_run =
      slot->earlier_branches + slot->branches - result.branches - slot->branches_before_gap;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < result.accesses; ++i) {
    RecordedAccess access = accesses[i];
    const uint32_t of_run = access.branch;
    if (until_run + of_run == 0) continue;
    const uint64_t target = of_run == 0 ? slot->last_target : room[of_run - 1].to;
    access.branch = until_run + of_run - 1;
    access.offset -= static_cast<uint32_t>(target);
    if (!HasAnother(access, accesses, kept)) accesses[kept++] = access;
  }
  if (result.branches != 0) slot->last_target = room[result.branches - 1].to;
  return kept;
}

// The branches so far become a part, the accesses one or several more, and an empty part for the
// branches that follow begins.
void BurstRecorder::RecordAccesses(ThreadSlot* slot, const TakenBranch* room,
                                   const RunResult& result, RecordedAccess* accesses) {
  // A burst without a stream must leave no part.
  const bool has_ended_without_stream =
      slot->earlier_branches + slot->branches < 2 && !slot->has_parts && IsFull(*slot);
  uint32_t left = has_ended_without_stream ? 0 : LocateAccesses(slot, room, result, accesses);
  uint64_t missed = result.missed_accesses;
  while (left != 0) {
    if (!StartNextPart(slot, PartEnd::kContinues)) {
      missed += left + slot->accesses;
      slot->accesses = 0;
      break;
    }
    const uint32_t begin = slot->header + kHeaderEntries;
    const uint32_t room_left = BurstBuffer::kCapacity - begin;
    const uint32_t count = left < room_left ? left : room_left;
    BurstBuffer* buffer = buffers_.at(slot->buffer.load(std::memory_order_relaxed) - 1);
    __builtin_memcpy(&buffer->entries[begin], accesses, count * sizeof(*accesses));
    slot->accesses = count;
    accesses += count;
    left -= count;
    if (left == 0 && !StartNextPart(slot, PartEnd::kContinues)) {
      missed += slot->accesses;
      slot->accesses = 0;
    }
  }
  if (missed != 0) slot->Add(Counter::kMissedAccesses, missed);
}

bool BurstRecorder::Record(ThreadSlot* slot, const TakenBranch& branch) {
  uint32_t capacity;
  TakenBranch* room = Room(slot, &capacity);
  if (room == nullptr) return false;
  *room = branch;
  ++slot->branches;
  CoverStreams(slot, slot->instructions, slot->instructions);
  return true;
}

void BurstRecorder::Finish(ThreadSlot* slot) {
  const bool makes_a_stream = slot->branches >= 2;
  if (!slot->has_parts && !makes_a_stream) {
    if (HasAllInstructions(*slot)) {
      slot->Add(Counter::kNoStream);
      slot->earlier_handlers_ns = 0;  // it represents its period, by nothing
    } else {
      slot->skipped += slot->periods;  // the next burst represents them too
    }
    return;
  }
  BurstHeader* header =
      buffers_.at(slot->buffer.load(std::memory_order_relaxed) - 1)->HeaderAt(slot->header);
  const bool is_full = slot->is_limited || IsFull(*slot) ||
                       slot->instructions + kMaxBlockInstructions > limits_.max_instructions;
  header->cost = {.handlers_ns = slot->earlier_handlers_ns,
                  .memory_use = slot->memory_use,
                  .begins_in_new_page = slot->begins_in_new_page,
                  .width_ticks = slot->width_ticks,
                  .is_cut = !is_full,
                  .has_all_instructions = HasAllInstructions(*slot),
                  .instructions = static_cast<uint32_t>(
                      slot->instructions < UINT32_MAX ? slot->instructions : UINT32_MAX)};
  slot->earlier_handlers_ns = 0;
  CommitPart(slot, PartEnd::kLast);
  slot->branches = 0;
  slot->has_parts = false;
  slot->Add(Counter::kBursts);
}

}  // namespace hbbp::trace
