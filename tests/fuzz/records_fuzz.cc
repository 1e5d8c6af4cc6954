// Parses any bytes as perf records: the first 8 are the sample type and the rest of the format, the
// others are framed by the sizes in the headers, like a ring buffer. Each record is parsed in a
// block of exactly its size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "perf/records.h"
#include "perf/sample_record.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Reads every byte that a view refers to.
uint64_t SumOf(const hbbp::SampleRecord& sample) {
  uint64_t sum = 0;
  for (uint64_t word : sample.callchain) sum += word;
  for (uint64_t word : sample.user_registers.values) sum += word;
  for (uint64_t word : sample.interrupt_registers.values) sum += word;
  for (uint64_t word : sample.branches.counters()) sum += word;
  for (size_t i = 0; i < sample.branches.size(); ++i) sum += sample.branches[i].cycles;
  for (size_t i = 0; i < sample.counters.size(); ++i) {
    sum += sample.counters[i].value + sample.counters[i].id + sample.counters[i].lost;
  }
  for (std::span<const uint8_t> bytes : {sample.raw, sample.user_stack, sample.aux}) {
    for (uint8_t byte : bytes) sum += byte;
  }
  return sum;
}

void ParseAll(std::span<const uint8_t> record, const hbbp::RecordFormat& format) {
  const uint32_t type = hbbp::RecordHeader(record, format.order).type;
  hbbp::SampleRecord sample;
  if (hbbp::ParseSample(record, format, &sample)) {
    Require(type == PERF_RECORD_SAMPLE);
    volatile uint64_t sum = SumOf(sample);
    (void)sum;
  }
  if (hbbp::ParseSampleHead(record, format.sample_type)) {
    Require(hbbp::RecordHeader(record).type == PERF_RECORD_SAMPLE);
  }
  if (auto mapping = hbbp::ParseMmap(record, format)) {
    Require(type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2);
    Require(mapping->build_id.size() <= 20);
    Require(mapping->path.size() < record.size());
    Require(mapping->path.find('\0') == std::string::npos);
  }
  if (auto comm = hbbp::ParseComm(record, format)) {
    Require(type == PERF_RECORD_COMM);
    Require(comm->name.size() < record.size());
  }
  if (hbbp::ParseTask(record, format)) {
    Require(type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT);
  }
  if (hbbp::ParseLost(record, format)) {
    Require(type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES);
  }
  if (auto poke = hbbp::ParseTextPoke(record, format)) {
    Require(poke->old_bytes.size() + poke->new_bytes.size() < record.size());
  }
  (void)hbbp::ParseThrottle(record, format);
  (void)hbbp::ParseSwitch(record, format);
  (void)hbbp::ParseNamespaces(record, format);
  (void)hbbp::ParseKsymbol(record, format);
  (void)hbbp::ParseBpfEvent(record, format);
  (void)hbbp::ParseCgroup(record, format);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t sample_type;
  if (size < sizeof(sample_type)) return 0;
  std::memcpy(&sample_type, data, sizeof(sample_type));
  std::span<const uint8_t> rest(data + sizeof(sample_type), size - sizeof(sample_type));
  while (rest.size() >= sizeof(perf_event_header)) {
    const size_t claimed = hbbp::RecordHeader(rest).size;
    const size_t length = std::clamp(claimed, sizeof(perf_event_header), rest.size());
    const std::unique_ptr<uint8_t[]> record(new uint8_t[length]);
    std::copy_n(rest.begin(), length, record.get());
    hbbp::RecordFormat format;
    format.sample_type = sample_type;
    format.read_format = format.branch_sample_type = sample_type >> 32;
    format.regs_user_mask = format.regs_intr_mask = sample_type >> 40;
    ParseAll({record.get(), length}, format);
    format.order = hbbp::ByteOrder::kSwapped;
    ParseAll({record.get(), length}, format);
    rest = rest.subspan(length);
  }
  return 0;
}
