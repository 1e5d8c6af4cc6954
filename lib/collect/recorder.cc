// The events of backends and feeds come in by the functions of EventSink. OnSample, OnBurst,
// OnIbsOp and OnIbsFetch keep samples until the session calls Commit, which passes on those that
// are complete to the Aggregator. BeginRun and AddSource, which sessions call when a run starts,
// find the sources of earlier runs, and Snapshot adds up what these have counted.
#include "collect/recorder.h"

#include <unistd.h>

#include <algorithm>

namespace hbbp {
namespace {

constexpr size_t kMaxIgnoredThreads = 64;

bool IsSameSource(const SourceRecord& a, const SourceRecord& b) {
  return a.kind == b.kind && a.event == b.event && a.event_name == b.event_name &&
         a.period == b.period && a.frequency_hz == b.frequency_hz &&
         a.period_mode == b.period_mode && a.include_kernel == b.include_kernel &&
         a.burst_extent == b.burst_extent;
}

const IpSample& AsIpSample(const IpSample& sample) { return sample; }
template <typename Ibs>
const IpSample& AsIpSample(const std::pair<IpSample, Ibs>& sample) {
  return sample.first;
}

}  // namespace

Recorder::Recorder(pid_t pid, const KeptDetail& detail, CountedMemory* memory)
    : ForwardingSink(&aggregator_),
      pid_(pid),
      slice_ns_(detail.slice_ns),
      memory_nodes_(detail.memory_nodes),
      own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      locator_(pid, memory_),
      aggregator_(&locator_, detail, memory_),
      waiting_(memory_),
      waiting_ops_(memory_),
      waiting_fetches_(memory_),
      bursts_(memory_) {
  if (DataKeeper* const keeper = aggregator_.data_keeper()) keeper->BeginRounds();
}

void Recorder::BeginRun(uint32_t owner) {
  for (SourceState& state : source_states_) {
    if (state.owner == owner) state.is_in_run = false;
  }
}

uint32_t Recorder::AddSource(SourceRecord source, uint32_t owner) {
  for (uint32_t i = 0; i < source_states_.size(); ++i) {
    SourceState& state = source_states_[i];
    if (state.owner != owner || state.is_in_run || !IsSameSource(state.added, source)) continue;
    state.is_in_run = true;
    state.finished_runs = TraceStatistics(aggregator_.source(i).trace);
    return i;
  }
  // Reserved first, so that both lists grow or neither.
  source_states_.reserve(aggregator_.sources().size() + 1);
  SourceState state = {.added = source, .owner = owner, .is_in_run = true, .finished_runs = {}};
  const uint32_t index = aggregator_.AddSource(std::move(source));
  source_states_.push_back(std::move(state));
  return index;
}

std::vector<uint32_t> Recorder::AddSources(std::vector<SourceRecord> sources) {
  BeginRun(kBackend);
  std::vector<uint32_t> numbers;
  for (SourceRecord& source : sources) numbers.push_back(AddSource(std::move(source)));
  return numbers;
}

void Recorder::RecordThread(uint32_t tid) {
  const auto pid = static_cast<uint32_t>(pid_ != 0 ? pid_ : ::getpid());
  if (!aggregator_.HasThread(pid, tid) && !IsIgnored(tid)) locator_.RecordThread(tid);
}

void Recorder::IgnoreThread(uint32_t tid) {
  if (IsIgnored(tid)) return;
  if (ignored_threads_.size() == kMaxIgnoredThreads) {
    ignored_threads_.erase(ignored_threads_.begin());
  }
  ignored_threads_.push_back(tid);
  locator_.DropThread(tid);
}

bool Recorder::IsIgnored(uint32_t tid) const {
  return std::find(ignored_threads_.begin(), ignored_threads_.end(), tid) != ignored_threads_.end();
}

template <typename Body>
void Recorder::WaitOrDrop(uint32_t source, Body&& wait) {
  ++samples_;
  if (!HasMemoryFor(wait)) aggregator_.Drop(source, 1);
}

void Recorder::OnSample(const IpSample& sample) {
  WaitOrDrop(sample.source, [&] { waiting_.push_back(sample); });
}

void Recorder::OnBurst(const BurstSample& burst) {
  WaitOrDrop(burst.source, [&] { bursts_.Add(burst); });
}

void Recorder::OnIbsOp(const IpSample& sample, const IbsOp& op) {
  WaitOrDrop(sample.source, [&] { waiting_ops_.emplace_back(sample, op); });
}

void Recorder::OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) {
  WaitOrDrop(sample.source, [&] { waiting_fetches_.emplace_back(sample, fetch); });
}

