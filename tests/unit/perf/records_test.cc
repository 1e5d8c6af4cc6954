// Tests the parsers of perf records: the first fields of samples (sample_record_test.cc tests whole
// samples), mappings, names, forks, losses, switches and what the kernel reports of itself.
// PerfRecordBuilder makes the records, with every combination of trailing fields and in both byte
// orders (ForEachFormat()). ForEachTruncation() passes records that are cut off anywhere.
#include "perf/records.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "perf/sample_record.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"

namespace hbbp {
namespace {

constexpr uint64_t kFields[] = {
    PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
    PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
};
constexpr size_t kCombinations = 1u << std::size(kFields);

uint64_t SampleType(size_t combination) {
  uint64_t type = 0;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if ((combination >> i & 1) != 0) type |= kFields[i];
  }
  return type;
}

RecordFormat WithType(uint64_t type) { return {.sample_type = type}; }

PerfRecordBuilder Builder(uint64_t type) {
  PerfRecordBuilder builder(type);
  builder.Ip(0x1122334455667788).Pid(101).Tid(102).Time(0x1000000000000003).Addr(4);
  builder.Id(0x5000000000000005).StreamId(6).Cpu(7).Period(8);
  return builder;
}

// Calls `parse` with every part of `record` that ends early, each in a heap block of exactly that
// size, so that a sanitizer sees every overrun.
void ForEachTruncation(const std::vector<uint8_t>& record,
                       const std::function<void(std::span<const uint8_t>)>& parse) {
  for (size_t size = 0; size < record.size(); ++size) {
    const std::unique_ptr<uint8_t[]> part(new uint8_t[size]);
    std::copy_n(record.begin(), size, part.get());
    CAPTURE(size);
    parse({part.get(), size});
  }
}

TEST_CASE("a sample is read with every combination of fields") {
  for (size_t combination = 0; combination < kCombinations; ++combination) {
    const uint64_t type = SampleType(combination);
    CAPTURE(type);
    const auto has = [type](uint64_t field) { return (type & field) != 0; };
    const std::vector<uint8_t> record = Builder(type).Misc(PERF_RECORD_MISC_KERNEL).Sample();
    const auto sample = ParseSampleHead(record, type);
    REQUIRE(sample.has_value());
    CHECK(sample->misc == PERF_RECORD_MISC_KERNEL);
    CHECK(sample->ip == (has(PERF_SAMPLE_IP) ? 0x1122334455667788 : 0));
    CHECK(sample->pid == (has(PERF_SAMPLE_TID) ? 101 : 0));
    CHECK(sample->tid == (has(PERF_SAMPLE_TID) ? 102 : 0));
    CHECK(sample->time == (has(PERF_SAMPLE_TIME) ? 0x1000000000000003 : 0));
    CHECK(sample->addr == (has(PERF_SAMPLE_ADDR) ? 4 : 0));
    CHECK(sample->id ==
          (has(PERF_SAMPLE_ID) || has(PERF_SAMPLE_IDENTIFIER) ? 0x5000000000000005 : 0));
    CHECK(sample->stream_id == (has(PERF_SAMPLE_STREAM_ID) ? 6 : 0));
    CHECK(sample->cpu == (has(PERF_SAMPLE_CPU) ? 7 : 0));
    CHECK(sample->period == (has(PERF_SAMPLE_PERIOD) ? 8 : 0));
    if (combination % 16 == 15) {
      ForEachTruncation(record, [type](std::span<const uint8_t> part) {
        CHECK_FALSE(ParseSampleHead(part, type).has_value());
      });
    }
  }
}

TEST_CASE("the time of a mapping is found behind every combination of trailing fields") {
  for (size_t combination = 0; combination < kCombinations; ++combination) {
    const uint64_t type = SampleType(combination);
    CAPTURE(type);
    const std::vector<uint8_t> record =
        Builder(type).Mmap2(0x7000, 0x2000, 0x1000, 8, 3, 0x123456789a, "/lib/a.so");
    const auto mapping = ParseMmap(record, WithType(type));
    REQUIRE(mapping.has_value());
    CHECK(mapping->sample_id.time == ((type & PERF_SAMPLE_TIME) != 0 ? 0x1000000000000003 : 0));
    CHECK(mapping->path == "/lib/a.so");
    const auto comm = ParseComm(Builder(type).Comm("name"), WithType(type));
    REQUIRE(comm.has_value());
    CHECK(comm->sample_id.time == ((type & PERF_SAMPLE_TIME) != 0 ? 0x1000000000000003 : 0));
    CHECK(comm->name == "name");
  }
}

TEST_CASE("a mapping with an inode") {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const std::vector<uint8_t> record =
      Builder(type).Mmap2(0x7000, 0x2000, 0x1000, 8, 3, 0x123456789a, "/lib/a.so");
  const auto mapping = ParseMmap(record, WithType(type));
  REQUIRE(mapping.has_value());
  CHECK(mapping->pid == 101);
  CHECK(mapping->tid == 102);
  CHECK(mapping->address == 0x7000);
  CHECK(mapping->size == 0x2000);
  CHECK(mapping->file_offset == 0x1000);
  CHECK(mapping->device == makedev(8, 3));
  CHECK(mapping->inode == 0x123456789a);
  CHECK(mapping->build_id.empty());
  CHECK(mapping->path == "/lib/a.so");
}

TEST_CASE("a mapping with a build ID of every size has neither device nor inode") {
  for (size_t size = 0; size <= 20; ++size) {
    CAPTURE(size);
    std::vector<uint8_t> build_id(size);
    for (size_t i = 0; i < size; ++i) build_id[i] = static_cast<uint8_t>(0xa0 + i);
    const auto mapping =
        ParseMmap(Builder(0).Mmap2(0x7000, 0x2000, 0, build_id, "/x"), WithType(0));
    REQUIRE(mapping.has_value());
    CHECK(mapping->build_id == build_id);
    CHECK(mapping->device == 0);
    CHECK(mapping->inode == 0);
    CHECK(mapping->path == "/x");
  }
}

TEST_CASE("a build ID that claims more bytes than there are is refused") {
  const std::vector<uint8_t> build_id(20, 0xab);
  std::vector<uint8_t> record = Builder(0).Mmap2(0x7000, 0x2000, 0, build_id, "/x");
  constexpr size_t kSizeByte = sizeof(perf_event_header) + 32;
  REQUIRE(record[kSizeByte] == 20);
  for (int size = 21; size < 256; ++size) {
    record[kSizeByte] = static_cast<uint8_t>(size);
    CHECK_FALSE(ParseMmap(record, WithType(0)).has_value());
  }
}

TEST_CASE("a mapping that is cut off before the end of its path is refused") {
  const std::vector<uint8_t> inode = Builder(0).Mmap2(1, 2, 3, 8, 3, 9, "/lib/a.so");
  const std::vector<uint8_t> build_id =
      Builder(0).Mmap2(1, 2, 3, std::vector<uint8_t>(20, 0xab), "/lib/a.so");
  for (const std::vector<uint8_t>& record : {inode, build_id}) {
    ForEachTruncation(record, [](std::span<const uint8_t> part) {
      constexpr size_t kPathEnd = sizeof(perf_event_header) + 64 + sizeof("/lib/a.so");
      CHECK(ParseMmap(part, WithType(0)).has_value() == (part.size() >= kPathEnd));
    });
  }
}

TEST_CASE("a record too short for its trailer has no time") {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STREAM_ID;
  const std::vector<uint8_t> record = PerfRecordBuilder(0).Comm("n");
  const auto comm = ParseComm(record, WithType(type));
  REQUIRE(comm.has_value());
  CHECK(comm->sample_id.time == 0);
}

TEST_CASE("names and forks") {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const std::vector<uint8_t> comm_record = Builder(type).Comm("fifteen letters");
  const auto comm = ParseComm(comm_record, WithType(type));
  REQUIRE(comm.has_value());
  CHECK(comm->pid == 101);
  CHECK(comm->tid == 102);
  CHECK(comm->name == "fifteen letters");
  const std::vector<uint8_t> fork_record = Builder(type).Fork(201, 202);
  const auto fork = ParseTask(fork_record, WithType(0));
  REQUIRE(fork.has_value());
  CHECK(fork->pid == 101);
  CHECK(fork->parent_pid == 201);
  CHECK(fork->tid == 102);
  CHECK(fork->parent_tid == 202);
  ForEachTruncation(comm_record, [](std::span<const uint8_t> part) {
    CHECK(ParseComm(part, WithType(0)).has_value() ==
          (part.size() >= 8 + 8 + sizeof("fifteen letters")));
  });
  ForEachTruncation(fork_record, [](std::span<const uint8_t> part) {
    CHECK(ParseTask(part, WithType(0)).has_value() == (part.size() >= 8 + 24));
  });
}

TEST_CASE("lost records and lost samples are counted") {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const std::vector<uint8_t> lost = Builder(type).Lost(12);
  const std::vector<uint8_t> lost_samples = Builder(type).LostSamples(13);
  REQUIRE(ParseLost(lost, WithType(type)).has_value());
  CHECK(ParseLost(lost, WithType(type))->count == 12);
  REQUIRE(ParseLost(lost_samples, WithType(type)).has_value());
  CHECK(ParseLost(lost_samples, WithType(type))->count == 13);
  ForEachTruncation(lost, [](std::span<const uint8_t> part) {
    CHECK(ParseLost(part, WithType(0)).has_value() == (part.size() >= 8 + 16));
  });
  ForEachTruncation(lost_samples, [](std::span<const uint8_t> part) {
    CHECK(ParseLost(part, WithType(0)).has_value() == (part.size() >= 8 + 8));
  });
}

TEST_CASE("every parser refuses records of other types") {
  const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const std::vector<std::vector<uint8_t>> records = {
      Builder(type).Sample(),       Builder(type).Mmap2(1, 2, 3, 4, 5, 6, "/x"),
      Builder(type).Comm("c"),      Builder(type).Fork(1, 2),
      Builder(type).Exit(1, 2),     Builder(type).Lost(3),
      Builder(type).LostSamples(4), Builder(type).Throttle(),
  };
  for (const std::vector<uint8_t>& record : records) {
    const uint32_t kind = RecordHeader(record).type;
    CAPTURE(kind);
    CHECK(RecordHeader(record).size == record.size());
    CHECK(ParseSampleHead(record, type).has_value() == (kind == PERF_RECORD_SAMPLE));
    CHECK(ParseMmap(record, WithType(type)).has_value() == (kind == PERF_RECORD_MMAP2));
    CHECK(ParseComm(record, WithType(type)).has_value() == (kind == PERF_RECORD_COMM));
    CHECK(ParseTask(record, WithType(0)).has_value() ==
          (kind == PERF_RECORD_FORK || kind == PERF_RECORD_EXIT));
    CHECK(ParseLost(record, WithType(0)).has_value() ==
          (kind == PERF_RECORD_LOST || kind == PERF_RECORD_LOST_SAMPLES));
  }
}

// Every combination of trailing fields, with and without them, in both byte orders.
void ForEachFormat(const std::function<void(const RecordFormat&)>& test) {
  for (size_t combination = 0; combination < kCombinations; ++combination) {
    for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
      for (const bool sample_id_all : {false, true}) {
        RecordFormat format = {.sample_type = SampleType(combination)};
        format.sample_id_all = sample_id_all;
        format.order = order;
        CAPTURE(format.sample_type, sample_id_all, order == ByteOrder::kSwapped);
        test(format);
      }
    }
  }
}

