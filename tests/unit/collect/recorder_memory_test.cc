// Tests Recorder with little memory: each sample is counted or dropped, and none twice.
#include <unistd.h>

#include <vector>

#include "base/counted_memory.h"
#include "collect/recorder.h"
#include "support/catch.h"
#include "support/failing_host.h"
#include "support/jit_memory.h"
#include "support/made_up_samples.h"

namespace hbbp {
namespace {

using test::BurstsIn;
using test::kBase;
using test::kSpan;
using test::MakeBursts;
using test::SampleAt;

void Prepare(SourceKind kind, Recorder* recorder) {
  SourceRecord source;
  source.kind = kind;
  source.event = EventKind::kTaskClock;
  source.period = 100;
  recorder->AddSource(std::move(source));
  MappingEvent mapping;
  mapping.start = {kBase};
  mapping.end = {kBase + kSpan};
  mapping.inode = 7;
  mapping.path = "/no/such/library";
  recorder->OnMapping(mapping);
}

uint64_t SamplesIn(const ProfileData& data) {
  uint64_t sum = 0;
  for (const IpCount& count : data.counts) sum += count.samples;
  return sum;
}

void AddBursts(uint64_t count, uint64_t addresses, Recorder* recorder) {
  MakeBursts(count, addresses, [recorder](const BurstSample& burst, uint64_t number) {
    recorder->OnBurst(burst);
    if (number % 64 == 63) recorder->Commit(UINT64_MAX);
  });
  recorder->Commit(UINT64_MAX);
}

TEST_CASE("samples are counted or dropped, each once, whichever allocation fails") {
  for (const int every : {0, 1, 2, 3, 5, 17}) {
    for (const uint64_t slice_ns : {0, 1'000'000}) {
      CAPTURE(every, slice_ns);
      FailingHost host;
      host.every = every;
      CountedMemory memory(host.allocator());
      {
        Recorder recorder(1, {slice_ns}, &memory);
        Prepare(SourceKind::kEbs, &recorder);
        constexpr uint64_t kSamples = 20'000;
        for (uint64_t i = 0; i < kSamples; ++i) {
          recorder.OnSample(SampleAt(i, 3000));
          if (i % 500 == 499) recorder.Commit(UINT64_MAX);
        }
        CHECK(recorder.samples() + recorder.dropped().samples == kSamples);
        CHECK((recorder.dropped().samples == 0) == (every == 0));
        CHECK(SamplesIn(recorder.Snapshot()) == recorder.samples());
      }
      CHECK(host.live == 0);
      CHECK(memory.used() == 0);
    }
  }
}

TEST_CASE("bursts are counted or dropped, each once, whichever allocation fails") {
  for (const int every : {0, 1, 2, 3, 5, 17}) {
    for (const uint64_t slice_ns : {0, 1'000'000}) {
      CAPTURE(every, slice_ns);
      FailingHost host;
      host.every = every;
      CountedMemory memory(host.allocator());
      {
        Recorder recorder(1, {slice_ns}, &memory);
        Prepare(SourceKind::kSwbt, &recorder);
        constexpr uint64_t kBursts = 3'000;
        AddBursts(kBursts, 2000, &recorder);
        CHECK(recorder.samples() + recorder.dropped().samples == kBursts);
        host.every = 0;
        CHECK(BurstsIn(recorder.Snapshot()) == recorder.samples());
      }
      CHECK(host.live == 0);
      CHECK(memory.used() == 0);
    }
  }
}

TEST_CASE("counts stay within the memory that is allowed") {
  for (const SourceKind kind : {SourceKind::kEbs, SourceKind::kSwbt}) {
    CAPTURE(static_cast<int>(kind));
    constexpr uint64_t kMaxBytes = 1 << 20;
    CountedMemory memory({}, kMaxBytes);
    Recorder recorder(1, {1'000'000}, &memory);
    Prepare(kind, &recorder);
    constexpr uint64_t kNumber = 30'000;
    if (kind == SourceKind::kEbs) {
      for (uint64_t i = 0; i < kNumber; ++i) {
        recorder.OnSample(SampleAt(i, 100'000));
        if (i % 500 == 499) recorder.Commit(UINT64_MAX);
      }
    } else {
      AddBursts(kNumber, 100'000, &recorder);
    }
    CHECK(memory.peak() <= kMaxBytes);
    CHECK(memory.peak() > kMaxBytes / 4);
    CHECK(recorder.dropped().samples > 0);
    CHECK(recorder.samples() + recorder.dropped().samples == kNumber);
  }
}

TEST_CASE("many threads and modules count as memory") {
  constexpr uint64_t kMaxBytes = 1 << 20;
  CountedMemory memory({}, kMaxBytes);
  Recorder recorder(1, {}, &memory);
  Prepare(SourceKind::kEbs, &recorder);
  for (uint32_t i = 0; i < 10'000; ++i) {
    MappingEvent mapping;
    mapping.start = {kBase + kSpan + i * 0x1000};
    mapping.end = {kBase + kSpan + i * 0x1000 + 0x1000};
    mapping.inode = 100 + i;
    mapping.path = "/no/such/library/" + std::to_string(i);
    recorder.OnMapping(mapping);
  }
  CHECK(recorder.dropped().mappings > 0);
  CHECK(memory.used() <= kMaxBytes);
  CHECK(memory.used() > kMaxBytes / 2);
  for (uint32_t i = 0; i < 10'000; ++i) {
    IpSample sample = SampleAt(i, 10);
    sample.tid = i;
    recorder.OnSample(sample);
    recorder.Commit(UINT64_MAX);
  }
  CHECK(memory.peak() <= kMaxBytes);
  CHECK(recorder.samples() + recorder.dropped().samples == 10'000);
}

// A server has a thread for each request, and a program may start and stop a session each second.
TEST_CASE("names of threads without samples take little memory, and it is counted") {
  CountedMemory memory;
  Recorder recorder(0, {}, &memory);
  Prepare(SourceKind::kEbs, &recorder);
  const auto add_threads = [&recorder](uint32_t first, uint32_t last) {
    for (uint32_t tid = first; tid < last; ++tid) {
      recorder.RecordThread(2 * tid);
      recorder.OnThreadName(1, 2 * tid + 1, "a name of 14 chars");
    }
  };
  const uint64_t none = memory.used();
  add_threads(1 << 24, (1 << 24) + 2'000);
  const uint64_t after_some = memory.used();
  CHECK(after_some > none);
  CHECK(after_some < none + (256 << 10));
  add_threads((1 << 24) + 2'000, (1 << 24) + 50'000);
  CHECK(memory.used() <= after_some);
}

TEST_CASE("names of workers are not kept") {
  CountedMemory memory;
  Recorder recorder(0, {}, &memory);
  const uint64_t none = memory.used();
  const auto self = static_cast<uint32_t>(::getpid());
  recorder.RecordThread(self);
  CHECK(memory.used() > none);
  recorder.IgnoreThread(self);
  CHECK(memory.used() == none);
  recorder.RecordThread(self);
  CHECK(memory.used() == none);
}

TEST_CASE("without memory a name is dropped, and nothing else") {
  CountedMemory memory({}, 4096);
  Recorder recorder(1, {}, &memory);
  Prepare(SourceKind::kEbs, &recorder);
  memory.AddOthers(memory.limit() - memory.used());
  recorder.OnThreadName(1, 77, "a name of 14 chars");
  recorder.RecordThread(78);
  memory.SubtractOthers(memory.used() - 1024);
  IpSample sample = SampleAt(1, 10);
  sample.tid = 77;
  recorder.OnSample(sample);
  recorder.Commit(UINT64_MAX);
  CHECK(recorder.samples() + recorder.dropped().samples == 1);
}

// mprotect and hosts report mappings and code again. That takes no memory, and is not refused when
// none is left.
TEST_CASE("mappings and code that are known take no more memory") {
  CountedMemory memory({}, 1 << 20);
  Recorder recorder(1, {}, &memory);
  Prepare(SourceKind::kEbs, &recorder);
  MappingEvent mapping;
  mapping.start = {0x10000};
  mapping.end = {0x14000};
  const std::vector<uint8_t> code(16, 0x90);
  const auto report = [&](uint64_t time_ns) {
    mapping.time_ns = time_ns;
    recorder.OnMapping(mapping);
    return recorder.locator().AddCode({0x11000}, code, "reported", time_ns);
  };
  CHECK(report(1));
  const uint64_t after_first = memory.used();
  CHECK(report(2));
  // The next interval may be charged already.
  const uint64_t once = memory.used();
  CHECK(once < after_first + 1024);
  uint64_t refused = 0;
  for (uint64_t i = 3; i < 100'000; ++i) refused += report(i) ? 0 : 1;
  CHECK(refused == 0);
  CHECK(recorder.dropped().mappings == 0);
  CHECK(memory.used() == once);
}

TEST_CASE("functions of the kernel that are known take no more memory") {
  CountedMemory memory({}, 1 << 20);
  Recorder recorder(1, {}, &memory);
  Prepare(SourceKind::kEbs, &recorder);
  const NamedRange function = {{{0xffffffffc0100000}, {0xffffffffc0100040}}, "bpf_prog_1"};
  const uint64_t before = memory.used();
  recorder.OnKernelFunction(function);
  const uint64_t once = memory.used();
  CHECK(once > before);
  for (int i = 0; i < 100'000; ++i) recorder.OnKernelFunction(function);
  CHECK(recorder.dropped().mappings == 0);
  CHECK(memory.used() == once);
}

// At any limit of memory, a sample of code that has replaced other code counts for the newer one,
// or not at all.
TEST_CASE("a want of memory counts no sample for code that is gone") {
  const auto counts_of_older = [](uint64_t left) {
    JitMemory code(3);
    const uint64_t address = code.address() + JitMemory::kPage;
    code.Put(JitMemory::kPage, {0x31, 0xc0, 0xc3});
    CountedMemory memory({}, 1 << 20);
    Recorder recorder(0, {}, &memory);
    SourceRecord source;
    source.kind = SourceKind::kEbs;
    recorder.AddSource(std::move(source));
    MappingEvent mapping;
    mapping.start = {code.address()};
    mapping.end = {code.address() + 3 * JitMemory::kPage};
    recorder.OnMapping(mapping);
    IpSample sample;
    sample.ip = {address};
    sample.time_ns = 10;
    recorder.OnSample(sample);
    recorder.Commit(20);
    code.Put(JitMemory::kPage, {0x31, 0xdb, 0xc3});
    sample.time_ns = 30;
    recorder.OnSample(sample);
    const uint64_t taken = memory.limit() - memory.used() - left;
    memory.AddOthers(taken);
    recorder.Commit(40);
    memory.SubtractOthers(taken);
    sample.time_ns = 50;
    recorder.OnSample(sample);
    recorder.Commit(60);
    CHECK(recorder.samples() + recorder.dropped().samples == 3);
    const ProfileData data = recorder.Snapshot();
    uint64_t older = 0;
    for (const IpCount& count : data.counts) {
      if (data.modules[count.module].path == "[anonymous]") older += count.samples;
    }
    return older;
  };
  uint64_t wrong = 0;
  for (uint64_t left = 0; left < 64 << 10; left += 64) wrong += counts_of_older(left) == 1 ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("code that is refused is not charged") {
  CountedMemory memory({}, 1 << 20);
  Recorder recorder(1, {}, &memory);
  CHECK(recorder.locator().AddCode({0x10000}, std::vector<uint8_t>(16), "small", 1));
  const uint64_t before = memory.used();
  CHECK_THROWS_AS(recorder.locator().AddCode({0x20000}, std::vector<uint8_t>(2 << 20), "large", 2),
                  std::bad_alloc);
  CHECK(memory.used() <= before + 128);
  CHECK(recorder.locator().AddCode({0x20000}, std::vector<uint8_t>(16), "small as well", 3));
  const std::vector<uint8_t> too_much(GeneratedCode::kMaxBytes, 0x90);
  CountedMemory any;
  Recorder unbounded(1, {}, &any);
  CHECK(unbounded.locator().AddCode({0x10000}, std::vector<uint8_t>(16), "small", 1));
  const uint64_t used = any.used();
  CHECK_FALSE(unbounded.locator().AddCode({0x20000}, too_much, "too much", 2));
  CHECK(any.used() < used + 4096);
}

TEST_CASE("compacting and wider slices give memory back and change no sum") {
  CountedMemory memory;
  Recorder recorder(1, {1'000'000}, &memory);
  Prepare(SourceKind::kSwbt, &recorder);
  AddBursts(3'000, 50, &recorder);
  const uint64_t before = memory.used();
  recorder.Compact();
  const uint64_t compacted = memory.used();
  CHECK(compacted < before);
  uint64_t width = recorder.aggregator().slice_width_ns();
  CHECK_FALSE(recorder.aggregator().has_widened_slices());
  while (recorder.aggregator().WidenSlices()) {
    recorder.Compact();
    CHECK(recorder.aggregator().slice_width_ns() == 2 * width);
    width *= 2;
  }
  CHECK(recorder.aggregator().has_widened_slices());
  CHECK(memory.used() < compacted);
  CHECK(BurstsIn(recorder.Snapshot()) == 3'000);
}

}  // namespace
}  // namespace hbbp
