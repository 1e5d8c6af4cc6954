// Tests PerfDataReader: files and pipes of either byte order, the order of records, events and
// their ids, features, compression, damaged files, cancelling and progress. PerfDataBuilder makes
// the recordings in memory. Read() returns what a visitor (Log) gets of one, ErrorOf() why one is
// refused.
#include "perf_data/perf_data_reader.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/zstd_stream.h"
#include "perf/perf_event.h"
#include "support/catch.h"
#include "support/perf_data_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

perf_event_attr Attr(uint64_t sample_type, uint64_t config = PERF_COUNT_HW_CPU_CYCLES) {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, config);
  attr.sample_type = sample_type;
  attr.sample_id_all = 1;
  return attr;
}

// Names, in the order of delivery.
struct Log : PerfDataVisitor {
  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    lines.push_back(event.name + " " + std::to_string(sample.ip));
  }
  void OnComm(const CommRecord& comm) override { lines.push_back(comm.name); }
  std::vector<std::string> lines;
};
using Lines = std::vector<std::string>;

struct Reading {
  std::unique_ptr<PerfDataReader> reader;
  PerfDataSummary summary;
  Lines lines;
};

Reading Read(const std::vector<uint8_t>& bytes, const PerfDataOptions& options = {},
             MemorySource::Kind kind = MemorySource::Kind::kFile) {
  auto reader = PerfDataReader::FromSource(std::make_unique<MemorySource>(bytes, kind), "test");
  INFO(reader.status().message());
  REQUIRE(reader.ok());
  Log log;
  auto summary = (*reader)->Read(&log, options);
  REQUIRE(summary.ok());
  return {*std::move(reader), *std::move(summary), log.lines};
}

std::string ErrorOf(const std::vector<uint8_t>& bytes) {
  auto reader = PerfDataReader::FromSource(std::make_unique<MemorySource>(bytes), "test");
  return reader.ok() ? "" : reader.status().message();
}

std::vector<uint8_t> Sample(const RecordFormat& format, uint64_t id, uint64_t ip,
                            uint64_t time = 0) {
  return PerfRecordBuilder(format).Id(id).Ip(ip).Pid(1).Tid(2).Time(time).Sample();
}

std::vector<uint8_t> Name(const RecordFormat& format, const std::string& name, uint64_t time) {
  return PerfRecordBuilder(format).Pid(1).Tid(2).Time(time).Comm(name);
}

TEST_CASE("a file and a pipe of either byte order say the same") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    for (const size_t attr_size : {64, 72, 80, 96, 104, 112, 120, 128, 136, 200}) {
      CAPTURE(order == ByteOrder::kSwapped, attr_size);
      PerfDataBuilder data(order);
      perf_event_attr cycles = Attr(kSampleType);
      cycles.precise_ip = 1;
      cycles.exclude_kernel = 1;
      cycles.sample_period = 4000;
      const perf_event_attr branches = Attr(kSampleType, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
      const RecordFormat format = data.MakeRecordFormat(cycles);
      data.AttrSize(attr_size).AddEvent(cycles, {10, 11}).AddEvent(branches, {20, 21});
      data.Add(Name(format, "program", 1)).Add(Sample(format, 21, 100, 2));
      data.Add(Sample(format, 10, 200, 3)).FinishRound();
      data.AddFeature(PerfFeature::kHostname, data.Bytes().String("machine"));
      for (const auto& bytes : {data.File(), data.Pipe()}) {
        const Reading got = Read(bytes);
        CHECK(got.lines == Lines{"program", "branches 100", "cycles 200"});
        CHECK(got.summary.problem_count == 0);
        CHECK(got.summary.bytes <= bytes.size());
        CHECK(got.summary.RecordsOf(PERF_RECORD_SAMPLE) == 2);
        CHECK(got.reader->header().hostname == "machine");
        REQUIRE(got.reader->events().size() == 2);
        const perf_event_attr& attr = got.reader->events()[0].attr;
        CHECK(attr.precise_ip == 1);
        CHECK(attr.exclude_kernel == 1);
        CHECK(attr.exclude_user == 0);
        CHECK(attr.sample_period == 4000);
        CHECK(got.reader->events()[0].ids == std::vector<uint64_t>{10, 11});
      }
    }
  }
}

