// Recordings that end too early or were changed. Every reading must end, with a status or with
// what could be saved, and sanitizers must have nothing to say.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "perf/perf_event.h"
#include "perf_data/perf_data_reader.h"
#include "recordings.h"
#include "support/catch.h"
#include "support/perf_data_builder.h"
#include "support/sanitizer.h"

namespace hbbp {
namespace {

// Touches all that it is shown.
struct Toucher : PerfDataVisitor {
  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    sum += event.index + sample.ip;
    for (uint64_t ip : sample.callchain) sum += ip;
    for (size_t i = 0; i < sample.branches.size(); ++i) sum += sample.branches[i].cycles;
    for (size_t i = 0; i < sample.counters.size(); ++i) sum += sample.counters[i].id;
    for (uint8_t byte : sample.raw) sum += byte;
    ++samples;
  }
  void OnMmap(const MmapRecord& mmap) override { sum += mmap.path.size(); }
  void OnTextPoke(const TextPokeRecord& poke) override {
    for (uint8_t byte : poke.new_bytes) sum += byte;
  }
  uint64_t sum = 0;
  uint64_t samples = 0;
};

// How many samples there were; in a heap block of exactly the size, so that a sanitizer sees every
// overrun.
uint64_t ReadAll(const std::vector<uint8_t>& bytes, size_t size, MemorySource::Kind kind) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy_n(bytes.begin(), size, copy.get());
  const std::span<const uint8_t> part(copy.get(), size);
  auto reader = PerfDataReader::FromSource(std::make_unique<MemorySource>(part, kind), "test");
  if (!reader.ok()) {
    if (reader.status().message().empty()) FAIL("an error without a message");
    return 0;
  }
  Toucher toucher;
  const auto summary = (*reader)->Read(&toucher);
  if (!summary.ok()) {
    const bool is_without_event = (*reader)->events().empty();
    if (!is_without_event) FAIL("no summary: " << summary.status().message());
    return 0;
  }
  if (summary->bytes > size) FAIL("more was read than there is");
  return toucher.samples;
}

std::vector<uint8_t> SmallRecording(ByteOrder order, bool is_pipe) {
  PerfDataBuilder data(order);
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK;
  attr.sample_id_all = 1;
  const RecordFormat format = data.MakeRecordFormat(attr);
  data.AddEvent(attr, {1, 2}).AddEvent(attr, {3});
  const auto builder = [&format](uint64_t time) {
    return PerfRecordBuilder(format).Id(time % 3 + 1).Pid(5).Tid(6).Time(time);
  };
  data.Add(builder(1).Comm("name")).Add(builder(2).Mmap(0x1000, 0x1000, 0, "/a"));
  data.Add(builder(3).Mmap2(0x1000, 0x1000, 0, std::vector<uint8_t>(20, 7), "/b"));
  data.Add(builder(6)
               .Ip(99)
               .Callchain({1, 2, 3})
               .Raw({1, 2, 3, 4})
               .Branches({{.from = 1, .to = 2}, {.from = 3, .to = 4}}, 0, {})
               .Sample());
  data.FinishRound().Add(builder(5).TextPoke(1, {1, 2}, {3}));
  data.Add(builder(7).Ksymbol(1, 2, 1, 0, "sym")).Add(builder(8).Namespaces({1, 2}));
  const auto inner = builder(9).Ip(98).Sample();
  const auto block = ZstdParts().Compress(inner);
  PerfBytes body = data.Bytes();
  body.U64(block.size()).Bytes(block).Zeros((8 - block.size() % 8) % 8);
  data.AddOther(kPerfCompressed2, body.bytes());
  data.AddOther(kPerfAuxtrace, data.Bytes().U64(16).Zeros(32).bytes());
  data.Add(std::vector<uint8_t>(16, 0xff)).FinishRound();
  data.AddFeature(PerfFeature::kHostname, data.Bytes().String("host"));
  data.AddFeature(PerfFeature::kPmuMappings, data.Bytes().U32(1).U32(4).String("cpu"));
  data.AddFeature(PerfFeature::kCommandLine, data.Bytes().U32(1).String("perf"));
  data.AddFeature(PerfFeature::kBpfPrograms,
                  data.Bytes().U32(1).U32(128).U32(8).U64(0x19).Zeros(136));
  return is_pipe ? data.Pipe() : data.File();
}

