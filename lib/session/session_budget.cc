#include "session/session_budget.h"

#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "base/clock.h"
#include "collect/memory_note.h"
#include "collect/memory_use.h"

namespace hbbp {
namespace {

constexpr double kMaxMemoryFactor = 64;

// Makes, as the kernel does, the clock of the time that a process or a thread was scheduled for.
clockid_t CpuClock(pid_t id, bool is_thread) {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | (is_thread ? kOfThread : 0) |
                                kScheduled);
}

// Returns 0 if it has ended.
uint64_t CpuNs(pid_t id, bool is_thread) { return ClockNs(CpuClock(id, is_thread)); }

}  // namespace

SessionBudget::SessionBudget(const Parts& parts, uint64_t max_memory)
    : config_(*parts.config),
      backend_(*parts.backend),
      recorder_(*parts.recorder),
      memory_(*parts.memory),
      log_(*parts.log),
      max_memory_(max_memory),
      overhead_(parts.config->max_overhead) {}

uint64_t SessionBudget::CpuNsNow() {
  if (config_.threads.empty()) {
    if (config_.pid != 0) return KnownCpuNs(config_.pid, false);
    const uint64_t own_ns = worker_cost_ns_ + caller_cost_ns_;
    return std::max(ClockNs(CLOCK_PROCESS_CPUTIME_ID), cpu_begin_ns_ + own_ns) - own_ns;
  }
  uint64_t sum_ns = 0;
  for (const pid_t tid : config_.threads) sum_ns += KnownCpuNs(tid, true);
  return sum_ns;
}

// Returns the last known time if it has ended.
uint64_t SessionBudget::KnownCpuNs(pid_t id, bool is_thread) {
  uint64_t& known_ns = known_cpu_ns_[id];
  known_ns = std::max(known_ns, CpuNs(id, is_thread));
  return known_ns;
}

uint64_t SessionBudget::CostNs() const {
  const uint64_t sampling_ns = is_running_ ? backend_.SamplingNs() + backend_.SwitchingNs() : 0;
  return worker_cost_ns_ + caller_cost_ns_ + sampling_ns;
}

// Returns the usage of this run.
OverheadBudget::Usage SessionBudget::Usage() {
  const uint64_t fixed_ns = is_running_ ? backend_.SwitchingNs() : 0;
  return {std::max(CpuNsNow(), cpu_begin_ns_) - cpu_begin_ns_, CostNs(), fixed_ns};
}

void SessionBudget::StartAnew() {
  worker_cost_ns_ = caller_cost_ns_ = 0;
  known_cpu_ns_.clear();
  cpu_begin_ns_ = 0;
  overhead_.Restart();
  memory_factor_ = factor_ = 1;
  periods_are_stuck_ = false;
  checked_memory_ = 0;
}

void SessionBudget::BeginRun() {
  StartAnew();
  is_running_ = true;
  cpu_begin_ns_ = CpuNsNow();
  ChargeBuffers(backend_.BufferBytes());
}

void SessionBudget::EndRun() {
  const OverheadBudget::Usage usage = Usage();
  finished_cpu_ns_ += usage.cpu_ns;
  finished_cost_ns_ += usage.cost_ns;
  is_running_ = false;
}

void SessionBudget::ReleaseBuffers() { ChargeBuffers(0); }

void SessionBudget::Reset() {
  is_running_ = false;
  finished_cpu_ns_ = finished_cost_ns_ = 0;
  largest_factor_ = 1;
  period_changes_ = logged_dropped_ = 0;
  StartAnew();
  ReleaseBuffers();
}

void SessionBudget::ChargeBuffers(uint64_t bytes) {
  memory_.SubtractOthers(buffer_bytes_);
  buffer_bytes_ = 0;
  try {
    memory_.AddOthers(bytes);
    buffer_bytes_ = bytes;
  } catch (const std::bad_alloc&) {
    log_.Log(LogLevel::kWarning, "max_memory is used up by %" PRIu64 " bytes of buffers", bytes);
  }
}

void SessionBudget::Keep(EventSink* sink) {
  KeepMemory(sink);
  LogDropped();
  KeepOverhead(sink);
}

void SessionBudget::LogDropped() {
  hbbp::LogDropped(recorder_.dropped(), memory_, &logged_dropped_, &log_);
}

// Both budgets lengthen periods; what either asks for is kept.
void SessionBudget::SetFactor(const char* why, EventSink* sink) {
  const double factor = std::min(overhead_.factor() * memory_factor_, OverheadBudget::kMaxFactor);
  if (factor == factor_ || periods_are_stuck_) return;
  const uint64_t cost_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  Status status;
  try {
    status = backend_.SetPeriodFactor(factor, sink);
  } catch (const std::bad_alloc&) {
    status = MakeStatus(StatusCode::kNoMemory, "no memory");
  }
  ChargeBuffers(backend_.BufferBytes());
  if (!status.ok()) {
    periods_are_stuck_ = true;
    log_.Log(LogLevel::kWarning, "periods cannot be changed: %s", status.message().c_str());
    return;
  }
  factor_ = factor;
  largest_factor_ = std::max(largest_factor_, factor);
  ++period_changes_;
  worker_cost_ns_ += ClockNs(CLOCK_THREAD_CPUTIME_ID) - cost_begin_ns;
  overhead_.RecordChange(Usage());
  log_.Log(LogLevel::kInfo, "periods are %.3g times those asked for, for %s", factor, why);
}

void SessionBudget::KeepOverhead(EventSink* sink) {
  if (!overhead_.Judge(Usage())) return;
  char why[128];
  std::snprintf(why, sizeof(why), "a max_overhead of %.3g; it was %.3g", config_.max_overhead,
                overhead_.recent());
  SetFactor(why, sink);
}

// Frees memory that is not needed, then widens slices, then lengthens periods. What still does not
// fit is dropped by the recorder.
void SessionBudget::KeepMemory(EventSink* sink) {
  if (max_memory_ == 0) return;
  const auto limit = static_cast<double>(max_memory_);
  const auto share = [&] { return static_cast<double>(memory_.used()) / limit; };
  const bool has_grown = memory_.used() > checked_memory_ + checked_memory_ / 16;
  if (share() <= kCompactAbove || !has_grown) return;
  recorder_.Compact();
  LogCompacted(memory_, &log_);
  while (share() > kWidenAbove && recorder_.aggregator().WidenSlices()) {
    recorder_.Compact();
    LogWidened(recorder_.aggregator().slice_width_ns(), &log_);
  }
  if (share() > kLengthenAbove && memory_factor_ < kMaxMemoryFactor) {
    memory_factor_ *= 2;
    SetFactor("max_memory", sink);
  }
  checked_memory_ = memory_.used();
}

void SessionBudget::AddTo(SessionInfo* info) {
  const OverheadBudget::Usage usage = is_running_ ? Usage() : OverheadBudget::Usage();
  info->cpu_ns = finished_cpu_ns_ + usage.cpu_ns;
  info->overhead_ns = finished_cost_ns_ + usage.cost_ns;
  info->recent_overhead = overhead_.recent();
  info->period_factor = factor_;
  info->period_changes = period_changes_;
  info->memory_bytes = memory_.used();
  info->peak_memory_bytes = memory_.peak();
}

std::string SessionBudget::PeriodNote() const {
  if (largest_factor_ <= 1) return "";
  char text[192];
  std::snprintf(text, sizeof(text),
                "periods were up to %.3g times as long, to keep to the budget; each sample counts "
                "by its own",
                largest_factor_);
  return text;
}

}  // namespace hbbp