TEST_CASE("a file may come by a pipe") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 5));
  data.AddFeature(PerfFeature::kArch, data.Bytes().String("x86_64"));
  const Reading got = Read(data.File(), {}, MemorySource::Kind::kPipe);
  CHECK(got.lines == Lines{"cycles 5"});
  CHECK(got.reader->header().arch == "x86_64");
}

TEST_CASE("a recording is opened by its path") {
  const TemporaryFolder directory;
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 5));
  const std::string path = directory.File("perf.data");
  REQUIRE(WriteFileAtomically(path, data.File()).ok());
  auto reader = PerfDataReader::Open(path);
  REQUIRE(reader.ok());
  Log log;
  REQUIRE((*reader)->Read(&log).ok());
  CHECK(log.lines == Lines{"cycles 5"});
  CHECK((*reader)->Read(&log).status().code() == StatusCode::kInvalidState);
  CHECK(PerfDataReader::Open(directory.File("")).status().code() == StatusCode::kBadFormat);
  CHECK(PerfDataReader::Open(directory.File("none")).status().code() == StatusCode::kNotFound);
}

TEST_CASE("records wait for the end of the round after theirs") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  const RecordFormat format = data.MakeRecordFormat(attr);
  data.AddEvent(attr, {1});
  data.Add(Sample(format, 1, 30, 30)).Add(Sample(format, 1, 10, 10)).FinishRound();
  data.Add(Sample(format, 1, 40, 40)).Add(Sample(format, 1, 20, 20)).FinishRound();
  data.Add(Sample(format, 1, 35, 35)).Add(Name(format, "no time", 0)).FinishRound();
  data.Add(Sample(format, 1, 50, 50));
  const std::vector<uint8_t> bytes = data.File();

  const Reading by_time = Read(bytes);
  CHECK(by_time.lines == Lines{"cycles 10", "cycles 20", "cycles 30", "no time", "cycles 35",
                               "cycles 40", "cycles 50"});
  CHECK(by_time.summary.rounds == 3);
  CHECK(by_time.summary.late_records == 0);

  PerfDataOptions as_written;
  as_written.order = PerfDataOptions::Order::kAsWritten;
  CHECK(Read(bytes, as_written).lines == Lines{"cycles 30", "cycles 10", "cycles 40", "cycles 20",
                                               "cycles 35", "no time", "cycles 50"});
}

TEST_CASE("a record that comes after its round is delivered and counted as late") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  const RecordFormat format = data.MakeRecordFormat(attr);
  data.AddEvent(attr, {1});
  data.Add(Sample(format, 1, 10, 10)).FinishRound().FinishRound().Add(Sample(format, 1, 5, 5));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 10", "cycles 5"});
  CHECK(got.summary.late_records == 1);
}

TEST_CASE("what waits is bounded without rounds, too") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  const RecordFormat format = data.MakeRecordFormat(attr);
  data.AddEvent(attr, {1});
  constexpr uint64_t kCount = 1000;
  for (uint64_t i = 1; i <= kCount; ++i) data.Add(Sample(format, 1, i ^ 1, i ^ 1));
  PerfDataOptions options;
  options.max_waiting_bytes = 4096;
  const Reading got = Read(data.File(), options);
  REQUIRE(got.lines.size() == kCount);
  CHECK(got.lines[5] == "cycles 6");
  CHECK(got.summary.late_records < kCount / 10);
}

TEST_CASE("the event of a sample is found where its own format has the id") {
  PerfDataBuilder data;
  const perf_event_attr first = Attr(PERF_SAMPLE_IP | PERF_SAMPLE_ID);
  const perf_event_attr second =
      Attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID, 1);
  const perf_event_attr third = Attr(PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER, 2);
  data.AddEvent(first, {1}).AddEvent(second, {2}).AddEvent(third, {3});
  data.Add(Sample(data.MakeRecordFormat(second), 2, 10))
      .Add(Sample(data.MakeRecordFormat(first), 1, 20));
  data.Add(Sample(data.MakeRecordFormat(third), 3, 30));
  CHECK(Read(data.File()).lines == Lines{"instructions 10", "cycles 20", "cache-references 30"});
}

