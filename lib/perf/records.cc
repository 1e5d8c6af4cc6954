#include "perf/records.h"

#include <sys/sysmacros.h>

#include <bit>
#include <cstring>

#include "base/byte_cursor.h"

namespace hbbp {
namespace {

bool IsOfType(std::span<const uint8_t> record, uint32_t type) {
  return record.size() >= sizeof(perf_event_header) && HeaderOf(record).type == type;
}

// sample_id_all appends the identity of the event to every record but samples; the time stands
// after TID and before the other fields, all of which are 8 bytes.
uint64_t TrailingTime(std::span<const uint8_t> record, uint64_t sample_type) {
  if ((sample_type & PERF_SAMPLE_TIME) == 0) return 0;
  const uint64_t from_time =
      sample_type & (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_IDENTIFIER);
  const size_t tail = 8 * static_cast<size_t>(std::popcount(from_time));
  if (record.size() < sizeof(perf_event_header) + tail) return 0;
  uint64_t time;
  std::memcpy(&time, record.data() + record.size() - tail, sizeof(time));
  return time;
}

}  // namespace

perf_event_header HeaderOf(std::span<const uint8_t> record) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof(header));
  return header;
}

std::optional<SampleRecord> ParseSample(std::span<const uint8_t> record, uint64_t sample_type) {
  if (!IsOfType(record, PERF_RECORD_SAMPLE)) return std::nullopt;
  ByteCursor cursor(record.subspan(sizeof(perf_event_header)));
  SampleRecord sample;
  sample.misc = HeaderOf(record).misc;
  const auto has = [sample_type](uint64_t field) { return (sample_type & field) != 0; };
  uint32_t reserved;
  if (has(PERF_SAMPLE_IDENTIFIER) && !cursor.Read(&sample.id)) return std::nullopt;
  if (has(PERF_SAMPLE_IP) && !cursor.Read(&sample.ip)) return std::nullopt;
  if (has(PERF_SAMPLE_TID) && !(cursor.Read(&sample.pid) && cursor.Read(&sample.tid)))
    return std::nullopt;
  if (has(PERF_SAMPLE_TIME) && !cursor.Read(&sample.time)) return std::nullopt;
  if (has(PERF_SAMPLE_ADDR) && !cursor.Read(&sample.addr)) return std::nullopt;
  if (has(PERF_SAMPLE_ID) && !cursor.Read(&sample.id)) return std::nullopt;
  if (has(PERF_SAMPLE_STREAM_ID) && !cursor.Read(&sample.stream_id)) return std::nullopt;
  if (has(PERF_SAMPLE_CPU) && !(cursor.Read(&sample.cpu) && cursor.Read(&reserved)))
    return std::nullopt;
  if (has(PERF_SAMPLE_PERIOD) && !cursor.Read(&sample.period)) return std::nullopt;
  return sample;
}

std::optional<Mmap2Record> ParseMmap2(std::span<const uint8_t> record, uint64_t sample_type) {
  if (!IsOfType(record, PERF_RECORD_MMAP2)) return std::nullopt;
  ByteCursor cursor(record.subspan(sizeof(perf_event_header)));
  Mmap2Record mapping;
  if (!cursor.Read(&mapping.pid) || !cursor.Read(&mapping.tid) || !cursor.Read(&mapping.address) ||
      !cursor.Read(&mapping.size) || !cursor.Read(&mapping.file_offset)) {
    return std::nullopt;
  }
  std::span<const uint8_t> identity;
  if (!cursor.ReadBytes(24, &identity)) return std::nullopt;
  if ((HeaderOf(record).misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
    const size_t size = identity[0];
    if (size > 20) return std::nullopt;
    mapping.build_id.assign(identity.begin() + 4, identity.begin() + 4 + size);
  } else {
    uint32_t major, minor;
    std::memcpy(&major, identity.data(), sizeof(major));
    std::memcpy(&minor, identity.data() + 4, sizeof(minor));
    std::memcpy(&mapping.inode, identity.data() + 8, sizeof(mapping.inode));
    mapping.device = makedev(major, minor);
  }
  uint32_t protection, flags;
  if (!cursor.Read(&protection) || !cursor.Read(&flags) || !cursor.ReadCString(&mapping.path)) {
    return std::nullopt;
  }
  mapping.time = TrailingTime(record, sample_type);
  return mapping;
}

std::optional<CommRecord> ParseComm(std::span<const uint8_t> record, uint64_t sample_type) {
  if (!IsOfType(record, PERF_RECORD_COMM)) return std::nullopt;
  ByteCursor cursor(record.subspan(sizeof(perf_event_header)));
  CommRecord comm;
  if (!cursor.Read(&comm.pid) || !cursor.Read(&comm.tid) || !cursor.ReadCString(&comm.name)) {
    return std::nullopt;
  }
  comm.time = TrailingTime(record, sample_type);
  return comm;
}

std::optional<ForkRecord> ParseFork(std::span<const uint8_t> record) {
  if (!IsOfType(record, PERF_RECORD_FORK)) return std::nullopt;
  ByteCursor cursor(record.subspan(sizeof(perf_event_header)));
  ForkRecord fork;
  if (!cursor.Read(&fork.pid) || !cursor.Read(&fork.parent_pid) || !cursor.Read(&fork.tid) ||
      !cursor.Read(&fork.parent_tid)) {
    return std::nullopt;
  }
  return fork;
}

std::optional<uint64_t> ParseLost(std::span<const uint8_t> record) {
  ByteCursor cursor(record);
  if (!cursor.Skip(sizeof(perf_event_header))) return std::nullopt;
  uint64_t id, lost;
  switch (HeaderOf(record).type) {
    case PERF_RECORD_LOST:
      if (!cursor.Read(&id) || !cursor.Read(&lost)) return std::nullopt;
      return lost;
    case PERF_RECORD_LOST_SAMPLES:
      if (!cursor.Read(&lost)) return std::nullopt;
      return lost;
    default:
      return std::nullopt;
  }
}

}  // namespace hbbp
