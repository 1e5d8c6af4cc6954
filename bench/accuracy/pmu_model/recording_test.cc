#include "pmu_model/recording.h"

#include <algorithm>
#include <memory>

#include "perf_data/perf_data_reader.h"
#include "pmu_model/synthetic_trace.h"
#include "support/catch.h"

namespace hbbp::simulation {
namespace {

struct Seen : PerfDataVisitor {
  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    names.push_back(event.name);
    ips.push_back(sample.ip);
    stacks.push_back(sample.branches.size());
  }
  std::vector<std::string> names;
  std::vector<uint64_t> ips;
  std::vector<size_t> stacks;
};

struct Reading {
  std::vector<uint8_t> bytes;
  std::unique_ptr<PerfDataReader> reader;
  PerfDataSummary summary;
  Seen seen;
};

Reading ReadBack(const std::string& method, std::vector<SimulatedSample>* samples) {
  Trace trace = TraceOfBlocks({3, 5, 2}, InTurns(3, 2000));
  trace.modules[0] = {"/bin/made", std::vector<uint8_t>(20, 7), 0x1000, 0x9000, 0, 0};
  MethodOptions options;
  options.period = 100;
  options.branch_period = 90;
  const std::vector<MethodEvent> events = MakeEvents(method, options);
  std::vector<EventParameters> counted;
  counted.reserve(events.size());
  for (const MethodEvent& event : events) counted.push_back(event.parameters);
  Recording recording(trace, events);
  Simulate(trace, {}, counted, [&](const SimulatedSample& sample) {
    samples->push_back(sample);
    recording.Add(sample);
  });
  Reading reading;
  reading.bytes = recording.File({"model", "word"});
  auto reader = PerfDataReader::FromSource(
      std::make_unique<MemorySource>(reading.bytes, MemorySource::Kind::kFile), "simulated");
  REQUIRE(reader.ok());
  auto summary = (*reader)->Read(&reading.seen, {});
  REQUIRE(summary.ok());
  reading.reader = *std::move(reader);
  reading.summary = *std::move(summary);
  return reading;
}

TEST_CASE("recordings of all methods are read as they were sampled, and say what they are") {
  for (const std::string& method : MethodNames()) {
    CAPTURE(method);
    std::vector<SimulatedSample> samples;
    const Reading reading = ReadBack(method, &samples);
    CHECK(reading.summary.problem_count == 0);
    REQUIRE(samples.size() > 50);
    REQUIRE(reading.seen.ips.size() == samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      CHECK(reading.seen.ips[i] == samples[i].ip);
      CHECK(reading.seen.stacks[i] == samples[i].stack.size());
    }
    for (const PerfEvent& event : reading.reader->events()) {
      CHECK(event.name.starts_with("simulated-"));
    }
    CHECK(reading.reader->header().hostname == "simulation");
    CHECK(reading.reader->header().cpu_description.starts_with("SIMULATION"));
    CHECK(reading.reader->header().command_line == std::vector<std::string>{"model", "word"});
  }
}

TEST_CASE("methods are events as perf would open them") {
  MethodOptions options;
  options.period = 1000;
  options.branch_period = 100;
  const auto attr = [&options](const char* method) { return MakeEvents(method, options)[0].attr; };
  CHECK(attr("default").precise_ip == 0);
  CHECK(attr("default").sample_period == 1000);
  CHECK(attr("precise").precise_ip == 1);
  CHECK(attr("prime").sample_period == 997);
  CHECK(attr("random").sample_period == 1000);
  CHECK((attr("ip+1").sample_type & PERF_SAMPLE_BRANCH_STACK) != 0);
  CHECK(attr("prec_dist").precise_ip == 3);
  CHECK(attr("prec_dist").config == 0x01c0);
  CHECK(attr("lbr").config == 0x20c4);
  CHECK(attr("lbr").sample_period == 97);
  const auto hybrid = [&options] { return MakeEvents("hybrid", options); };
  REQUIRE(hybrid().size() == 2);
  CHECK(hybrid()[0].attr.config == 0x01c0);
  CHECK(hybrid()[1].attr.config == 0x20c4);
  options.hybrid_ebs = "default";
  CHECK(hybrid()[0].attr.precise_ip == 0);
  CHECK(hybrid()[0].attr.sample_period == 1000);
  options.period_mode = PeriodMode::kPrime;
  CHECK(hybrid()[0].attr.sample_period == 997);
}

TEST_CASE("phases differ by seed and are within the period, or as asked for") {
  MethodOptions options;
  std::vector<uint64_t> phases;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    const uint64_t phase = MakeEvents("default", options)[0].parameters.counter.phase;
    CHECK(phase >= 1);
    CHECK(phase <= options.period);
    phases.push_back(phase);
  }
  std::sort(phases.begin(), phases.end());
  CHECK(std::unique(phases.begin(), phases.end()) == phases.end());
  options.phase = 0;
  CHECK(MakeEvents("default", options)[0].parameters.counter.phase == 0);
}

}  // namespace
}  // namespace hbbp::simulation
