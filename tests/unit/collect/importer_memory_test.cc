// Tests Importer with little memory: each sample is counted or dropped, and none twice.
#include <string>
#include <vector>

#include "base/counted_memory.h"
#include "collect/importer.h"
#include "support/catch.h"
#include "support/event_builders.h"
#include "support/failing_host.h"
#include "support/made_up_samples.h"

namespace hbbp {
namespace {

using test::BurstsIn;
using test::kBase;
using test::kPid;
using test::kSpan;
using test::MakeBursts;
using test::SampleAt;

ImportOptions Sliced(uint64_t slice_ns) {
  ImportOptions options;
  options.slice_ns = slice_ns;
  return options;
}

MappingEvent MakeMapping(uint64_t start, uint64_t bytes, const std::string& path) {
  MappingEvent mapping;
  mapping.start = {start};
  mapping.end = {start + bytes};
  mapping.path = path;
  return mapping;
}

void Prepare(SourceKind kind, Importer* importer) {
  SourceRecord source;
  source.kind = kind;
  source.period = 100;
  importer->AddSource(std::move(source));
  importer->OnMapping(OfProcess(kPid, MakeMapping(kBase, kSpan, "/no/such/library")));
}

void AddSamples(uint64_t count, uint64_t addresses, Importer* importer) {
  for (uint64_t i = 0; i < count; ++i) importer->OnSample(OfSource(0, SampleAt(i, addresses)));
}

void AddBursts(uint64_t count, uint64_t addresses, Importer* importer) {
  MakeBursts(count, addresses, [importer](const BurstSample& burst, uint64_t) {
    importer->OnBurst(OfSource(0, burst));
  });
}

uint64_t SamplesIn(const ProfileData& data) {
  uint64_t sum = 0;
  for (const IpCount& count : data.counts) sum += count.samples;
  for (const SourceRecord& source : data.sources) sum += source.unmapped;
  return sum;
}

uint64_t FindCounter(const ProfileData& data, const std::string& name) {
  for (const auto& [known, number] : data.sources.at(0).trace.counters) {
    if (known == name) return number;
  }
  return 0;
}

TEST_CASE("what is imported is counted or dropped, each once, whichever allocation fails") {
  for (const int every : {0, 1, 2, 3, 5, 17}) {
    for (const uint64_t slice_ns : {0, 1'000'000}) {
      CAPTURE(every, slice_ns);
      FailingHost host;
      host.every = every;
      CountedMemory memory(host.allocator());
      {
        Importer importer(Sliced(slice_ns), &memory);
        Prepare(SourceKind::kEbs, &importer);
        AddSamples(20'000, 3000, &importer);
        const ProfileData data = importer.Snapshot();
        CHECK(SamplesIn(data) + importer.dropped().samples == 20'000);
        if (every == 0) CHECK(importer.dropped().all() == 0);
        if (every == 1) CHECK(importer.dropped().samples == 20'000);
        CHECK(FindCounter(data, "no-memory") == importer.dropped().samples);
      }
      CHECK(host.live == 0);
      CHECK(memory.used() == 0);
      {
        Importer importer(Sliced(slice_ns), &memory);
        Prepare(SourceKind::kLbr, &importer);
        AddBursts(5'000, 3000, &importer);
        const ProfileData data = importer.Snapshot();
        CHECK(BurstsIn(data) + importer.dropped().samples == 5'000);
        if (every == 0) CHECK(importer.dropped().all() == 0);
        if (every == 1) CHECK(importer.dropped().samples == 5'000);
      }
      CHECK(host.live == 0);
      CHECK(memory.used() == 0);
    }
  }
}

TEST_CASE("the limit of memory holds: slices become wider, then samples are dropped") {
  constexpr uint64_t kMaxBytes = 1 << 20;
  const bool has_branches = GENERATE(false, true);
  const auto add = [&](uint64_t number, uint64_t addresses, Importer* importer) {
    has_branches ? AddBursts(number / 4, addresses, importer)
                 : AddSamples(number, addresses, importer);
  };
  const SourceKind kind = has_branches ? SourceKind::kLbr : SourceKind::kEbs;
  SECTION("few addresses in many slices") {
    CountedMemory memory({}, kMaxBytes);
    Importer importer(Sliced(1'000'000), &memory);
    Prepare(kind, &importer);
    add(40'000, has_branches ? 12 : 600, &importer);
    CHECK(importer.dropped().all() == 0);
    CHECK(importer.aggregator().has_widened_slices());
    CHECK(importer.aggregator().slice_width_ns() > 1'000'000);
    CHECK(importer.aggregator().compactions() > 0);
    CHECK(memory.peak() <= kMaxBytes);
    CHECK(memory.peak() > kMaxBytes / 4);
  }
  SECTION("more addresses than there is memory for") {
    CountedMemory memory({}, kMaxBytes);
    Importer importer(Sliced(0), &memory);
    Prepare(kind, &importer);
    add(100'000, 1 << 20, &importer);
    const ProfileData data = importer.Snapshot();
    CHECK(importer.dropped().samples > 0);
    CHECK((has_branches ? 4 * BurstsIn(data) : SamplesIn(data)) +
              (has_branches ? 4 : 1) * importer.dropped().samples ==
          100'000);
    CHECK(data.counts.size() + data.branches.size() > 1000);
    CHECK(memory.peak() <= kMaxBytes);
  }
}

TEST_CASE("mappings, code and names take of that memory, and processes that end free it") {
  constexpr uint64_t kMaxBytes = 1 << 20;
  CountedMemory memory({}, kMaxBytes);
  Importer importer({}, &memory);
  Prepare(SourceKind::kEbs, &importer);
  const uint64_t before = memory.used();
  for (uint32_t i = 0; i < 10'000; ++i) {
    importer.OnMapping(OfProcess(7, MakeMapping(kBase + i * 0x2000, 0x1000, "/always/the/same")));
  }
  CHECK(importer.dropped().mappings > 0);
  CHECK(memory.used() > kMaxBytes / 2);
  importer.OnExec(7);
  CHECK(memory.used() < before + 4096);
  const std::vector<uint8_t> code(64 << 10, 0x90);
  for (uint32_t i = 0; i < 40; ++i) {
    importer.OnCode(CodeAt(8, {kBase + i * code.size()}, code.size(), code, "function", 0));
  }
  CHECK(importer.locator().code_beyond_limit() > 10);
  CHECK(importer.locator().code_beyond_limit() < 40);
  // Code that is dropped for want of memory has samples all the same.
  IpSample sample;
  sample.pid = sample.tid = 8;
  sample.ip = {kBase + 39 * code.size()};
  importer.OnSample(OfSource(0, sample));
  CHECK(importer.Snapshot().counts.size() == 1);
  for (uint32_t i = 0; i < 10'000; ++i) importer.OnThreadName(9, i, "name");
  CHECK(memory.peak() <= kMaxBytes);
}

TEST_CASE("a snapshot may be cancelled, and taken later") {
  Importer importer;
  Prepare(SourceKind::kLbr, &importer);
  AddBursts(5'000, 3000, &importer);
  AddSamples(20'000, 20'000, &importer);
  CancelFlag flag;
  flag.Set(true);
  CancelCheck check(&flag);
  CHECK_THROWS_AS(importer.Snapshot(&check), WorkCancelled);
  flag.Set(false);
  const ProfileData data = importer.Snapshot(&check);
  CHECK(BurstsIn(data) == 5'000);
  CHECK(SamplesIn(data) == 20'000);
  const ProfileData unchecked = importer.Snapshot();
  REQUIRE(data.branches.size() == unchecked.branches.size());
  for (size_t i = 0; i < data.branches.size(); ++i) {
    CHECK(data.branches[i].to == unchecked.branches[i].to);
    CHECK(data.branches[i].number == unchecked.branches[i].number);
  }
}

}  // namespace
}  // namespace hbbp
