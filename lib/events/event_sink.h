// EventSink: the interface that every source of events writes to, live or not.
//
// A source reports where code is, what processes do, and its samples, in the order of time as far
// as it knows it. Sinks stand in a chain: each does one thing, and passes on what is left to the
// next; an Aggregator at its end counts (collect/aggregator.h).
#ifndef HBBP_LIB_EVENTS_EVENT_SINK_H_
#define HBBP_LIB_EVENTS_EVENT_SINK_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "events/code_events.h"
#include "events/ibs_sample.h"
#include "events/samples.h"
#include "image/named_range.h"

namespace hbbp {

// It is called by one thread at a time, never from a signal handler. A sink ignores what it does
// not override.
class EventSink {
 public:
  virtual ~EventSink() = default;

  // Sinks that keep an event move it. NOLINTBEGIN(performance-unnecessary-value-param)
  virtual void OnMapping(MappingEvent) {}
  virtual void OnCode(CodeEvent) {}
  virtual void OnData(const DataEvent&) {}
  virtual void OnFork(const ForkEvent&) {}
  // The process became another program, or ended.
  virtual void OnExec(uint32_t /*pid*/) {}
  virtual void OnExit(uint32_t /*pid*/) {}
  virtual void OnThreadName(uint32_t /*pid*/, uint32_t /*tid*/, const std::string&) {}
  // Gives a build ID to mappings of that path that have none.
  virtual void OnBuildId(const std::string& /*path*/, std::vector<uint8_t>) {}
  // The kernel generated code (BPF).
  virtual void OnKernelFunction(NamedRange) {}
  // NOLINTEND(performance-unnecessary-value-param)

  // Samples name their source by its number in the sink.
  virtual void OnSample(const IpSample&) {}
  virtual void OnBurst(const BurstSample&) {}
  // These take a sample, and what IBS knows of its op or fetch.
  virtual void OnIbsOp(const IpSample&, const IbsOp&) {}
  virtual void OnIbsFetch(const IpSample&, const IbsFetch&) {}
  virtual void OnLost(uint32_t /*source*/, uint64_t /*samples*/) {}
  virtual void OnThrottled(uint32_t /*source*/) {}
  // Replaces what was reported before.
  virtual void OnTraceStatistics(uint32_t /*source*/, const TraceStatistics&) {}
  // Replaces what the source was added with, where only its bursts show what their extent is.
  virtual void OnBurstExtent(uint32_t /*source*/, BurstExtent) {}
};

// Passes everything on; derived classes change or keep some of it.
class ForwardingSink : public EventSink {
 public:
  // `next` must outlive it, and is not used before the first event.
  explicit ForwardingSink(EventSink* next) : next_(*next) {}

  void OnMapping(MappingEvent mapping) override { next_.OnMapping(std::move(mapping)); }
  void OnCode(CodeEvent code) override { next_.OnCode(std::move(code)); }
  void OnData(const DataEvent& data) override { next_.OnData(data); }
  void OnFork(const ForkEvent& fork) override { next_.OnFork(fork); }
  void OnExec(uint32_t pid) override { next_.OnExec(pid); }
  void OnExit(uint32_t pid) override { next_.OnExit(pid); }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override {
    next_.OnThreadName(pid, tid, name);
  }
  void OnBuildId(const std::string& path, std::vector<uint8_t> build_id) override {
    next_.OnBuildId(path, std::move(build_id));
  }
  void OnKernelFunction(NamedRange function) override {
    next_.OnKernelFunction(std::move(function));
  }
  void OnSample(const IpSample& sample) override { next_.OnSample(sample); }
  void OnBurst(const BurstSample& burst) override { next_.OnBurst(burst); }
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override { next_.OnIbsOp(sample, op); }
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override {
    next_.OnIbsFetch(sample, fetch);
  }
  void OnLost(uint32_t source, uint64_t samples) override { next_.OnLost(source, samples); }
  void OnThrottled(uint32_t source) override { next_.OnThrottled(source); }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    next_.OnTraceStatistics(source, statistics);
  }
  void OnBurstExtent(uint32_t source, BurstExtent extent) override {
    next_.OnBurstExtent(source, extent);
  }

 protected:
  EventSink& next() { return next_; }

 private:
  EventSink& next_;
};

// Gives sources the numbers that they have in the next sink.
class RenumberedSources : public ForwardingSink {
 public:
  // Source i becomes numbers[i]. Both must outlive it.
  RenumberedSources(std::span<const uint32_t> numbers, EventSink* next)
      : ForwardingSink(next), numbers_(numbers) {}

  void OnSample(const IpSample& sample) override { next().OnSample(Renumbered(sample)); }
  void OnBurst(const BurstSample& burst) override { next().OnBurst(Renumbered(burst)); }
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override {
    next().OnIbsOp(Renumbered(sample), op);
  }
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override {
    next().OnIbsFetch(Renumbered(sample), fetch);
  }
  void OnLost(uint32_t source, uint64_t samples) override {
    next().OnLost(numbers_[source], samples);
  }
  void OnThrottled(uint32_t source) override { next().OnThrottled(numbers_[source]); }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    next().OnTraceStatistics(numbers_[source], statistics);
  }
  void OnBurstExtent(uint32_t source, BurstExtent extent) override {
    next().OnBurstExtent(numbers_[source], extent);
  }

 private:
  template <typename Sample>
  Sample Renumbered(Sample sample) const {
    sample.source = numbers_[sample.source];
    return sample;
  }

  const std::span<const uint32_t> numbers_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_EVENT_SINK_H_