PerfRecordBuilder Builder(const RecordFormat& format) {
  PerfRecordBuilder builder(format);
  builder.Pid(101).Tid(102).Time(0x1000000000000003).Id(0x5000000000000005).StreamId(6).Cpu(7);
  return builder;
}

void CheckSampleId(const SampleId& sample_id, const RecordFormat& format) {
  const auto has = [&format](uint64_t fields) {
    return format.sample_id_all && (format.sample_type & fields) != 0;
  };
  CHECK(sample_id.pid == (has(PERF_SAMPLE_TID) ? 101 : 0));
  CHECK(sample_id.tid == (has(PERF_SAMPLE_TID) ? 102 : 0));
  CHECK(sample_id.time == (has(PERF_SAMPLE_TIME) ? 0x1000000000000003 : 0));
  CHECK(sample_id.id == (has(PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 0x5000000000000005 : 0));
  CHECK(sample_id.stream_id == (has(PERF_SAMPLE_STREAM_ID) ? 6 : 0));
  CHECK(sample_id.cpu == (has(PERF_SAMPLE_CPU) ? 7 : 0));
}

TEST_CASE("mappings, names and tasks are read in both byte orders") {
  ForEachFormat([](const RecordFormat& format) {
    const auto mmap = ParseMmap(Builder(format).Mmap(0x7000, 0x2000, 0x1000, "/lib/a.so"), format);
    REQUIRE(mmap.has_value());
    CHECK(mmap->address == 0x7000);
    CHECK(mmap->size == 0x2000);
    CHECK(mmap->file_offset == 0x1000);
    CHECK(mmap->path == "/lib/a.so");
    CHECK(mmap->protection == (PROT_READ | PROT_EXEC));
    CheckSampleId(mmap->sample_id, format);
    const auto mmap2 =
        ParseMmap(Builder(format).Mmap2(0x7000, 0x2000, 0x1000, 8, 3, 99, "/lib/b.so"), format);
    REQUIRE(mmap2.has_value());
    CHECK(mmap2->device == makedev(8, 3));
    CHECK(mmap2->inode == 99);
    CHECK(mmap2->inode_generation == 7);
    CHECK(mmap2->protection == 5);
    CHECK(mmap2->flags == 2);
    CheckSampleId(mmap2->sample_id, format);
    const auto comm = ParseComm(Builder(format).Misc(PERF_RECORD_MISC_COMM_EXEC).Comm("n"), format);
    REQUIRE(comm.has_value());
    CHECK(comm->name == "n");
    CHECK(comm->is_exec);
    CheckSampleId(comm->sample_id, format);
    const auto task = ParseTask(Builder(format).Exit(201, 202), format);
    REQUIRE(task.has_value());
    CHECK(task->parent_tid == 202);
    CHECK(task->time == 0x1000000000000003);
    CheckSampleId(task->sample_id, format);
  });
}

TEST_CASE("lost and throttled samples and switches are read in both byte orders") {
  ForEachFormat([](const RecordFormat& format) {
    const auto lost = ParseLost(Builder(format).Lost(12), format);
    REQUIRE(lost.has_value());
    CHECK(lost->id == 0x5000000000000005);
    CHECK(lost->count == 12);
    CHECK_FALSE(lost->only_samples);
    CheckSampleId(lost->sample_id, format);
    const auto end = ParseThrottle(Builder(format).Throttle(PERF_RECORD_UNTHROTTLE), format);
    REQUIRE(end.has_value());
    CHECK_FALSE(end->is_throttled);
    CHECK(end->time == 0x1000000000000003);
    CheckSampleId(end->sample_id, format);
    const auto in = ParseSwitch(Builder(format).Misc(0).Switch(), format);
    REQUIRE(in.has_value());
    CHECK_FALSE(in->is_out);
    CheckSampleId(in->sample_id, format);
    constexpr uint16_t kPreempted =
        PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    const auto out = ParseSwitch(Builder(format).Misc(kPreempted).SwitchCpuWide(7, 8), format);
    REQUIRE(out.has_value());
    CHECK(out->is_out);
    CHECK(out->is_preempted);
    CHECK(out->other_pid == 7);
    CHECK(out->other_tid == 8);
    CheckSampleId(out->sample_id, format);
  });
}

TEST_CASE("what the kernel says of itself is read in both byte orders") {
  ForEachFormat([](const RecordFormat& format) {
    const auto namespaces = ParseNamespaces(Builder(format).Namespaces({1, 2, 3, 4}), format);
    REQUIRE(namespaces.has_value());
    REQUIRE(namespaces->namespaces.size() == 2);
    CHECK(namespaces->namespaces[1].device == 3);
    CHECK(namespaces->namespaces[1].inode == 4);
    CheckSampleId(namespaces->sample_id, format);
    const auto symbol =
        ParseKsymbol(Builder(format).Ksymbol(0xffff800000000000, 64, 1, 1, "bpf_prog_x"), format);
    REQUIRE(symbol.has_value());
    CHECK(symbol->address == 0xffff800000000000);
    CHECK(symbol->size == 64);
    CHECK(symbol->type == PERF_RECORD_KSYMBOL_TYPE_BPF);
    CHECK(symbol->is_removed);
    CHECK(symbol->name == "bpf_prog_x");
    CheckSampleId(symbol->sample_id, format);
    const auto bpf = ParseBpfEvent(Builder(format).BpfEvent(1, 2, 3, 4), format);
    REQUIRE(bpf.has_value());
    CHECK(bpf->type == PERF_BPF_EVENT_PROG_LOAD);
    CHECK(bpf->flags == 2);
    CHECK(bpf->id == 3);
    CHECK(bpf->tag == 4);
    CheckSampleId(bpf->sample_id, format);
    const auto group = ParseCgroup(Builder(format).CgroupRecord(77, "/a/b"), format);
    REQUIRE(group.has_value());
    CHECK(group->id == 77);
    CHECK(group->path == "/a/b");
    CheckSampleId(group->sample_id, format);
    const std::vector<uint8_t> poke_record = Builder(format).TextPoke(0x1234, {1, 2, 3}, {4, 5});
    const auto poke = ParseTextPoke(poke_record, format);
    REQUIRE(poke.has_value());
    CHECK(poke->address == 0x1234);
    CHECK(std::vector<uint8_t>(poke->old_bytes.begin(), poke->old_bytes.end()) ==
          std::vector<uint8_t>{1, 2, 3});
    CHECK(std::vector<uint8_t>(poke->new_bytes.begin(), poke->new_bytes.end()) ==
          std::vector<uint8_t>{4, 5});
    CheckSampleId(poke->sample_id, format);
  });
}

TEST_CASE("a count of namespaces that the record cannot hold is refused") {
  std::vector<uint8_t> record = Builder(uint64_t{0}).Namespaces({1, 2});
  record[sizeof(perf_event_header) + 8] = 2;
  CHECK_FALSE(ParseNamespaces(record, {}).has_value());
}

}  // namespace
}  // namespace hbbp
