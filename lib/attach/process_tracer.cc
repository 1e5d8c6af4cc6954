#include "attach/process_tracer.h"

#include <algorithm>
#include <cstring>

#include "image/process_memory.h"
#include "isa/control_flow.h"
#include "trace/native/signal_context.h"

namespace hbbp {
namespace {

using trace::BurstLimits;
using trace::MachineState;
using trace::RunResult;
using trace::StopReason;

constexpr size_t kCodeCacheBytes = 32 << 20;
constexpr size_t kNativeRegionBytes = 2 << 20;
constexpr size_t kMaxInstructionBytes = 15;

// CodeWindow reads code of a process some lines at a time. What another thread writes there
// meanwhile looks like a wrong prediction.
class CodeWindow {
 public:
  explicit CodeWindow(pid_t pid) : pid_(pid) {}

  // Returns the bytes of an instruction and of some behind it; fewer where code ends.
  std::span<const uint8_t> At(uint64_t ip) {
    if (ip < start_ || ip + kMaxInstructionBytes > start_ + size_) {
      start_ = ip;
      size_ = ReadProcessMemory(pid_, RuntimeAddress{ip}, bytes_);
    }
    return std::span(bytes_, size_).subspan(ip - start_);
  }

 private:
  const pid_t pid_;
  uint64_t start_ = 0;
  size_t size_ = 0;
  uint8_t bytes_[512];
};

bool IsPrefix(uint8_t byte) {
  const bool is_rex = (byte & 0xf0) == 0x40;
  return is_rex || IsLegacyPrefix(byte);
}

// Returns whether the trap flag would be pushed or popped, and so be seen by the program.
bool AccessesFlags(std::span<const uint8_t> code) {
  constexpr uint8_t kPushf = 0x9c, kPopf = 0x9d;
  const auto opcode = std::find_if_not(code.begin(), code.end(), &IsPrefix);
  return opcode != code.end() && (*opcode == kPushf || *opcode == kPopf);
}

}  // namespace

ProcessTracer::ProcessTracer(pid_t pid) : pid_(pid), pages_(pid) {}

StatusOr<std::unique_ptr<ProcessTracer>> ProcessTracer::Create(pid_t pid) {
  trace::PrepareSignalContext();
  std::unique_ptr<ProcessTracer> tracer(new ProcessTracer(pid));
  if (!tracer->MapMemory()) {
    return MakeStatus(StatusCode::kNoMemory, "no memory for the interpreter of process %d", pid);
  }
  return tracer;
}

bool ProcessTracer::MapMemory() {
  // Without stubs, results of vector instructions are unknown.
  region_ = trace::NativeRegion::Create(kNativeRegionBytes);
  code_cache_ = trace::CodeCache::Create(kCodeCacheBytes, region_);
  if (code_cache_ == nullptr) return false;
  code_cache_->SetAccessTiming({}, /*counts_page_faults=*/true);
  const size_t bytes = trace::LookAhead::Size();
  if (!memory_.Reserve(bytes) || !memory_.Use(bytes)) return false;
  look_ahead_ = trace::LookAhead::Create(memory_.start(), code_cache_);
  return true;
}

ProcessTracer::~ProcessTracer() {
  memory_.Release();
  if (code_cache_ != nullptr) trace::CodeCache::Destroy(code_cache_);
  if (region_ != nullptr) trace::NativeRegion::Destroy(region_);
}

uint64_t ProcessTracer::Bytes() const { return code_cache_->used_bytes() + memory_.usable(); }

TracedBurst ProcessTracer::Trace(const ThreadStop& thread, const BurstLimits& limits) {
  branches_.resize(limits.branches);
  pages_.Begin();
  look_ahead_->Begin(thread.reader(), pages_.reader());
  const uint64_t max_instructions = limits.MaxInstructions();
  TracedBurst burst;
  uint32_t count = 0;
  uint64_t first_branch = 0, last_branch = 0;  // how many instructions were executed up to them
  const auto has_all = [&] {
    return limits.instructions != 0 && count != 0 && last_branch >= limits.instructions;
  };
  while (count < limits.branches && !has_all()) {
    const bool ends_at_next = limits.instructions != 0 && burst.interpreted >= limits.instructions;
    const uint32_t capacity = ends_at_next ? 1 : limits.branches - count;
    const uint64_t limit =
        burst.interpreted < limits.instructions ? limits.instructions : max_instructions;
    const RunResult result =
        look_ahead_->Run(&branches_[count], capacity, limit - burst.interpreted);
    burst.end = result.reason;
    if (result.reason == StopReason::kStackOverflow) {
      count = 0;
      break;
    }
    if (result.branches != 0) {
      if (count == 0) first_branch = burst.interpreted + result.first_branch;
      last_branch = burst.interpreted + result.last_branch;
    }
    count += result.branches;
    burst.interpreted += result.instructions;
    const bool goes_on =
        result.reason == StopReason::kFull ||
        (result.reason == StopReason::kInstructionLimit && burst.interpreted < max_instructions);
    if (!goes_on) break;
  }
  burst.branches = {branches_.data(), count};
  burst.instructions = last_branch - first_branch;
  burst.decoded = look_ahead_->stats().decoded_instructions;
  burst.cost.memory_use = look_ahead_->stats().memory_use;
  burst.cost.begins_in_new_page = look_ahead_->stats().begins_in_new_page;
  burst.cost.has_all_instructions = has_all();
  const bool is_full = count == limits.branches || has_all() || IsLimit(burst.end);
  burst.cost.is_cut = !is_full;
  burst.cost.instructions =
      static_cast<uint32_t>(std::min<uint64_t>(burst.interpreted, UINT32_MAX));
  burst.read_pages = pages_.read_pages();
  burst.unread_pages = pages_.unread_pages();
  burst.is_pagemap_refused = pages_.is_pagemap_refused();
  return burst;
}

Verification ProcessTracer::Verify(ThreadStop* thread, const TracedBurst& burst) {
  Verification verified;
  if (!thread->MayStep()) return verified;
  CodeWindow window(pid_);
  uint64_t ip = thread->registers().rip;
  for (uint64_t steps = 0; verified.branches < burst.branches.size(); ++steps) {
    // A string instruction makes a step of each repetition.
    constexpr uint64_t kMaxSteps = 1 << 20;
    const std::span<const uint8_t> code = window.At(ip);
    ControlFlow flow;
    const bool is_known = DecodeControlFlow(code, ip, &flow);
    const bool may_step = is_known && !AccessesFlags(code) && steps != kMaxSteps;
    // A sequence that is stepped is aborted at each step, and never ends.
    if (!may_step || thread->IsInRestartableSequence()) return verified;
    if (!thread->Step()) return verified;
    const uint64_t next = thread->registers().rip;
    const bool is_conditional = flow.kind == BranchKind::kConditional && next == ip + flow.length;
    if (flow.kind != BranchKind::kNone && !is_conditional) {
      const TakenBranch& predicted = burst.branches[verified.branches];
      if (predicted.from != ip || predicted.to != next) {
        ++verified.disagreements;
        verified.disagreement_at = ip;
        return verified;
      }
      ++verified.branches;
    }
    ip = next;
  }
  if (burst.end != StopReason::kFull) return verified;
  MachineState found;
  const trace::RegisterReader registers = thread->reader();
  registers.load_general(registers.thread, &found);
  const MachineState& predicted = look_ahead_->state();
  verified.registers_disagree =
      predicted.rip != found.rip || !trace::RegistersMatch(predicted, found);
  return verified;
}

}  // namespace hbbp