TEST_CASE("a sample of an unknown event is dropped and counted") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddEvent(Attr(kSampleType, 1), {2});
  data.Add(Sample(data.MakeRecordFormat(attr), 3, 10))
      .Add(Sample(data.MakeRecordFormat(attr), 2, 20));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"instructions 20"});
  CHECK(got.summary.dropped_records == 1);
  REQUIRE(got.summary.problems.size() == 1);
  CHECK(got.summary.problems[0].dropped_bytes == 40);
}

TEST_CASE("events without ids") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
  data.AddEvent(attr, {}).Add(Sample(data.MakeRecordFormat(attr), 0, 10, 1));
  CHECK(Read(data.File()).lines == Lines{"cycles 10"});
  CHECK(Read(data.Pipe()).lines == Lines{"cycles 10"});
}

TEST_CASE("the names of events come from features and updates") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddEvent(Attr(kSampleType, 1), {2}).FinishRound();
  PerfBytes events = data.Bytes();
  events.U32(2).U32(128);
  events.Zeros(128).U32(1).String("insns:u").U64(2);
  events.Zeros(128).U32(1).String("cycles:pp").U64(1);
  data.AddFeature(PerfFeature::kEventDescription, events);
  const auto with_feature = Read(data.File());
  CHECK(with_feature.reader->events()[0].name == "cycles:pp");
  CHECK(with_feature.reader->events()[1].name == "insns:u");
  PerfBytes update = data.Bytes();
  update.U64(2).U64(1);
  for (const char c : std::string("renamed")) update.U8(static_cast<uint8_t>(c));
  data.AddOther(kPerfEventUpdate, update.U8(0).bytes());
  CHECK(Read(data.Pipe()).reader->events()[0].name == "renamed");
}

TEST_CASE("an event of a PMU is named after it") {
  PerfDataBuilder data;
  perf_event_attr attr = Attr(kSampleType, 0x10);
  attr.type = 11;
  data.AddEvent(attr, {1}).FinishRound();
  data.AddFeature(PerfFeature::kPmuMappings, data.Bytes().U32(1).U32(11).String("ibs_op"));
  CHECK(Read(data.File()).reader->events()[0].name == "ibs_op/config=0x10/");
}

