// Any bytes as perf records: the first 8 are the sample type, the rest is framed by the sizes in
// the headers, as a ring buffer is. Each record is parsed in a block of exactly its size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "perf/records.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ParseAll(std::span<const uint8_t> record, uint64_t sample_type) {
  const uint32_t type = hbbp::HeaderOf(record).type;
  if (hbbp::ParseSample(record, sample_type)) Require(type == PERF_RECORD_SAMPLE);
  if (auto mapping = hbbp::ParseMmap2(record, sample_type)) {
    Require(type == PERF_RECORD_MMAP2);
    Require(mapping->build_id.size() <= 20);
    Require(mapping->path.size() < record.size());
    Require(mapping->path.find('\0') == std::string::npos);
  }
  if (auto comm = hbbp::ParseComm(record, sample_type)) {
    Require(type == PERF_RECORD_COMM);
    Require(comm->name.size() < record.size());
  }
  if (hbbp::ParseFork(record)) Require(type == PERF_RECORD_FORK);
  if (hbbp::ParseLost(record)) {
    Require(type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t sample_type;
  if (size < sizeof(sample_type)) return 0;
  std::memcpy(&sample_type, data, sizeof(sample_type));
  std::span<const uint8_t> rest(data + sizeof(sample_type), size - sizeof(sample_type));
  while (rest.size() >= sizeof(perf_event_header)) {
    const size_t claimed = hbbp::HeaderOf(rest).size;
    const size_t length = std::clamp(claimed, sizeof(perf_event_header), rest.size());
    const std::unique_ptr<uint8_t[]> record(new uint8_t[length]);
    std::copy_n(rest.begin(), length, record.get());
    ParseAll({record.get(), length}, sample_type);
    rest = rest.subspan(length);
  }
  return 0;
}
