// Tests that a live session of IBS and an import make the same profile of the same samples: the
// session has them from a stand-in for the PMU, the import from a recording. Samples are those of
// recordings on Zen 2 and Zen 4, at their own addresses and at those of code and data of this
// program, and random ones.
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/perf_backend.h"
#include "base/files.h"
#include "collect/data_attribution.h"
#include "collect/perf_import.h"
#include "image/process_maps.h"
#include "perf_data/perf_data_reader.h"
#include "session/session.h"
#include "support/catch.h"
#include "support/ibs_pmu.h"
#include "support/perf_data_builder.h"
#include "support/perf_stand_in.h"
#include "unit/perf_data/recordings.h"

namespace hbbp {
namespace {

uint64_t ibs_import_test_data[64];

uint64_t CodeAddress() { return reinterpret_cast<uint64_t>(&IbsLiveTestCode); }
uint64_t DataAddress() { return reinterpret_cast<uint64_t>(ibs_import_test_data); }

// The registers of the raw data of a sample, after the word of capabilities.
constexpr size_t kOpIp = 1, kOpLinearAddress = 5, kOpPhysicalAddress = 6;
constexpr size_t kFetchLinearAddress = 1;

void SetRegister(size_t index, uint64_t value, std::vector<uint8_t>* raw) {
  std::memcpy(raw->data() + sizeof(uint32_t) + index * sizeof(value), &value, sizeof(value));
}

std::vector<uint8_t> Raw(uint32_t capabilities, const std::vector<uint64_t>& registers) {
  std::vector<uint8_t> raw(sizeof(capabilities) + registers.size() * sizeof(uint64_t));
  std::memcpy(raw.data(), &capabilities, sizeof(capabilities));
  for (size_t i = 0; i < registers.size(); ++i) SetRegister(i, registers[i], &raw);
  return raw;
}

// Moves a sample to code and data of this program.
IbsPlay AtOwnAddresses(IbsPlay play, uint64_t code, uint64_t data) {
  play.ip = code;
  play.misc = PERF_RECORD_MISC_USER;
  if (play.type == kIbsFetchType) {
    SetRegister(kFetchLinearAddress, code, &play.raw);
  } else {
    SetRegister(kOpIp, code, &play.raw);
    SetRegister(kOpLinearAddress, data, &play.raw);
  }
  return play;
}

const std::vector<const char*>& Recordings() {
  static const std::vector<const char*> names = {"ibs/zen4_genoa.ibs.perf.data",
                                                 "ibs/zen2_rome.ibs.perf.data"};
  return names;
}

// Returns the samples of a recording.
std::vector<IbsPlay> SamplesOf(const std::string& path) {
  struct Reader : PerfDataVisitor {
    void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
      IbsPlay play;
      play.type = event.name.starts_with("ibs_op") ? kIbsOpType : kIbsFetchType;
      play.ip = sample.ip;
      play.raw = {sample.raw.begin(), sample.raw.end()};
      const bool has_period = (event.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
      play.period = has_period ? sample.period : event.attr.sample_period;
      play.misc = sample.misc;
      samples.push_back(std::move(play));
    }
    std::vector<IbsPlay> samples;
  } visitor;
  auto reader = PerfDataReader::Open(path);
  REQUIRE(reader.ok());
  REQUIRE((*reader)->Read(&visitor).ok());
  return visitor.samples;
}

// The machine has 16 blocks of memory on two nodes.
constexpr uint64_t kBlockBytes = uint64_t{1} << 48, kBlocksOfNodes[] = {0x00ff, 0x7f00};

const MemoryNodes* NodesOfMachine() {
  static const MemoryNodes nodes = {kBlockBytes,
                                    {{0, {kBlocksOfNodes[0]}}, {1, {kBlocksOfNodes[1]}}}};
  return &nodes;
}

ProfileData ProfileLive(const std::vector<IbsPlay>& plays, const CpuIdentity& cpu,
                        const MemoryNodes* (*nodes)()) {
  PerfStandIn pmu(AnswerOfIbs());
  SessionSettings settings;
  settings.backend.event_name = "ibs_op,ibs_fetch";
  settings.backend.include_kernel = true;
  KeepData(&settings);
  settings.memory_nodes = nodes;
  Session session(std::make_unique<PerfBackend>(SourceKind::kIbs, CpuWithIbs(cpu)), settings);
  REQUIRE(session.Start().ok());
  for (const IbsPlay& play : plays) REQUIRE(Play(play, &pmu));
  REQUIRE(session.Stop().ok());
  return session.Snapshot();
}

ProfileData Import(const std::vector<uint8_t>& file) {
  PerfImportOptions options;
  KeepData(&options.files);
  auto reader = PerfDataReader::FromSource(std::make_unique<MemorySource>(file), "test");
  REQUIRE(reader.ok());
  auto imported = ImportPerfData(*std::move(reader), options);
  REQUIRE(imported.ok());
  return *std::move(imported);
}

// Returns a recording of the samples, as perf would have made it of this process.
std::vector<uint8_t> MakeRecording(const std::vector<IbsPlay>& plays, const CpuIdentity& cpu) {
  constexpr uint64_t kOpId = 1, kFetchId = 2;
  constexpr uint64_t kMapped = 1;  // before any sample
  PerfDataBuilder recording;
  perf_event_attr attr = {};
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
  attr.sample_id_all = 1;
  attr.type = kIbsOpType;
  attr.config = 1 << 19;
  recording.AddEvent(attr, {kOpId});
  attr.type = kIbsFetchType;
  attr.config = uint64_t{1} << 57;
  recording.AddEvent(attr, {kFetchId});
  recording.AddFeature(PerfFeature::kPmuMappings, recording.Bytes()
                                                      .U32(2)
                                                      .U32(kIbsOpType)
                                                      .String("ibs_op")
                                                      .U32(kIbsFetchType)
                                                      .String("ibs_fetch"));
  recording.AddFeature(PerfFeature::kCpuId,
                       recording.Bytes().String(cpu.vendor + "," + std::to_string(cpu.family) +
                                                "," + std::to_string(cpu.model) + ",0"));
  PerfBytes memory = recording.Bytes();
  memory.U64(1).U64(kBlockBytes).U64(std::size(kBlocksOfNodes));
  for (uint64_t node = 0; node < std::size(kBlocksOfNodes); ++node) {
    memory.U64(node).U64(16).U64(16).U64(kBlocksOfNodes[node]);
  }
  recording.AddFeature(PerfFeature::kMemoryTopology, memory);
  const auto record = [&] {
    PerfRecordBuilder builder(recording.MakeRecordFormat(attr));
    builder.Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
    return builder.Id(kOpId).Time(kMapped);
  };
  std::string name = ReadTextFile("/proc/self/comm").value();
  if (name.ends_with('\n')) name.pop_back();
  recording.Add(record().Comm(name));
  const std::vector<Mapping> mappings = ReadProcessMaps(0).value();
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable || !mapping.IsFile()) continue;
    recording.Add(record().Mmap2(mapping.start.value, mapping.size(), mapping.offset.value,
                                 mapping.device_major, mapping.device_minor, mapping.inode,
                                 mapping.path));
  }
  uint64_t time_ns = kMapped;
  for (const IbsPlay& play : plays) {
    const uint64_t id = play.type == kIbsOpType ? kOpId : kFetchId;
    recording.Add(play.Record(attr.sample_type, id, ++time_ns));
  }
  return recording.File();
}

