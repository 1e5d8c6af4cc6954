#include "backends/pair_backend.h"

#include <algorithm>
#include <iterator>

namespace hbbp {
namespace {

// Passes everything on, with the sources of the backend behind `shift` others.
class ShiftedSources : public SampleSink {
 public:
  ShiftedSources(uint32_t shift, SampleSink* sink) : shift_(shift), sink_(*sink) {}

  void OnSample(const IpSample& sample) override {
    IpSample shifted = sample;
    shifted.source += shift_;
    sink_.OnSample(shifted);
  }
  void OnBurst(const BurstSample& burst) override {
    BurstSample shifted = burst;
    shifted.source += shift_;
    sink_.OnBurst(shifted);
  }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    sink_.OnTraceStatistics(source + shift_, statistics);
  }
  void OnMapping(MappingEvent mapping) override { sink_.OnMapping(std::move(mapping)); }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override {
    sink_.OnThreadName(pid, tid, name);
  }
  void OnLost(uint32_t source, uint64_t samples) override {
    sink_.OnLost(source + shift_, samples);
  }
  void OnThrottled(uint32_t source) override { sink_.OnThrottled(source + shift_); }

 private:
  const uint32_t shift_;
  SampleSink& sink_;
};

// Drops what is the work of the other backend.
class WithoutWorkOf : public ShiftedSources {
 public:
  // `dropped` is by source.
  WithoutWorkOf(const Backend& other, std::vector<uint64_t>* dropped, SampleSink* sink)
      : ShiftedSources(0, sink), other_(other), dropped_(*dropped), told_(dropped->size()) {}

  void OnSample(const IpSample& sample) override {
    if (other_.IsOwnWork(sample)) {
      ++dropped_[sample.source];
    } else {
      ShiftedSources::OnSample(sample);
    }
  }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    told_[source] = statistics;
  }

  void TellStatistics() {
    for (uint32_t source = 0; source < told_.size(); ++source) {
      AddCounter("in-handler", dropped_[source], &told_[source].counters);
      ShiftedSources::OnTraceStatistics(source, told_[source]);
    }
  }

 private:
  const Backend& other_;
  std::vector<uint64_t>& dropped_;
  std::vector<TraceStatistics> told_;
};

}  // namespace

Status PairBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  HBBP_RETURN_IF_ERROR(first_->Start(config, excluded, choice));
  sources_of_first_ = static_cast<uint32_t>(choice->sources.size());
  in_handler_.assign(sources_of_first_, 0);
  BackendConfig config_of_second = config;
  for (const SourceChoice& source : choice->sources) {
    config_of_second.beside.push_back({source.event, source.period});
  }
  BackendChoice more;
  Status status = second_->Start(config_of_second, excluded, &more);
  if (!status.ok()) {
    first_->Disable();
    first_->Close();
    return status;
  }
  std::move(more.sources.begin(), more.sources.end(), std::back_inserter(choice->sources));
  return status;
}

void PairBackend::Drain(SampleSink* sink) {
  WithoutWorkOf without_tracing(*second_, &in_handler_, sink);
  first_->Drain(&without_tracing);
  without_tracing.TellStatistics();
  ShiftedSources shifted(sources_of_first_, sink);
  second_->Drain(&shifted);
}

void PairBackend::Disable() {
  second_->Disable();
  first_->Disable();
}

void PairBackend::Close() {
  second_->Close();
  first_->Close();
}

Status PairBackend::SetPeriodFactor(double factor, SampleSink* sink) {
  WithoutWorkOf without_tracing(*second_, &in_handler_, sink);
  const Status status = first_->SetPeriodFactor(factor, &without_tracing);
  without_tracing.TellStatistics();
  HBBP_RETURN_IF_ERROR(status);
  ShiftedSources shifted(sources_of_first_, sink);
  return second_->SetPeriodFactor(factor, &shifted);
}

void PairBackend::ForgetInChild() {
  second_->ForgetInChild();
  first_->ForgetInChild();
}

void PairBackend::AbandonInChild() {
  second_->AbandonInChild();
  first_->AbandonInChild();
}

int PairBackend::DrainIntervalMs() const {
  return std::min(first_->DrainIntervalMs(), second_->DrainIntervalMs());
}

}  // namespace hbbp
