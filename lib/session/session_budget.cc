// The part of Session that knows what it costs, and keeps that within its budgets.
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "base/clock.h"
#include "collect/memory_note.h"
#include "collect/memory_use.h"
#include "session/session.h"

namespace hbbp {
namespace {

constexpr double kLongestForMemory = 64;

// As the kernel builds it: the CPU time that a process or a thread was scheduled for.
clockid_t CpuClockOf(pid_t id, bool is_thread) {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | (is_thread ? kOfThread : 0) |
                                kScheduled);
}

// 0 if it has ended.
uint64_t CpuNsOf(pid_t id, bool is_thread) { return ClockNs(CpuClockOf(id, is_thread)); }

}  // namespace

uint64_t Session::CpuNsNow() {
  const BackendConfig& config = settings_.backend;
  if (config.threads.empty()) {
    if (config.pid != 0) return KnownCpuNsOf(config.pid, false);
    const uint64_t own_ns = worker_cost_ns_ + caller_cost_ns_;
    return std::max(ClockNs(CLOCK_PROCESS_CPUTIME_ID), cpu_begin_ns_ + own_ns) - own_ns;
  }
  uint64_t sum_ns = 0;
  for (const pid_t tid : config.threads) sum_ns += KnownCpuNsOf(tid, true);
  return sum_ns;
}

// Also of what has ended.
uint64_t Session::KnownCpuNsOf(pid_t id, bool is_thread) {
  uint64_t& known_ns = known_cpu_ns_[id];
  known_ns = std::max(known_ns, CpuNsOf(id, is_thread));
  return known_ns;
}

uint64_t Session::CostNs() const {
  const uint64_t sampling_ns = running_ ? backend_->SamplingNs() + backend_->SwitchingNs() : 0;
  return worker_cost_ns_ + caller_cost_ns_ + sampling_ns;
}

// Of this run.
OverheadBudget::Usage Session::UsageLocked() {
  const uint64_t fixed_ns = running_ ? backend_->SwitchingNs() : 0;
  return {std::max(CpuNsNow(), cpu_begin_ns_) - cpu_begin_ns_, CostNs(), fixed_ns};
}

void Session::ForgetBudgets() {
  worker_cost_ns_ = caller_cost_ns_ = 0;
  known_cpu_ns_.clear();
  cpu_begin_ns_ = 0;
  overhead_.Restart();
  memory_factor_ = factor_ = 1;
  periods_are_stuck_ = false;
  used_memory_ = 0;
  told_lost_ = told_throttled_ = 0;
}

void Session::BeginBudgets() {
  ForgetBudgets();
  cpu_begin_ns_ = CpuNsNow();
  ChargeBuffers();
}

void Session::ChargeBuffers() {
  memory_.SubtractOthers(buffer_bytes_);
  buffer_bytes_ = 0;
  const uint64_t bytes = running_ ? backend_->BufferBytes() : 0;
  try {
    memory_.AddOthers(bytes);
    buffer_bytes_ = bytes;
  } catch (const std::bad_alloc&) {
    log_.Say(LogLevel::kWarning, "max_memory is used up by %" PRIu64 " bytes of buffers", bytes);
  }
}

void Session::KeepBudgets() {
  KeepMemory();
  TellDropped(recorder_.dropped(), memory_, &told_dropped_, &log_);
  KeepOverhead();
}

// Both budgets lengthen periods; what either asks for is kept.
bool Session::SetFactor(const char* why) {
  const double factor = std::min(overhead_.factor() * memory_factor_, OverheadBudget::kLongest);
  if (factor == factor_ || periods_are_stuck_) return false;
  const uint64_t cost_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  Status status;
  try {
    RenumberedSources numbered(sources_, &recorder_);
    status = backend_->SetPeriodFactor(factor, &numbered);
  } catch (const std::bad_alloc&) {
    status = MakeStatus(StatusCode::kNoMemory, "no memory");
  }
  ChargeBuffers();
  if (!status.ok()) {
    periods_are_stuck_ = true;
    log_.Say(LogLevel::kWarning, "periods cannot be changed: %s", status.message().c_str());
    return false;
  }
  factor_ = factor;
  largest_factor_ = std::max(largest_factor_, factor);
  ++period_changes_;
  worker_cost_ns_ += ClockNs(CLOCK_THREAD_CPUTIME_ID) - cost_begin_ns;
  overhead_.NoteChange(UsageLocked());
  log_.Say(LogLevel::kInfo, "periods are %.3g times those asked for, for %s", factor, why);
  return true;
}

void Session::KeepOverhead() {
  if (!overhead_.Judge(UsageLocked())) return;
  char why[128];
  std::snprintf(why, sizeof(why), "a max_overhead of %.3g; it was %.3g",
                settings_.backend.max_overhead, overhead_.recent());
  SetFactor(why);
}

// In this order: memory that is not needed, the width of slices, the length of periods. What then
// does not fit is dropped by the recorder.
void Session::KeepMemory() {
  if (settings_.max_memory == 0) return;
  const auto most = static_cast<double>(settings_.max_memory);
  const auto share = [&] { return static_cast<double>(memory_.used()) / most; };
  const bool has_grown = memory_.used() > used_memory_ + used_memory_ / 16;
  if (share() <= kCompactAbove || !has_grown) return;
  recorder_.Compact();
  TellCompacted(memory_, &log_);
  while (share() > kWidenAbove && recorder_.aggregator().WidenSlices()) {
    recorder_.Compact();
    TellWidened(recorder_.aggregator().slice_width_ns(), &log_);
  }
  if (share() > kLengthenAbove && memory_factor_ < kLongestForMemory) {
    memory_factor_ *= 2;
    SetFactor("max_memory");
  }
  used_memory_ = memory_.used();
}

void Session::AppendBudgetNotes(ProfileData* snapshot) const {
  std::string note;
  char text[192];
  if (largest_factor_ > 1) {
    std::snprintf(text, sizeof(text),
                  "periods were up to %.3g times as long, to keep to the budget; each sample "
                  "counts by its own",
                  largest_factor_);
    AppendNote(text, &note);
  }
  for (const uint32_t source : sources_) AppendNote(note, &snapshot->sources[source].note);
  note.clear();
  AppendNote(MemoryNote(recorder_.dropped(), recorder_.aggregator().has_widened_slices()), &note);
  if (const char* const end_note = end_note_) AppendNote(end_note, &note);
  for (const uint32_t source : AllSources()) AppendNote(note, &snapshot->sources[source].note);
}

}  // namespace hbbp