constexpr MemorySource::Kind kFile = MemorySource::Kind::kFile;
constexpr MemorySource::Kind kPipe = MemorySource::Kind::kPipe;

TEST_CASE("a small recording that is cut off anywhere") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    for (const bool is_pipe : {false, true}) {
      const std::vector<uint8_t> bytes = SmallRecording(order, is_pipe);
      CAPTURE(order == ByteOrder::kSwapped, is_pipe);
      uint64_t previous = 0;
      for (size_t size = 0; size <= bytes.size(); ++size) {
        const uint64_t samples = ReadAll(bytes, size, is_pipe ? kPipe : kFile);
        if (samples < previous) FAIL("a longer part has fewer samples: " << size);
        previous = samples;
      }
      CHECK(previous == 2);
    }
  }
}

TEST_CASE("a small recording with any byte changed") {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    for (const bool is_pipe : {false, true}) {
      std::vector<uint8_t> bytes = SmallRecording(order, is_pipe);
      for (size_t at = 0; at < bytes.size(); ++at) {
        const uint8_t byte = bytes[at];
        const int values[] = {0xff, byte ^ 0x04, 0x00, 0x01, 0x7f, 0x80};
        for (const int changed : std::span(values).first(kHasSanitizer ? 2 : 6)) {
          bytes[at] = static_cast<uint8_t>(changed);
          ReadAll(bytes, bytes.size(), is_pipe ? kPipe : kFile);
        }
        bytes[at] = byte;
      }
    }
  }
}

// Peak of resident memory of this process, in bytes.
uint64_t PeakMemory() {
  const auto status = ReadTextFile("/proc/self/status");
  REQUIRE(status.ok());
  const size_t at = status->find("VmHWM:");
  REQUIRE(at != std::string::npos);
  return std::stoull(status->substr(at + 6)) * 1024;
}

TEST_CASE("huge numbers anywhere in a small recording take no memory") {
  constexpr uint64_t kMaxAdded = 256ull << 20;
  const uint64_t before = PeakMemory();
  for (const bool is_pipe : {false, true}) {
    const std::vector<uint8_t> bytes = SmallRecording(ByteOrder::kNative, is_pipe);
    for (const size_t width : {size_t{4}, size_t{8}}) {
      for (size_t at = 0; at + width <= bytes.size(); at += 4) {
        for (const uint64_t value : {uint64_t{1} << 63, (uint64_t{1} << 63) - 1, UINT64_MAX,
                                     UINT64_MAX - 7, uint64_t{1} << 40, uint64_t{1} << 31}) {
          std::vector<uint8_t> changed = bytes;
          std::copy_n(reinterpret_cast<const uint8_t*>(&value), width, changed.begin() + at);
          ReadAll(changed, changed.size(), is_pipe ? kPipe : kFile);
        }
      }
    }
  }
  if (!kHasSanitizer) CHECK(PeakMemory() - before < kMaxAdded);
}