TEST_CASE("features say what is known of the machine") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    PerfDataBuilder data(order);
    data.AddEvent(Attr(kSampleType), {1}).FinishRound();
    data.AddFeature(PerfFeature::kHostname, data.Bytes().String("host"));
    data.AddFeature(PerfFeature::kOsRelease, data.Bytes().String("6.1"));
    data.AddFeature(PerfFeature::kVersion, data.Bytes().String("6.2"));
    data.AddFeature(PerfFeature::kCpuCount, data.Bytes().U32(8).U32(6));
    data.AddFeature(PerfFeature::kTotalMemory, data.Bytes().U64(1024));
    data.AddFeature(PerfFeature::kCommandLine, data.Bytes().U32(2).String("perf").String("record"));
    data.AddFeature(PerfFeature::kBranchStack, data.Bytes());
    data.AddFeature(PerfFeature::kGroupDescription,
                    data.Bytes().U32(1).String("group").U32(0).U32(2));
    data.AddFeature(PerfFeature::kSampleTime, data.Bytes().U64(100).U64(200));
    data.AddFeature(PerfFeature::kCpuPmuCaps,
                    data.Bytes().U32(2).String("branches").String("32").String("a").String("b"));
    data.AddFeature(PerfFeature::kClockData, data.Bytes().U32(1).U32(4).U64(300).U64(400));
    data.AddFeature(PerfFeature::kHybridTopology,
                    data.Bytes().U32(1).String("cpu_core").String("0-7"));
    data.AddFeature(
        PerfFeature::kPmuCaps,
        data.Bytes().U32(1).U32(1).String("max_precise").String("3").String("cpu_atom"));
    PerfBytes build_id = data.Bytes();
    build_id.U32(67).U16(kPerfMiscBuildIdSize | PERF_RECORD_MISC_USER).U16(8 + 28 + 16);
    build_id.U32(~0u);
    for (uint8_t i = 0; i < 20; ++i) build_id.U8(i);
    build_id.U8(16).Zeros(3);
    for (const char c : std::string("/bin/program")) build_id.U8(static_cast<uint8_t>(c));
    build_id.Zeros(4);
    data.AddFeature(PerfFeature::kBuildId, build_id);
    for (const auto& bytes : {data.File(), data.Pipe()}) {
      const Reading got = Read(bytes);
      CHECK(got.summary.problem_count == 0);
      const PerfDataHeader& header = got.reader->header();
      CHECK(header.os_release == "6.1");
      CHECK(header.perf_version == "6.2");
      CHECK(header.cpus_available == 8);
      CHECK(header.cpus_online == 6);
      CHECK(header.total_memory_kib == 1024);
      CHECK(header.command_line == Lines{"perf", "record"});
      CHECK(header.has_branch_stacks);
      REQUIRE(header.groups.size() == 1);
      CHECK(header.groups[0].members == 2);
      CHECK(header.first_sample_time == 100);
      CHECK(header.last_sample_time == 200);
      CHECK(header.BranchStackDepth() == 32);
      REQUIRE(header.clock.has_value());
      CHECK(header.clock->clock_time == 400);
      REQUIRE(header.hybrid_pmus.size() == 1);
      CHECK(header.hybrid_pmus[0].cpus == "0-7");
      REQUIRE(header.capabilities.size() == 2);
      CHECK(header.capabilities[1].pmu == "cpu_atom");
      REQUIRE(header.build_ids.size() == 1);
      CHECK(header.build_ids[0].build_id.size() == 16);
      CHECK(header.build_ids[0].pid == -1);
      CHECK(header.build_ids[0].path == "/bin/program");
    }
  }
}

TEST_CASE("the topology of memory says which node has which block") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    PerfDataBuilder data(order);
    data.AddEvent(Attr(kSampleType), {1}).FinishRound();
    const auto topology = [&data](uint64_t version, uint64_t nodes) {
      return data.Bytes().U64(version).U64(0x1000).U64(nodes);
    };
    const PerfBytes whole =
        topology(1, 2).U64(0).U64(3).U64(3).U64(0b110).U64(5).U64(66).U64(66).U64(0).U64(0b10);
    data.AddFeature(PerfFeature::kMemoryTopology, whole);
    for (const auto& bytes : {data.File(), data.Pipe()}) {
      const Reading got = Read(bytes);
      CHECK(got.summary.problem_count == 0);
      const MemoryNodes& nodes = got.reader->header().memory_nodes;
      CHECK(nodes.Find(0xfff) == kUnknownNode);
      CHECK(nodes.Find(0x1000) == 0);
      CHECK(nodes.Find(0x2fff) == 0);
      CHECK(nodes.Find(65 * 0x1000) == 5);
      CHECK(nodes.Find(66 * 0x1000) == kUnknownNode);
    }
    data.AddFeature(PerfFeature::kMemoryTopology, topology(2, 1));
    const Reading newer = Read(data.File());
    CHECK(newer.summary.problem_count == 0);
    CHECK(newer.reader->header().memory_nodes.nodes.empty());
    const std::vector<PerfBytes> damaged = {
        data.Bytes().U64(1).U32(2),
        topology(1, 1),
        topology(1, 1).U64(0).U64(3).U64(3),
        topology(1, 1).U64(0).U64(3).U64(~uint64_t{0}),
        topology(1, ~uint64_t{0}),
        topology(1, MemoryNodes::kMaxNodes + 1).Zeros(24 * (MemoryNodes::kMaxNodes + 1))};
    for (const PerfBytes& bytes : damaged) {
      CAPTURE(bytes.size());
      data.AddFeature(PerfFeature::kMemoryTopology, bytes);
      const Reading got = Read(data.File());
      CHECK(got.summary.problem_count == 1);
      CHECK(got.reader->header().memory_nodes.nodes.empty());
    }
  }
}

