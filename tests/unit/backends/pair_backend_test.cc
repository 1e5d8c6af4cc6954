#include "backends/pair_backend.h"

#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Calls = std::vector<std::string>;

// Two sources; of each a sample, a burst, a loss and a throttling a drain.
class FakeBackend : public Backend {
 public:
  FakeBackend(const char* name, int interval_ms, bool starts, Calls* calls)
      : name_(name), interval_ms_(interval_ms), starts_(starts), calls_(*calls) {}

  const char* name() const override { return name_; }
  Status Start(const BackendConfig&, pid_t, BackendChoice* choice) override {
    Say("start");
    if (!starts_) return MakeStatus(StatusCode::kUnsupported, "no %s here", name_);
    choice->sources.resize(2);
    return OkStatus();
  }
  void Drain(SampleSink* sink) override {
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
  void Disable() override { Say("disable"); }
  void Close() override { Say("close"); }
  Status SetPeriodFactor(double, SampleSink*) override { return OkStatus(); }
  uint64_t SamplingNs() const override { return 0; }
  uint64_t BufferBytes() const override { return 0; }
  void ForgetInChild() override { Say("forget"); }
  int DrainIntervalMs() const override { return interval_ms_; }

 private:
  void Say(const char* what) { calls_.push_back(std::string(name_) + " " + what); }

  const char* name_;
  int interval_ms_;
  bool starts_;
  Calls& calls_;
};

class SourceLog : public SampleSink {
 public:
  void OnSample(const IpSample& sample) override { sources.push_back(sample.source); }
  void OnBurst(const BurstSample& burst) override { sources.push_back(burst.source); }
  void OnTraceStatistics(uint32_t source, const TraceStatistics&) override {
    sources.push_back(source);
  }
  void OnMapping(MappingEvent) override { ++mappings; }
  void OnThreadName(uint32_t, uint32_t, const std::string& name) override { names += name; }
  void OnLost(uint32_t source, uint64_t) override { sources.push_back(source); }
  void OnThrottled(uint32_t source) override { sources.push_back(source); }

  std::vector<uint32_t> sources;
  int mappings = 0;
  std::string names;
};

PairBackend MakePair(bool second_starts, Calls* calls) {
  return PairBackend(std::make_unique<FakeBackend>("a", 100, true, calls),
                     std::make_unique<FakeBackend>("b", 20, second_starts, calls));
}

TEST_CASE("a pair has the sources of both, one behind the other") {
  Calls calls;
  PairBackend pair = MakePair(true, &calls);
  CHECK(std::string(pair.name()) == "a,b");
  CHECK(pair.DrainIntervalMs() == 20);
  BackendChoice choice;
  REQUIRE(pair.Start({}, 0, &choice).ok());
  CHECK(choice.sources.size() == 4);
  SourceLog log;
  pair.Drain(&log);
  CHECK(log.sources == std::vector<uint32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1,  //
                                             2, 2, 2, 2, 2, 3, 3, 3, 3, 3});
  CHECK(log.mappings == 2);
  CHECK(log.names == "ab");
  pair.Disable();
  pair.Close();
  pair.ForgetInChild();
  CHECK(calls == Calls{"a start", "b start", "b disable", "a disable", "b close", "a close",
                       "b forget", "a forget"});
}

TEST_CASE("if the second does not start, the first is closed again") {
  Calls calls;
  PairBackend pair = MakePair(false, &calls);
  BackendChoice choice;
  const Status status = pair.Start({}, 0, &choice);
  CHECK(status.message() == "no b here");
  CHECK(calls == Calls{"a start", "b start", "a disable", "a close"});
}

}  // namespace
}  // namespace hbbp
