#include "backends/pair_backend.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Calls = std::vector<std::string>;

// Has two sources; a drain delivers a sample, a burst, a loss and a throttling of each.
class FakeBackend : public Backend {
 public:
  FakeBackend(const char* name, int interval_ms, bool starts, Calls* calls)
      : name_(name), interval_ms_(interval_ms), starts_(starts), calls_(*calls) {}

  const char* name() const override { return name_; }
  Status Start(const BackendConfig& config, pid_t, BackendChoice* choice) override {
    Log("start");
    for (const ConcurrentSampler& sampler : config.concurrent) {
      Log(("concurrent " + std::to_string(sampler.period)).c_str());
    }
    if (!starts_) return MakeStatus(StatusCode::kUnsupported, "no %s here", name_);
    choice->sources.resize(2);
    choice->sources[0].period = 1000;
    choice->sources[1].period = 2000;
    return OkStatus();
  }
  void Drain(EventSink* sink) override {
    for (uint32_t source = 0; source < 2; ++source) {
      IpSample sample;
      sample.source = source;
      sink->OnSample(sample);
      BurstSample burst;
      burst.source = source;
      sink->OnBurst(burst);
      sink->OnTraceStatistics(source, {});
      sink->OnLost(source, 1);
      sink->OnThrottled(source);
    }
    sink->OnMapping({});
    sink->OnThreadName(1, 1, name_);
  }
  void Disable() override { Log("disable"); }
  void Close() override { Log("close"); }
  Status SetPeriodFactor(double, EventSink*) override { return OkStatus(); }
  uint64_t SamplingNs() const override { return 0; }
  uint64_t BufferBytes() const override { return 0; }
  void ResetInChild() override { Log("reset"); }
  int DrainIntervalMs() const override { return interval_ms_; }
  int LongestIntervalMs() const override { return 1000 - interval_ms_; }
  bool IsProfilerSample(const IpSample& sample) const override {
    return sample.tid == kBusyThread && sample.time_ns == kBusyNs;
  }

  static constexpr uint32_t kBusyThread = 7;
  static constexpr uint64_t kBusyNs = 150;

 private:
  void Log(const char* what) { calls_.push_back(std::string(name_) + " " + what); }

  const char* name_;
  int interval_ms_;
  bool starts_;
  Calls& calls_;
};

class SourceLog : public EventSink {
 public:
  void OnSample(const IpSample& sample) override { sources.push_back(sample.source); }
  void OnBurst(const BurstSample& burst) override { sources.push_back(burst.source); }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    sources.push_back(source);
    for (const auto& [name, number] : statistics.counters) {
      counters[name + " of " + std::to_string(source)] = number;
    }
  }
  void OnMapping(MappingEvent) override { ++mappings; }
  void OnThreadName(uint32_t, uint32_t, const std::string& name) override { names += name; }
  void OnLost(uint32_t source, uint64_t) override { sources.push_back(source); }
  void OnThrottled(uint32_t source) override { sources.push_back(source); }

  std::vector<uint32_t> sources;
  std::map<std::string, uint64_t> counters;
  int mappings = 0;
  std::string names;
};

PairBackend MakePair(bool second_starts, Calls* calls) {
  return PairBackend(std::make_unique<FakeBackend>("a", 100, true, calls),
                     std::make_unique<FakeBackend>("b", 20, second_starts, calls));
}

TEST_CASE("a pair has the sources of both, one after the other") {
  Calls calls;
  PairBackend pair = MakePair(true, &calls);
  CHECK(std::string(pair.name()) == "a,b");
  CHECK(pair.DrainIntervalMs() == 20);
  CHECK(pair.LongestIntervalMs() == 900);
  BackendChoice choice;
  REQUIRE(pair.Start({}, 0, &choice).ok());
  CHECK(choice.sources.size() == 4);
  SourceLog log;
  pair.Drain(&log);
  CHECK(log.sources == std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 0, 1,  //
                                             2, 2, 2, 2, 2, 3, 3, 3, 3, 3});
  CHECK(log.mappings == 2);
  CHECK(log.names == "ab");
  CHECK(log.counters.empty());
  pair.Disable();
  pair.Close();
  pair.ResetInChild();
  CHECK(calls == Calls{"a start", "b start", "b concurrent 1000", "b concurrent 2000", "b disable",
                       "a disable", "b close", "a close", "b reset", "a reset"});
}

TEST_CASE("if the second does not start, the first is closed again") {
  Calls calls;
  PairBackend pair = MakePair(false, &calls);
  BackendChoice choice;
  const Status status = pair.Start({}, 0, &choice);
  CHECK(status.message() == "no b here");
  CHECK(calls == Calls{"a start", "b start", "b concurrent 1000", "b concurrent 2000", "a disable",
                       "a close"});
}

// Takes samples in handlers of the other backend, and elsewhere.
class Sampler : public FakeBackend {
 public:
  explicit Sampler(Calls* calls) : FakeBackend("sampler", 100, true, calls) {}

  void Drain(EventSink* sink) override {
    TraceStatistics statistics;
    statistics.counters = {{"other", 5}};
    sink->OnTraceStatistics(1, statistics);
    for (const uint32_t tid : {kBusyThread, kBusyThread + 1}) {
      for (const uint64_t time_ns : {kBusyNs, kBusyNs + 1}) {
        sink->OnSample({.ip = {}, .tid = tid, .time_ns = time_ns, .source = 1});
      }
    }
  }
  Status SetPeriodFactor(double, EventSink* sink) override {
    Drain(sink);
    return OkStatus();
  }
};

TEST_CASE("samples of the first in handlers of the second are dropped and counted") {
  Calls calls;
  PairBackend pair(std::make_unique<Sampler>(&calls),
                   std::make_unique<FakeBackend>("tracer", 20, true, &calls));
  BackendChoice choice;
  REQUIRE(pair.Start({}, 0, &choice).ok());
  SourceLog log;
  REQUIRE(pair.SetPeriodFactor(2, &log).ok());
  CHECK(log.sources == std::vector<uint32_t>{1, 1, 1, 0, 1});
  CHECK(log.counters == std::map<std::string, uint64_t>{{"in-handler of 1", 1}, {"other of 1", 5}});
  pair.Drain(&log);
  CHECK(log.counters["in-handler of 1"] == 2);
}

}  // namespace
}  // namespace hbbp