TEST_CASE("compressed records may be split anywhere") {
  for (const bool is_second_kind : {false, true}) {
    for (const size_t part_bytes : {1, 5, 41, 300}) {
      CAPTURE(is_second_kind, part_bytes);
      PerfDataBuilder data, inner;
      const perf_event_attr attr = Attr(kSampleType);
      const RecordFormat format = data.MakeRecordFormat(attr);
      std::vector<uint8_t> records;
      for (uint64_t i = 1; i <= 20; ++i) {
        const auto record = Sample(format, 1, i, i);
        records.insert(records.end(), record.begin(), record.end());
      }
      data.AddEvent(attr, {1});
      ZstdParts stream;
      for (size_t at = 0; at < records.size(); at += part_bytes) {
        const size_t size = std::min(part_bytes, records.size() - at);
        const auto block = stream.Compress({records.data() + at, size});
        if (is_second_kind) {
          PerfBytes body = data.Bytes();
          body.U64(block.size()).Bytes(block).Zeros((8 - block.size() % 8) % 8);
          data.AddOther(kPerfCompressed2, body.bytes());
        } else {
          data.AddOther(kPerfCompressed, block);
        }
      }
      for (const auto& bytes : {data.File(), data.Pipe()}) {
        const Reading got = Read(bytes);
        CHECK(got.summary.problem_count == 0);
        REQUIRE(got.lines.size() == 20);
        CHECK(got.lines[19] == "cycles 20");
      }
    }
  }
}

TEST_CASE("a libzstd that is not there is an error that says what to install") {
  const auto zstd = LoadLibzstdFrom("libno-such-zstd.so.1");
  REQUIRE(!zstd.ok());
  CHECK(zstd.status().code() == StatusCode::kUnsupported);
  CHECK(zstd.status().message().find("libzstd1") != std::string::npos);
  CHECK(!LoadLibzstdFrom("libm.so.6").ok());
}

TEST_CASE("a compressed block whose size does not fit its header is read") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1});
  // A zstd frame of one raw block, and what may be skipped up to the size that overflows.
  const auto record = Sample(data.MakeRecordFormat(attr), 1, 7, 7);
  std::vector<uint8_t> block = ZstdParts().Compress(record);
  // End the frame: an empty last block.
  block.insert(block.end(), {1, 0, 0});
  const uint32_t skippable = 65519 - static_cast<uint32_t>(block.size()) - 8;
  PerfBytes body = data.Bytes();
  body.U32(kPerfCompressed2).U16(0).U16(0).U64(65519).Bytes(block);
  body.U32(0x184d2a50).U32(skippable).Zeros(skippable);
  data.Add(body.bytes()).Add(Sample(data.MakeRecordFormat(attr), 1, 8, 8));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 7", "cycles 8"});
  CHECK(got.summary.problem_count == 0);
}

TEST_CASE("several compressed blocks that perf took for one are read") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    for (const size_t parts : {2, 3, 5}) {
      PerfDataBuilder data(order);
      const perf_event_attr attr = Attr(kSampleType);
      data.AddEvent(attr, {1});
      // Blocks of the largest size, of which the last bytes are a frame to be skipped.
      constexpr uint32_t kBlockBytes = 65519;
      PerfBytes blocks = data.Bytes();
      for (size_t i = 1; i <= parts; ++i) {
        std::vector<uint8_t> block =
            ZstdParts().Compress(Sample(data.MakeRecordFormat(attr), 1, i, i));
        block.insert(block.end(), {1, 0, 0});
        const auto skippable = kBlockBytes - static_cast<uint32_t>(block.size()) - 8;
        if (i > 1) blocks.U32(kPerfCompressed2).U16(0).U16(16 + kBlockBytes).U64(0x7777);
        blocks.Bytes(block);
        blocks.Bytes(PerfBytes().U32(0x184d2a50).U32(skippable).Zeros(skippable).bytes());
      }
      const uint64_t all = 16 + blocks.size();
      PerfBytes record = data.Bytes();
      record.U32(kPerfCompressed2).U16(0).U16(static_cast<uint16_t>((all + 7) & ~7u));
      record.U64(blocks.size()).Bytes(blocks.bytes());
      data.Add(record.bytes()).Add(Sample(data.MakeRecordFormat(attr), 1, 99, 99));
      const Reading got = Read(data.Pipe());
      CHECK(got.summary.problem_count == 0);
      REQUIRE(got.lines.size() == parts + 1);
      CHECK(got.lines[parts - 1] == "cycles " + std::to_string(parts));
      CHECK(got.lines[parts] == "cycles 99");
      CHECK(got.summary.RecordsOf(kPerfCompressed2) == parts);
    }
  }
}