// Returns everything in a profile that samples make, but for their threads, in sorted lines.
std::vector<std::string> Describe(const ProfileData& data) {
  std::vector<std::string> lines;
  const auto add = [&lines](const auto&... parts) {
    std::ostringstream line;
    ((line << parts << ' '), ...);
    lines.push_back(line.str());
  };
  const auto source = [&data](uint32_t index) {
    return data.sources.at(index).event_name.starts_with("ibs_op") ? "op" : "fetch";
  };
  const auto module = [&data](uint32_t index) -> std::string {
    if (index == kNoModule) return "all";
    const ModuleRecord& record = data.modules.at(index);
    return record.kind == ModuleKind::kKernel ? "kernel" : record.path;
  };
  for (size_t i = 0; i < data.sources.size(); ++i) {
    const char* const name = source(static_cast<uint32_t>(i));
    if (data.sources[i].unmapped != 0) add(name, "unmapped", data.sources[i].unmapped);
    if (data.sources[i].lost != 0) add(name, "lost", data.sources[i].lost);
    for (const auto& [counter, value] : data.sources[i].trace.counters) add(name, counter, value);
  }
  for (const IpCount& count : data.counts) {
    add(source(count.source), "count", module(count.module), count.offset,
        static_cast<int>(count.position), count.samples, count.period_sum, count.period_squares);
  }
  for (const auto* list : {&data.ibs_counts, &data.ibs_buckets}) {
    for (const IbsCount& count : *list) {
      add(source(count.source), list == &data.ibs_counts ? "event" : "latency",
          data.ibs_names.at(count.name), module(count.module), count.offset, count.sum, count.level,
          count.bucket);
    }
  }
  for (const auto* list : {&data.ibs_lines, &data.ibs_data}) {
    for (const IbsAccesses& accesses : *list) {
      add(source(accesses.source), list == &data.ibs_lines ? "line" : "data", accesses.address,
          accesses.loads, accesses.stores, accesses.misses, accesses.miss_cycles, accesses.local,
          accesses.remote, module(accesses.module), accesses.name, accesses.bytes, "node",
          accesses.node);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool Has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&part](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
}

CpuIdentity Amd(unsigned family, unsigned model) { return {"AuthenticAMD", family, model}; }

TEST_CASE("a session makes of recorded samples what an import of the recording makes") {
  for (const char* name : Recordings()) {
    CAPTURE(name);
    const auto path = RecordingPath(name);
    if (!path) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
    PerfImportOptions options;
    KeepData(&options.files);
    const auto imported = ImportRecording(*path, options);
    REQUIRE(imported.ok());
    const ProfileData live = ProfileLive(SamplesOf(*path), Amd(0x19, 0x11), nullptr);
    CHECK(Describe(live) == Describe(*imported));
    CHECK(Has(Describe(live), "op op-samples 1 "));
  }
}

TEST_CASE("a session makes of recorded samples in a program's code what an import makes") {
  std::vector<IbsPlay> plays;
  for (const char* name : Recordings()) {
    const auto path = RecordingPath(name);
    if (!path) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
    for (const IbsPlay& play : SamplesOf(*path)) {
      for (const uint64_t code : {0, 4, 4, 8}) {
        plays.push_back(AtOwnAddresses(play, CodeAddress() + code, DataAddress() + 8 * code));
      }
      plays.push_back(AtOwnAddresses(play, CodeAddress(), reinterpret_cast<uint64_t>(&plays)));
    }
  }
  const CpuIdentity zen4 = Amd(0x19, 0x11);
  const std::vector<std::string> live = Describe(ProfileLive(plays, zen4, &NodesOfMachine));
  CHECK(live == Describe(Import(MakeRecording(plays, zen4))));
  CHECK(Has(live, "op op-samples 10 "));
  CHECK(Has(live, "fetch fetch-samples 5 "));
  CHECK(Has(live, "op event op-dc-load-miss-cycles " +
                      std::filesystem::read_symlink("/proc/self/exe").string()));
  CHECK(Has(live, "op data "));
}

// Returns samples with any registers: of ops and fetches of this program and of the kernel, at
// valid and invalid addresses, of guests, and with too few registers or none.
std::vector<IbsPlay> RandomSamples() {
  std::mt19937_64 random(24);
  const auto one_in = [&random](uint64_t count) { return random() % count == 0; };
  const std::vector<uint64_t> data = {
      DataAddress(), DataAddress() + 8, DataAddress() + 64, reinterpret_cast<uint64_t>(&random),
      0x10,          0xffff899f7c3b5784};
  std::vector<IbsPlay> plays;
  for (int i = 0; i < 600; ++i) {
    IbsPlay play;
    play.type = one_in(4) ? kIbsFetchType : kIbsOpType;
    play.period = 16 * (1 + random() % 1000);
    std::vector<uint64_t> registers(play.type == kIbsOpType ? 8 : 4);
    for (uint64_t& value : registers) value = one_in(3) ? random() : random() & random();
    if (play.type == kIbsOpType) registers[kOpPhysicalAddress] >>= 12;
    play.raw = Raw(static_cast<uint32_t>(random()), registers);
    play = AtOwnAddresses(std::move(play), CodeAddress() + 4 * (random() % 3),
                          data[random() % data.size()]);
    if (one_in(3)) play.ip = CodeAddress() + 4;  // not that of the registers
    if (one_in(10)) {
      play = AtOwnAddresses(std::move(play), 0xffffffff81143520 + random() % 2, data.back());
      play.misc = PERF_RECORD_MISC_KERNEL;
    }
    if (one_in(50)) play.misc = PERF_RECORD_MISC_GUEST_USER;
    if (one_in(50)) play.raw.resize(12);
    if (one_in(50)) play.raw.clear();
    plays.push_back(std::move(play));
  }
  return plays;
}

TEST_CASE("a session makes of any samples what an import makes, by the quirks of the processor") {
  const std::vector<IbsPlay> plays = RandomSamples();
  std::vector<std::string> last;
  for (const CpuIdentity& cpu :
       {Amd(0x19, 0x11), Amd(0x19, 0x01), Amd(0x10, 4), Amd(0x12, 1), Amd(0x14, 1)}) {
    CAPTURE(cpu.model);
    const std::vector<std::string> live = Describe(ProfileLive(plays, cpu, &NodesOfMachine));
    CHECK(live == Describe(Import(MakeRecording(plays, cpu))));
    for (const char* part :
         {"op guest-samples", "fetch guest-samples", "undecodable-ibs-samples", "count kernel",
          "fetch event", "op latency load", "op line", " node 0 ", " node 1 "}) {
      CAPTURE(part);
      CHECK(Has(live, part));
    }
    CHECK(live != last);
    last = live;
  }
}

}  // namespace
}  // namespace hbbp
