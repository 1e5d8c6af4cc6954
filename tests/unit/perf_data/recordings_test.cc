// What perf itself reports of each recording, with `perf report -D --stats` and `perf script`.
// Recordings that Debian's perf 6.1 cannot read are checked against each other.
#include "recordings.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perf_data/perf_data_reader.h"
#include "support/catch.h"

namespace hbbp {
namespace {

struct Counts : PerfDataVisitor {
  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    ++samples[event.name];
    branches += sample.branches.size();
    for (size_t i = 0; i < sample.branches.size(); ++i) {
      empty_branches += sample.branches[i].from == 0 && sample.branches[i].to == 0;
    }
    callchain += sample.callchain.size();
    raw_bytes += sample.raw.size();
  }
  void OnMmap(const MmapRecord&) override { ++mmaps; }
  void OnComm(const CommRecord&) override { ++comms; }
  void OnLost(const LostRecord& lost_record) override { lost += lost_record.count; }
  void OnKsymbol(const KsymbolRecord&) override { ++ksymbols; }
  void OnSwitch(const SwitchRecord&) override { ++switches; }
  void OnThrottle(const ThrottleRecord& throttle) override { throttles += throttle.is_throttled; }

  std::map<std::string, uint64_t> samples;
  uint64_t branches = 0, empty_branches = 0, callchain = 0, raw_bytes = 0, lost = 0;
  uint64_t mmaps = 0, comms = 0, ksymbols = 0, switches = 0, throttles = 0;
};

struct Recording {
  const char* name;
  std::map<std::string, uint64_t> samples;
  uint64_t branches = 0;
  uint64_t mmaps = 0;
  uint64_t comms = 0;
  uint64_t rounds = 0;
  uint64_t problems = 0;
};

const std::vector<Recording>& Recordings() {
  static const std::vector<Recording> recordings = {
      {"autofdo/test.lbr", {{"br_inst_exec:taken", 9232}}, 147712, 33, 2, 0, 0},
      {"autofdo/propeller_sample.perfdata", {{"cycles", 4639}}, 148448, 16, 5, 18, 0},
      {"autofdo/hierarchical_discriminator_test.x86_64.perf.data",
       {{"cycles:P", 145}},
       2320,
       4,
       2,
       1,
       0},
      {"ibs/zen2_rome.ibs.perf.data",
       {{"ibs_fetch/config=0x0/", 1}, {"ibs_op/config=0x0/", 1}},
       0,
       0,
       0,
       0,
       0},
      {"ibs/zen4_genoa.ibs.perf.data", {{"ibs_op/config=0x10000/", 1}}, 0, 0, 0, 0, 0},
      {"quipper/perf.data.branch-4.14", {{"cycles:ppp", 13}}, 416, 31, 3, 1, 0},
      {"quipper/perf.data.branch_stack_spec", {{"rc4", 8}}, 128, 30, 2, 3, 0},
      {"quipper/perf.data.callgraph_and_branch-3.8", {{"cycles", 1856}}, 29696, 1793, 229, 0, 0},
      {"quipper/perf.data.group_desc-4.14",
       {{"cache-references", 7}, {"branch-misses", 6}},
       0,
       31,
       3,
       1,
       0},
      {"quipper/perf.data.hw_and_sw-3.4", {{"cycles", 207}, {"cpu-clock", 4734}}, 0, 2234, 298},
      {"quipper/perf.data.hybrid_topology", {{"cpu_core/cycles:ppp/", 7}}, 0, 107, 3, 1, 0},
      {"quipper/perf.data.i686-3.4",
       {{"cycles", 147},
        {"instructions", 155},
        {"cache-references", 116},
        {"cache-misses", 89},
        {"branches", 95},
        {"branch-misses", 101}},
       0,
       1584,
       204,
       0,
       0},
      {"quipper/perf.data.intel_pt-4.14", {{"cycles", 15}}, 0, 66, 3, 4, 0},
      {"quipper/perf.data.lost_samples-4.4",
       {{"cycles:pp", 97}, {"instructions:pp", 80}, {"branch-instructions:pp", 14}},
       0,
       45,
       3,
       1,
       0},
      {"quipper/perf.data.piped.corrupted.zero_size_sample-3.2", {}, 0, 468, 100, 0, 1},
      {"quipper/perf.data.piped.header_features-4.16", {{"cpu-clock", 2}}, 0, 32, 2, 1, 0},
      {"quipper/perf.data.piped.header_features_aligned-6.12", {{"cycles:u", 9}}, 0, 4, 2, 1, 0},
      {"quipper/perf.data.piped.no_attr_ids-4.14", {{"cycles", 7}}, 0, 31, 3, 1, 0},
      {"quipper/perf.data.piped.target-3.4", {{"cycles", 1414}}, 0, 1416, 176, 0, 0},
      {"quipper/perf.data.remmap-3.2", {{"cycles", 198}}, 0, 138, 2, 0, 0},
      {"quipper/perf.data.singleprocess-3.8", {{"cycles", 13}}, 0, 100, 2, 0, 0},
      {"linux-perf-data/fibo.compressed2.pipe.data", {{"cycles:P", 547}}, 0, 979, 23, 124, 0},
      {"linux-perf-data/sleep.compressed.data", {{"cycles:P", 8}}, 0, 49, 2, 1, 0},
      {"linux-perf-data/sleep.compressed.pipe.data", {{"cycles:P", 8}}, 0, 49, 2, 1, 0},
      {"linux-perf-data/sleep.compressed2.data", {{"cycles:Pu", 7}}, 0, 4, 2, 1, 0},
      {"linux-perf-data/sleep.compressed2.pipe.data", {{"cycles:P", 7}}, 0, 169, 2, 1, 1},
      {"linux-perf-data/sleep.data", {{"cycles:Pu", 7}}, 0, 4, 2, 1, 0},
  };
  return recordings;
}

struct Reading {
  std::unique_ptr<PerfDataReader> reader;
  PerfDataSummary summary;
};

// With the recording read by `visitor`.
Reading ReadRecording(const std::string& path, PerfDataVisitor* visitor,
                      PerfDataOptions::Order order = PerfDataOptions::Order::kByTime) {
  auto reader = PerfDataReader::Open(path);
  INFO(path << ": " << reader.status().message());
  REQUIRE(reader.ok());
  PerfDataOptions options;
  options.order = order;
  auto summary = (*reader)->Read(visitor, options);
  REQUIRE(summary.ok());
  return {*std::move(reader), *std::move(summary)};
}

TEST_CASE("all recordings are read as perf reads them") {
  size_t found = 0;
  for (const Recording& recording : Recordings()) {
    const auto path = RecordingPath(recording.name);
    if (!path.has_value()) continue;
    ++found;
    for (const auto order : {PerfDataOptions::Order::kByTime, PerfDataOptions::Order::kAsWritten}) {
      CAPTURE(recording.name);
      Counts counts;
      const PerfDataSummary summary = ReadRecording(*path, &counts, order).summary;
      CHECK(counts.samples == recording.samples);
      CHECK(counts.branches == recording.branches);
      CHECK(counts.mmaps == recording.mmaps);
      CHECK(counts.comms == recording.comms);
      CHECK(summary.rounds == recording.rounds);
      CHECK(summary.problem_count == recording.problems);
      CHECK(summary.late_records == 0);
      CHECK_FALSE(summary.is_unfinished);
    }
  }
  if (found == 0) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
}

TEST_CASE("recordings with records of many types") {
  const auto propeller = RecordingPath("autofdo/propeller_sample.perfdata");
  const auto intel_pt = RecordingPath("quipper/perf.data.intel_pt-4.14");
  const auto lost = RecordingPath("quipper/perf.data.lost_samples-4.4");
  const auto chains = RecordingPath("quipper/perf.data.callgraph_and_branch-3.8");
  const auto spec = RecordingPath("quipper/perf.data.branch_stack_spec");
  const auto ibs = RecordingPath("ibs/zen2_rome.ibs.perf.data");
  const auto text = RecordingPath("linux-perf-data/sleep.compressed2.pipe.data");
  if (!propeller || !intel_pt || !lost || !chains || !spec || !ibs || !text) {
    HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  }
  Counts counts;
  ReadRecording(*propeller, &counts);
  CHECK(counts.empty_branches == 366);
  CHECK(counts.throttles == 41);
  counts = Counts();
  const Reading traced = ReadRecording(*intel_pt, &counts);
  CHECK(counts.switches == 152);
  CHECK(traced.summary.RecordsOf(PERF_RECORD_AUX) == 10);
  CHECK(traced.summary.RecordsOf(71) == 2);
  counts = Counts();
  ReadRecording(*lost, &counts);
  CHECK(counts.lost == 2);
  counts = Counts();
  ReadRecording(*chains, &counts);
  CHECK(counts.callchain == 15066);
  counts = Counts();
  const Reading zen = ReadRecording(*spec, &counts);
  CHECK(counts.ksymbols == 47);
  CHECK(zen.reader->header().BranchStackDepth() == 16);
  CHECK(zen.reader->header().arch == "x86_64");
  counts = Counts();
  ReadRecording(*ibs, &counts);
  CHECK(counts.raw_bytes == 36 + 68);
  const Reading garbage = ReadRecording(*text, &counts);
  REQUIRE(garbage.summary.problems.size() == 1);
  CHECK(garbage.summary.problems[0].dropped_bytes == 143);
}

TEST_CASE("memory of the recorded machine is of its one node, but for gaps") {
  const auto file = RecordingPath("linux-perf-data/sleep.data");
  const auto pipe = RecordingPath("linux-perf-data/fibo.compressed2.pipe.data");
  if (!file || !pipe) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  for (const auto& path : {file, pipe}) {
    CAPTURE(*path);
    Counts counts;
    const Reading got = ReadRecording(*path, &counts);
    const MemoryNodes& nodes = got.reader->header().memory_nodes;
    constexpr uint64_t kBlock = 128 << 20;
    CHECK(nodes.block_bytes == kBlock);
    REQUIRE(nodes.nodes.size() == 1);
    for (uint64_t block = 0; block < 300; ++block) {
      CAPTURE(block);
      const bool is_memory = block < 270 && !(block >= 18 && block < 32);
      CHECK(nodes.Find(block * kBlock) == (is_memory ? 0 : kUnknownNode));
    }
  }
}

// Counts the taken branches and streams of one module, by offset in its file.
struct StreamCounts : PerfDataVisitor {
  void OnMmap(const MmapRecord& mmap) override {
    if (mmap.path.find(module) != std::string::npos) mapping = mmap;
  }
  void OnSample(const PerfEvent&, const SampleRecord& sample) override {
    ++ips[Offset(sample.ip)];
    for (size_t i = 1; i < sample.branches.size(); ++i) {
      const uint64_t first = Offset(sample.branches[i].to);
      const uint64_t last = Offset(sample.branches[i - 1].from);
      if (first != 0 && last != 0) ++streams[{first, last}];
    }
  }
  // 0 outside of the module.
  uint64_t Offset(uint64_t address) const {
    const bool is_inside = address - mapping.address < mapping.size;
    return is_inside ? address - mapping.address + mapping.file_offset : 0;
  }

  std::string module;
  MmapRecord mapping;
  std::map<uint64_t, uint64_t> ips;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> streams;
};

TEST_CASE("branches and addresses are those that AutoFDO finds") {
  const auto path = RecordingPath("autofdo/test.lbr");
  if (!path.has_value()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  StreamCounts counts;
  counts.module = "test.binary";
  ReadRecording(*path, &counts);
  CHECK(counts.ips[0xfe0] == 55);
  CHECK(counts.ips[0x1005] == 18);
  CHECK((counts.streams[{0x4e80, 0x4e8e}]) == 1134);
}

TEST_CASE("a compressed recording says what its pipe says") {
  const auto file = RecordingPath("linux-perf-data/sleep.compressed.data");
  const auto pipe = RecordingPath("linux-perf-data/sleep.compressed.pipe.data");
  if (!file || !pipe) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  Counts from_file, from_pipe;
  ReadRecording(*file, &from_file);
  ReadRecording(*pipe, &from_pipe);
  CHECK(from_file.ksymbols == from_pipe.ksymbols);
  CHECK(from_file.mmaps == from_pipe.mmaps);
  CHECK(from_file.samples == from_pipe.samples);
}

}  // namespace
}  // namespace hbbp