TEST_CASE("compressed records that are damaged do not hide those that are not compressed") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddOther(kPerfCompressed, std::vector<uint8_t>(40, 0xaa));
  data.Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 9"});
  CHECK(got.summary.problem_count == 1);
  CHECK(got.summary.dropped_bytes == 40);
}

TEST_CASE("what follows some records is skipped with them") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  const std::vector<uint8_t> trace(3000, 0xff);
  data.AddEvent(attr, {1});
  data.AddOther(kPerfAuxtrace, data.Bytes().U64(3000).Zeros(32).bytes()).Add(trace);
  data.AddOther(kPerfHeaderTracingData, data.Bytes().U32(2997).U32(0).bytes()).Add(trace);
  data.Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  const Reading got = Read(data.Pipe());
  CHECK(got.lines == Lines{"cycles 9"});
  CHECK(got.summary.skipped_records.at(kPerfAuxtrace) == 1);
  CHECK(got.summary.problem_count == 0);
}

TEST_CASE("records of other types are counted") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddOther(PERF_RECORD_AUX, std::vector<uint8_t>(24));
  data.AddOther(63, std::vector<uint8_t>(8)).AddOther(500, std::vector<uint8_t>(8));
  data.AddOther(500, {}).Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 9"});
  CHECK(got.summary.skipped_records ==
        std::map<uint32_t, uint64_t>{{PERF_RECORD_AUX, 1}, {63, 1}, {500, 2}});
  CHECK(got.summary.RecordsOf(500) == 2);
}

TEST_CASE("a recording of a perf that was killed is read to its end") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 9)).Unfinished();
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 9"});
  CHECK(got.summary.is_unfinished);
}

TEST_CASE("the oldest format has another name") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  std::vector<uint8_t> bytes = data.File();
  std::memcpy(bytes.data(), "PERFFILE", 8);
  CHECK(Read(bytes).lines == Lines{"cycles 9"});
}

TEST_CASE("text after the last record is dropped") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  std::vector<uint8_t> bytes = data.Pipe();
  const std::string text = "[ perf record: Woken up 1 times to write data ]\n";
  bytes.insert(bytes.end(), text.begin(), text.end());
  const Reading got = Read(bytes);
  CHECK(got.lines == Lines{"cycles 9"});
  REQUIRE(got.summary.problems.size() == 1);
  CHECK(got.summary.problems[0].dropped_bytes == text.size());
  CHECK(got.summary.problems[0].offset == bytes.size() - text.size());
}

TEST_CASE("a record without a size ends the recording") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  data.Add(data.Bytes().U32(PERF_RECORD_SAMPLE).U32(0).bytes());
  data.Add(Sample(data.MakeRecordFormat(attr), 1, 10));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 9"});
  REQUIRE(got.summary.problems.size() == 1);
  CHECK(got.summary.problems[0].what ==
        "SAMPLE record of 0 bytes, and where the next one begins is not known");
  CHECK(got.summary.dropped_bytes == 48);
}

TEST_CASE("a record too short for its fields is dropped, the next one is read") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddOther(PERF_RECORD_SAMPLE, std::vector<uint8_t>(16));
  data.Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  const Reading got = Read(data.File());
  CHECK(got.lines == Lines{"cycles 9"});
  CHECK(got.summary.dropped_records == 1);
  CHECK(got.summary.dropped_bytes == 24);
}