void Recorder::OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) {
  TraceStatistics sum = source_states_[source].finished_runs;
  AddTraceStatistics(statistics, &sum);
  aggregator_.OnTraceStatistics(source, sum);
}

// The locator keeps the names of threads that have no counts yet.
void Recorder::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  if (!aggregator_.RenameThread(pid, tid, name)) locator_.OnThreadName(pid, tid, name);
}

bool Recorder::HasWaiting() const {
  return !waiting_.empty() || !waiting_ops_.empty() || !waiting_fetches_.empty() ||
         bursts_.size() != 0;
}

// What waits may be of the program that the process was until now.
void Recorder::OnExec(uint32_t pid) {
  if (HasWaiting()) locator_.KeepCurrentMappings();
  ForwardingSink::OnExec(pid);
}

template <typename Samples, typename Count>
void Recorder::CommitSamples(uint64_t complete_ns, Samples* waiting, Count&& count) {
  size_t kept = 0;
  for (auto& sample : *waiting) {
    const IpSample& ip = AsIpSample(sample);
    if (ip.time_ns > complete_ns) {
      (*waiting)[kept++] = sample;
    } else if (IsIgnored(ip.tid)) {
      --samples_;
    } else {
      count(sample);
    }
  }
  waiting->resize(kept);
}

void Recorder::Commit(uint64_t complete_ns) {
  locator_.BeginRound();
  CommitSamples(complete_ns, &waiting_,
                [this](const IpSample& sample) { aggregator_.OnSample(sample); });
  CommitSamples(complete_ns, &waiting_ops_,
                [this](const auto& sample) { aggregator_.OnIbsOp(sample.first, sample.second); });
  CommitSamples(complete_ns, &waiting_fetches_, [this](const auto& sample) {
    aggregator_.OnIbsFetch(sample.first, sample.second);
  });
  if (DataKeeper* const keeper = aggregator_.data_keeper()) keeper->EndRound(complete_ns);
  bursts_.TakeUpTo(complete_ns, [this](const BurstSample& burst) { CountBurst(burst); });
}

void Recorder::CountBurst(const BurstSample& burst) {
  SourceState& state = source_states_[burst.source];
  if (IsIgnored(burst.tid)) {
    --samples_;
    ++state.worker_bursts;
    return;
  }
  if (burst.branches.size() < 2) ++state.short_bursts;
  aggregator_.OnBurst(burst);
}

void Recorder::Compact() {
  aggregator_.Compact();
  if (waiting_.empty()) waiting_.shrink_to_fit();
  if (waiting_ops_.empty()) waiting_ops_.shrink_to_fit();
  if (waiting_fetches_.empty()) waiting_fetches_.shrink_to_fit();
  if (bursts_.size() == 0) bursts_.Shrink();
}

ProfileData Recorder::Snapshot(CancelCheck* check) {
  ProfileData snapshot = aggregator_.Snapshot(check);
  for (size_t i = 0; i < snapshot.sources.size(); ++i) {
    TraceStatistics own;
    AddCounter("worker-bursts", source_states_[i].worker_bursts, &own.counters);
    AddCounter("short-bursts", source_states_[i].short_bursts, &own.counters);
    AddTraceStatistics(own, &snapshot.sources[i].trace);
  }
  return snapshot;
}

void Recorder::Clear() {
  const pid_t pid = pid_;
  KeptDetail detail;
  detail.slice_ns = slice_ns_;
  detail.memory_nodes = memory_nodes_;
  CountedMemory* const memory = memory_;
  std::unique_ptr<CountedMemory> own_memory = std::move(own_memory_);
  Aggregator::Keepers keepers;
  aggregator_.SwapKeepers(&keepers);
  if (keepers.bursts != nullptr) keepers.bursts->Clear();
  if (keepers.data != nullptr) keepers.data->Clear();
  this->~Recorder();
  new (this) Recorder(pid, detail, memory);
  own_memory_.swap(own_memory);
  aggregator_.SwapKeepers(&keepers);
}

}  // namespace hbbp
