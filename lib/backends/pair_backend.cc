#include "backends/pair_backend.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace hbbp {
namespace {

// Drops the samples that are in handlers of the other backend.
class ProfilerSampleFilter : public ForwardingSink {
 public:
  // `dropped` has a number for each source.
  ProfilerSampleFilter(const Backend& other, std::vector<uint64_t>* dropped, EventSink* sink)
      : ForwardingSink(sink), other_(other), dropped_(*dropped), statistics_(dropped->size()) {}

  void OnSample(const IpSample& sample) override {
    if (other_.IsProfilerSample(sample)) {
      ++dropped_[sample.source];
    } else {
      next().OnSample(sample);
    }
  }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    statistics_[source] = statistics;
  }

  void ReportStatistics() {
    for (uint32_t source = 0; source < statistics_.size(); ++source) {
      AddCounter("in-handler", dropped_[source], &statistics_[source].counters);
      next().OnTraceStatistics(source, statistics_[source]);
    }
  }

 private:
  const Backend& other_;
  std::vector<uint64_t>& dropped_;
  std::vector<TraceStatistics> statistics_;
};

}  // namespace

Status PairBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  HBBP_RETURN_IF_ERROR(first_->Start(config, excluded, choice));
  in_handler_.assign(choice->sources.size(), 0);
  BackendConfig config_of_second = config;
  for (const SourceChoice& source : choice->sources) {
    config_of_second.concurrent.push_back({source.event, source.period});
  }
  BackendChoice more;
  Status status = second_->Start(config_of_second, excluded, &more);
  if (!status.ok()) {
    first_->Disable();
    first_->Close();
    return status;
  }
  numbers_of_second_.resize(more.sources.size());
  std::iota(numbers_of_second_.begin(), numbers_of_second_.end(),
            static_cast<uint32_t>(choice->sources.size()));
  std::move(more.sources.begin(), more.sources.end(), std::back_inserter(choice->sources));
  return status;
}

void PairBackend::Drain(EventSink* sink) {
  ProfilerSampleFilter filter(*second_, &in_handler_, sink);
  first_->Drain(&filter);
  filter.ReportStatistics();
  RenumberedSources numbered(numbers_of_second_, sink);
  second_->Drain(&numbered);
}

void PairBackend::Disable() {
  second_->Disable();
  first_->Disable();
}

void PairBackend::Close() {
  second_->Close();
  first_->Close();
}

Status PairBackend::SetPeriodFactor(double factor, EventSink* sink) {
  ProfilerSampleFilter filter(*second_, &in_handler_, sink);
  const Status status = first_->SetPeriodFactor(factor, &filter);
  filter.ReportStatistics();
  HBBP_RETURN_IF_ERROR(status);
  RenumberedSources numbered(numbers_of_second_, sink);
  const Status of_second = second_->SetPeriodFactor(factor, &numbered);
  // Then that of the first alone helps.
  return of_second.code() == StatusCode::kUnsupported ? OkStatus() : of_second;
}

void PairBackend::ResetInChild() {
  second_->ResetInChild();
  first_->ResetInChild();
}

void PairBackend::AbandonInChild() {
  second_->AbandonInChild();
  first_->AbandonInChild();
}

int PairBackend::DrainIntervalMs() const {
  return std::min(first_->DrainIntervalMs(), second_->DrainIntervalMs());
}

int PairBackend::LongestIntervalMs() const {
  return std::min(first_->LongestIntervalMs(), second_->LongestIntervalMs());
}

}  // namespace hbbp