TEST_CASE("what is not a recording is refused with a reason") {
  CHECK(ErrorOf({}).find("empty") != std::string::npos);
  CHECK(ErrorOf(std::vector<uint8_t>(100, 'x')).find("PERFILE2") != std::string::npos);
  CHECK(ErrorOf({'P', 'E', 'R', 'F'}).find("PERFILE2") != std::string::npos);
  CHECK(ErrorOf(PerfDataBuilder().File()) ==
        "test: offset 104: no event in the file; record again");
  std::vector<uint8_t> small_header = PerfDataBuilder().File();
  small_header[8] = 40;
  CHECK(ErrorOf(small_header) == "test: offset 8: a header of 40 bytes; record again");
}

TEST_CASE("sizes in a file are not believed") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).AddEvent(attr, {2}).Add(Sample(data.MakeRecordFormat(attr), 1, 9));
  const std::vector<uint8_t> file = data.File();
  // Of the header: the sections, their offsets and sizes; of the first event: its ids.
  for (const size_t at : {24, 32, 40, 48, 56, 64, 104 + 16 + 128, 104 + 16 + 136}) {
    std::vector<uint8_t> bytes = file;
    std::memset(bytes.data() + at, 0xff, 7);
    auto reader = PerfDataReader::FromSource(std::make_unique<MemorySource>(bytes), "test");
    if (!reader.ok()) continue;
    Log log;
    CHECK((*reader)->Read(&log).ok());
  }
}

// Ends in an error.
class FailingSource : public ByteSource {
 public:
  explicit FailingSource(std::span<const uint8_t> bytes)
      : bytes_(bytes, MemorySource::Kind::kPipe) {}
  StatusOr<size_t> Read(std::span<uint8_t> into) override {
    HBBP_ASSIGN_OR_RETURN(const size_t got, bytes_.Read(into));
    if (got == 0) return MakeStatus(StatusCode::kIo, "disk on fire");
    return got;
  }
  std::optional<uint64_t> size() const override { return std::nullopt; }
  Status Seek(uint64_t) override { return OkStatus(); }

 private:
  MemorySource bytes_;
};

TEST_CASE("what came before an error of the system is delivered") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1}).Add(Sample(data.MakeRecordFormat(attr), 1, 9, 9));
  const std::vector<uint8_t> bytes = data.Pipe();
  auto reader = PerfDataReader::FromSource(std::make_unique<FailingSource>(bytes), "test");
  REQUIRE(reader.ok());
  Log log;
  const auto summary = (*reader)->Read(&log);
  REQUIRE(summary.ok());
  CHECK(log.lines == Lines{"cycles 9"});
  REQUIRE(summary->problems.size() == 1);
  CHECK(summary->problems[0].what == "disk on fire");
}

TEST_CASE("reading ends where it is cancelled") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1});
  std::vector<uint8_t> big(60000);
  for (int i = 0; i < 200; ++i) data.AddOther(500, big);
  const std::vector<uint8_t> bytes = data.File();
  CancelFlag flag;
  uint64_t last = 0;
  PerfDataOptions options;
  options.work = {[&](uint64_t done, uint64_t) { last = done, flag.Set(true); }, &flag};
  auto reader = PerfDataReader::FromSource(
      std::make_unique<MemorySource>(bytes, MemorySource::Kind::kFile), "test");
  REQUIRE(reader.ok());
  Log log;
  CHECK((*reader)->Read(&log, options).status().code() == StatusCode::kCancelled);
  CHECK(last < bytes.size() / 2);
}

TEST_CASE("progress goes up to the size of the recording") {
  PerfDataBuilder data;
  const perf_event_attr attr = Attr(kSampleType);
  data.AddEvent(attr, {1});
  std::vector<uint8_t> big(60000);
  for (int i = 0; i < 200; ++i) data.AddOther(500, big);
  std::vector<uint64_t> done;
  uint64_t all = 0;
  PerfDataOptions options;
  options.work.progress = [&](uint64_t now, uint64_t of) { done.push_back(now), all = of; };
  const std::vector<uint8_t> bytes = data.File();
  Read(bytes, options);
  CHECK(done.size() >= 3);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(done.back() == bytes.size());
  CHECK(all == bytes.size());
}

}  // namespace
}  // namespace hbbp