TEST_CASE("what unpacks to a thousand times its size takes no memory") {
  constexpr size_t kUnpacked = 512ull << 20;
  constexpr uint64_t kMaxAdded = 128ull << 20;
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  // Valid records, so that unpacking does not end at the first of them.
  PerfDataBuilder one;
  const std::vector<uint8_t> record =
      PerfRecordBuilder(one.MakeRecordFormat(attr)).Id(1).Pid(5).Tid(6).Time(7).Ip(8).Sample();
  std::vector<uint8_t> chunk;
  while (chunk.size() < 1 << 20) chunk.insert(chunk.end(), record.begin(), record.end());
  PerfDataBuilder data;
  data.AddEvent(attr, {1});
  ZstdParts zstd;
  size_t packed = 0;
  for (size_t unpacked = 0; unpacked < kUnpacked; unpacked += chunk.size()) {
    const std::vector<uint8_t> block = zstd.Compress(chunk);
    packed += block.size();
    PerfBytes body = data.Bytes();
    body.U64(block.size()).Bytes(block).Zeros((8 - block.size() % 8) % 8);
    data.AddOther(kPerfCompressed2, body.bytes());
    data.FinishRound();
  }
  CHECK(packed < kUnpacked / 1000);
  const std::vector<uint8_t> bytes = data.File();
  const uint64_t before = PeakMemory();
  CHECK(ReadAll(bytes, bytes.size(), kFile) >= kUnpacked / record.size());
  if (!kHasSanitizer) CHECK(PeakMemory() - before < kMaxAdded);
}

const char* const kNames[] = {
    "autofdo/hierarchical_discriminator_test.x86_64.perf.data",
    "autofdo/propeller_sample.perfdata",
    "autofdo/test.lbr",
    "ibs/zen2_rome.ibs.perf.data",
    "ibs/zen4_genoa.ibs.perf.data",
    "linux-perf-data/fibo.compressed2.pipe.data",
    "linux-perf-data/sleep.compressed.data",
    "linux-perf-data/sleep.compressed.pipe.data",
    "linux-perf-data/sleep.compressed2.data",
    "linux-perf-data/sleep.compressed2.pipe.data",
    "linux-perf-data/sleep.data",
    "quipper/perf.data.branch-4.14",
    "quipper/perf.data.branch_stack_spec",
    "quipper/perf.data.group_desc-4.14",
    "quipper/perf.data.hybrid_topology",
    "quipper/perf.data.intel_pt-4.14",
    "quipper/perf.data.lost_samples-4.4",
    "quipper/perf.data.piped.corrupted.zero_size_sample-3.2",
    "quipper/perf.data.piped.header_features-4.16",
    "quipper/perf.data.piped.header_features_aligned-6.12",
    "quipper/perf.data.piped.no_attr_ids-4.14",
    "quipper/perf.data.piped.target-3.4",
    "quipper/perf.data.singleprocess-3.8",
};

// About how many bytes to read of one recording in all its changed forms.
constexpr size_t kBudget = kHasSanitizer ? 4 << 20 : 100 << 20;

// Calls `test(bytes, position)` with positions spread over each recording.
template <typename Test>
size_t ForEachPosition(const Test& test) {
  size_t found = 0;
  for (const char* name : kNames) {
    const auto path = RecordingPath(name);
    if (!path.has_value()) continue;
    ++found;
    StatusOr<std::vector<uint8_t>> bytes = ReadFile(*path);
    REQUIRE(bytes.ok());
    CAPTURE(name);
    const size_t step = std::max<size_t>(1, bytes->size() * bytes->size() / kBudget) | 1;
    for (size_t at = 0; at < bytes->size(); at += step) test(&*bytes, at);
  }
  return found;
}

TEST_CASE("recordings that are cut off") {
  const size_t found =
      ForEachPosition([](std::vector<uint8_t>* bytes, size_t at) { ReadAll(*bytes, at, kFile); });
  if (found == 0) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
}

TEST_CASE("recordings with a byte changed") {
  const size_t found = ForEachPosition([](std::vector<uint8_t>* bytes, size_t at) {
    const uint8_t byte = (*bytes)[at];
    (*bytes)[at] = static_cast<uint8_t>(byte ^ (1 + at % 255));
    ReadAll(*bytes, bytes->size(), kFile);
    (*bytes)[at] = byte;
  });
  if (found == 0) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
}

}  // namespace
}  // namespace hbbp
