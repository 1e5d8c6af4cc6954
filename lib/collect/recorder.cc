#include "collect/recorder.h"

#include <unistd.h>

#include <algorithm>

namespace hbbp {
namespace {

constexpr size_t kMaxIgnoredThreads = 64;

}  // namespace

Recorder::Recorder(pid_t pid, uint64_t slice_ns, CountedMemory* memory)
    : pid_(pid),
      slice_ns_(slice_ns),
      own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      given_memory_(memory),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      locator_(pid, memory_),
      aggregator_(&locator_, slice_ns, memory_),
      waiting_(memory_),
      bursts_(memory_) {}

std::vector<uint32_t> Recorder::AddSources(std::vector<SourceRecord> sources) {
  current_sources_.clear();
  for (SourceRecord& source : sources) current_sources_.push_back(IndexOf(std::move(source)));
  return current_sources_;
}

uint32_t Recorder::IndexOf(SourceRecord source) {
  for (uint32_t i = 0; i < aggregator_.sources().size(); ++i) {
    const SourceRecord& known = aggregator_.source(i);
    if (known.kind == source.kind && known.event == source.event &&
        known.event_name == source.event_name && known.period == source.period &&
        known.frequency_hz == source.frequency_hz && known.period_mode == source.period_mode &&
        known.include_kernel == source.include_kernel &&
        known.burst_extent == source.burst_extent) {
      source_states_[i].finished_runs = known.trace;
      return i;
    }
  }
  source_states_.reserve(aggregator_.sources().size() + 1);  // both lists or none
  const uint32_t index = aggregator_.AddSource(std::move(source));
  source_states_.emplace_back();
  return index;
}

void Recorder::NoteThread(uint32_t tid) {
  const auto pid = static_cast<uint32_t>(pid_ != 0 ? pid_ : ::getpid());
  if (!aggregator_.HasThread(pid, tid) && !IsIgnored(tid)) locator_.NoteThread(tid);
}

void Recorder::IgnoreThread(uint32_t tid) {
  if (IsIgnored(tid)) return;
  if (ignored_threads_.size() == kMaxIgnoredThreads) {
    ignored_threads_.erase(ignored_threads_.begin());
  }
  ignored_threads_.push_back(tid);
  locator_.ForgetThread(tid);
}

bool Recorder::IsIgnored(uint32_t tid) const {
  return std::find(ignored_threads_.begin(), ignored_threads_.end(), tid) != ignored_threads_.end();
}

void Recorder::OnSample(const IpSample& sample) {
  ++samples_;
  if (HasMemoryFor([&] { waiting_.push_back(sample); })) return;
  aggregator_.Drop(current_sources_[sample.source], 1);
}

void Recorder::OnBurst(const BurstSample& burst) {
  ++samples_;
  if (HasMemoryFor([&] { bursts_.Add(burst); })) return;
  aggregator_.Drop(current_sources_[burst.source], 1);
}

void Recorder::OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) {
  const uint32_t index = current_sources_[source];
  TraceStatistics sum = source_states_[index].finished_runs;
  AddTraceStatistics(statistics, &sum);
  aggregator_.source(index).trace = std::move(sum);
}

void Recorder::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  if (!aggregator_.RenameThread(pid, tid, name)) locator_.NameThread(tid, name);
}

void Recorder::Settle(uint64_t complete_ns) {
  locator_.BeginRound();
  size_t kept = 0;
  for (const IpSample& sample : waiting_) {
    if (sample.time_ns > complete_ns) {
      waiting_[kept++] = sample;
    } else if (IsIgnored(sample.tid)) {
      --samples_;
    } else {
      aggregator_.AddSample(current_sources_[sample.source], sample);
    }
  }
  waiting_.resize(kept);
  bursts_.TakeUpTo(complete_ns, [this](const BurstSample& burst) { CountBurst(burst); });
}

void Recorder::CountBurst(const BurstSample& burst) {
  const uint32_t source = current_sources_[burst.source];
  if (IsIgnored(burst.tid)) {
    --samples_;
    ++source_states_[source].worker_bursts;
    return;
  }
  if (burst.branches.size() < 2) ++source_states_[source].short_bursts;
  aggregator_.AddBurst(source, burst);
}

void Recorder::Compact() {
  aggregator_.Compact();
  if (waiting_.empty()) waiting_.shrink_to_fit();
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
  const uint64_t slice_ns = slice_ns_;
  CountedMemory* const memory = given_memory_;
  this->~Recorder();
  new (this) Recorder(pid, slice_ns, memory);
}

}  // namespace hbbp
